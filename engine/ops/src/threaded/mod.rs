//! Forward and backward functions on slices, spread over the current rayon pool.
//!
//! Work is cut by shape alone, never by the number of threads, and partial sums are added in the order of their
//! pieces: every result is bitwise the same for any number of threads.

mod affine;
mod attention_block;
mod buffer;
mod core;
mod cross_entropy;
mod derived;
mod elementwise;
mod embed;
mod embedding;
mod feed_forward_block;
mod head_loss;
mod heads;
mod layer_norm;
mod lent;
mod linear;
mod partial;
mod product;
mod rows;
#[cfg(test)]
mod shape_tests;
mod softmax;
mod sublayer;
mod sums;

pub(super) use affine::{AffineSlots, AffineWeights, NormSlots, Slot};
pub(super) use attention_block::{
    AttentionBlock, AttentionSlots, AttentionState, LentGradients, ProjectionSlots, Projections,
};
pub use buffer::release_buffers;
pub(super) use buffer::{Buffer, Pooled};
pub(super) use core::{CoreShape, KeptMaps};

pub(super) use cross_entropy::{cross_entropy, cross_entropy_backward};
pub(super) use derived::{BlockMatrices, Derivation, DerivationSlots, Factors, Run, Scaled, SecondMap};
pub(super) use elementwise::{adamw, add_assign, all_finite, dropout, fill, map, map_gradient, scale, sum_of_squares};
pub(super) use embed::{Embed, EmbedState};
pub(super) use embedding::{embedding, embedding_backward};
pub(super) use feed_forward_block::{FeedForwardBlock, FeedForwardSlots, FeedForwardState};
pub use head_loss::HEAD_ROWS;
pub(super) use head_loss::{HeadGradients, HeadLoss};
pub(super) use heads::{Columns, CoreHead, CoreHeads, HeadScores, OwnScores, Side};
pub(super) use layer_norm::{layer_norm, layer_norm_backward};
pub(super) use lent::{LentGradient, LentMaps};
pub use linear::Orientation;
pub(super) use linear::{linear, linear_input_gradient, linear_weight_gradient};
pub(super) use partial::{HeadRows, partial_scores, partial_scores_backward};
pub use product::parallel_product;
pub(super) use product::{Batch, batched_product, parallel_product_with_bias};
pub(super) use rows::{NormWeights, Rows, Slab};
pub(super) use softmax::{SoftmaxShape, softmax, softmax_backward};
pub(super) use sublayer::Frame;
pub use sublayer::NormAt;
pub(super) use sums::column_sums;

/// Elements that one task of an elementwise operation handles: large against the cost of a task, small against caches.
const CHUNK: usize = 16 * 1024;

/// How many rows of `width` elements make up about one [`CHUNK`].
fn rows_per_chunk(width: usize) -> usize {
    (CHUNK / width.max(1)).max(1)
}
