//! Every tensor operation that training goes through, each with its own forward and backward.
//!
//! Candle's own layer norm and softmax cut gradients without a word, and its small operations are slow; these are
//! fused, hold on to nothing that can be computed again, and are each held against a slow reference in value and
//! gradient. Three layers, each used only by the next:
//!
//! 1. `kernels`: pure functions on slices, compiled for several vector widths.
//! 2. `threaded`: forward and backward on slices over rayon's current pool. Work is cut by shape alone, so results are
//!    bitwise the same for any number of threads.
//! 3. this module: thin custom operations of candle. On NVIDIA GPUs the same functions have kernels of their own (`gpu`);
//!    on other devices, and for half precision on the CPU, they are composed of candle's differentiable operations
//!    (`composed`).
//!
//! Beside them: [`random`], the one source of randomness, and [`AdamW`] with its [`Parameter`]s and [`Gradients`].
//!
//! Inputs may be strided; copies are made where an operation needs them. Gradients flow to every tensor argument.

mod activation;
mod adamw;
mod affine;
mod attention;
mod blocks;
mod composed;
mod copies;
mod cross_entropy;
mod decoding;
mod dropout;
mod element;
mod embedding;
#[cfg(any(test, feature = "testing"))]
mod emulation;
mod flows;
mod gelu;
mod gpu;
mod gradients;
mod kernels;
mod layer_norm;
mod linear;
mod options;
mod pair_positions;
mod pair_sets;
mod parameter;
mod partial;
mod plain;
mod probes;
mod process;
pub mod profile;
pub mod random;
mod rms_norm;
mod rotary;
mod softmax;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod threaded;
mod tracked;

pub use activation::Activation;
pub use adamw::{AdamW, AdamWConfig};
pub use affine::{Affine, Norm, Orientation};
pub use attention::{
    attention_core, attention_mix, attention_scores, has_attention_core, has_joint_core, joint_core, merge_heads,
    split_heads,
};
pub use blocks::{
    AttentionParts, BlockDropout, Columns, DEVIATION, Derived, EachLayer, EmbedParts, FeedForwardParts, Frame,
    HeadColumns, HeadMap, HeadParts, HeadProjections, HeadResult, Initial, LayerParts, LayerReading, MapMemory, Piece,
    PieceForm, PieceWeights, ScoreColumns, ScoringForm, Source, Stacked, Wanted, embed, has_blocks, head_evaluation,
    head_loss, read_layers, stack,
};
pub use copies::Copies;
pub use cross_entropy::{
    RowLosses, at_least_f32, cross_entropy, cross_entropy_by_row, vocabulary_loss, weighted_cross_entropy,
};
pub use decoding::{
    Group, LayerCache, Past, Reach, Reaches, SharedParts, SharedRows, StepAttentionParts, StepLayerParts, StepStack,
    StepStackParts, Through, WrittenRows,
};
pub use dropout::{dropout, residual};
pub use element::Products;
pub use embedding::embedding;
#[cfg(any(test, feature = "testing"))]
pub use emulation::emulating;
pub use flows::Flows;
pub use gelu::{gelu, gelu_of_linear};
pub use gpu::{FLASH_SIZES, device_peak_bytes, give_memory_back, open_cuda, round_factors};
pub use gradients::Gradients;
pub use headroom_products::multiplies_pairs;
pub use kernels::{
    Matrix, MatrixMut, Real, add_js_divergences, add_l1_distances, index_of_largest, log_sum_exp, part, part_mut,
};
pub use layer_norm::layer_norm;
pub use linear::{linear, linear_transposed};
pub use options::{Gelu, IGNORED_LABEL, MaskSpec};
pub use pair_positions::{RelativeBias, rotate, rotate_from, sinusoids};
pub use pair_sets::{PairSets, RowPairs, restored_pairs};
pub use parameter::Parameter;
pub use partial::{partial_scores, project_scores};
pub use plain::{joined, narrowed, reshaped, scaled};
pub use probes::{copy_rate_probe, device_copy_probe, device_product_probe, product_rate_probe};
pub use process::tune_process;
pub use random::DropoutStream;
pub use rms_norm::rms_norm;
pub use rotary::{RotaryScaling, Rotation};
pub use softmax::{masked_softmax, softmax};
pub use threaded::{HEAD_ROWS, NormAt, parallel_product, release_buffers};
