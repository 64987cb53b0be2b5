//! What a model costs, counted from its plan without running anything.
//!
//! Parameters and multiply-accumulates are exact. **The convention for FLOPs**: two per multiply-accumulate of a
//! matrix product, forward; backward costs twice the forward, one product for the gradient of each factor. Nothing
//! else counts: norms, softmax, GELU, biases, diagonals, residual sums, look-ups and the optimiser, together a few per
//! cent. Every entry of a map counts, hidden ones too, though a causal map leaves out most of the products that would
//! be hidden. Memory is an estimate: weights, gradients and moments, the tensors that this program's operations keep
//! until backward, and the working memory of the largest of them. A process also holds the program itself and what its
//! allocator does not give back.
//!
//! [`layer_macs`] counts as papers on attention do, so that published tables can be compared.

mod activations;
mod cache;
mod count;
mod part;
mod scoring;
mod workload;

pub use cache::{CacheBytes, Decoding, cache_bytes, projected_share_kept};
pub use count::{Cost, LayerCost, layer_macs};
pub use part::{Part, PartCost};
pub use workload::Workload;
