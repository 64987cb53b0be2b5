//! What a model costs, counted from its plan without running anything.
//!
//! Parameters and multiply-accumulates are exact. **The convention for FLOPs**: two per multiply-accumulate of a
//! matrix product, forward; backward costs twice the forward, one product for the gradient of each factor. Nothing
//! else counts: norms, softmax, GELU, biases, residual sums, look-ups and the optimiser, together a few per cent. A
//! causal map is computed whole, so all its entries count. Bytes of activations are an estimate: the tensors that
//! this program's operations keep until backward, within 2 % of what a process was seen to grow by.

mod activations;
mod count;
mod part;
mod workload;

pub use activations::keeps_maps;
pub use count::{Cost, LayerCost, layer_macs};
pub use part::{Part, PartCost};
pub use workload::Workload;
