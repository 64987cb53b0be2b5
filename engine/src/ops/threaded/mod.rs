//! Forward and backward functions on slices, spread over the current rayon pool.
//!
//! Work is cut by shape alone, never by the number of threads, and partial sums are added in the order of their
//! pieces: every result is bitwise the same for any number of threads.

mod cross_entropy;
mod elementwise;
mod embedding;
mod layer_norm;
mod linear;
mod product;
mod softmax;
mod sums;

pub(super) use cross_entropy::{cross_entropy, cross_entropy_backward};
pub(super) use elementwise::{adamw, add_assign, all_finite, dropout, map, map_gradient, scale, sum_of_squares};
pub(super) use embedding::{embedding, embedding_backward};
pub(super) use layer_norm::{layer_norm, layer_norm_backward};
pub(super) use linear::{Orientation, linear, linear_input_gradient, linear_weight_gradient};
pub(super) use product::{Batch, batched_product, parallel_product};
pub(super) use softmax::{SoftmaxShape, softmax, softmax_backward};
pub(super) use sums::column_sums;

/// Elements that one task of an elementwise operation handles: large against the cost of a task, small against caches.
const CHUNK: usize = 16 * 1024;

/// How many rows of `width` elements make up about one [`CHUNK`].
fn rows_per_chunk(width: usize) -> usize {
    (CHUNK / width.max(1)).max(1)
}
