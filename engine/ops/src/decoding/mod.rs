//! A decoder one token at a time, in single precision on the processor.
//!
//! A step is bound by memory traffic and by the overhead of operations: there is no graph, no tensor is made, what is kept of
//! earlier positions is appended in place and never copied or reordered, and weights as well as caches are read once for all
//! rows, by kernels for products with few rows or, from some rows on, by `gemm`. The same decoder composed of small operations
//! (`model::decoding`) is what tests hold it against.

mod attention;
mod map;
mod reach;
mod shared;
mod stack;
mod store;

pub use attention::StepAttentionParts;
pub use reach::{Reach, Reaches, Through};
pub use shared::SharedParts;
pub use stack::{LayerCache, StepLayerParts, StepStack, StepStackParts};
pub use store::{Group, Past, SharedRows, WrittenRows};
