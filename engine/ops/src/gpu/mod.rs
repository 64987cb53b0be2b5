//! Kernels of our own for NVIDIA GPUs, and what calls them.
//!
//! A kernel is CUDA C++ in `kernels/`, compiled for the card when it is first used. What is launched and with which
//! numbers is a `Launch`, plain data. So the same operations run on a processor in the tests: `emulation/` compiles the
//! same sources with a C++ compiler and runs the threads of a block as coroutines, and every operation is held against
//! its slow reference there, in every element type. What only a GPU can show is how fast they are.
//!
//! Matrix products are the vendor's. Every sum has an order that depends on shapes alone. Results are tensors that
//! candle's backward pass knows (`ops::tracked`); nothing here waits for the GPU, but the norm of the gradients.

mod attention;
mod buffer;
mod card;
mod columns;
mod cross_entropy;
mod cuda;
mod device;
mod dropout;
mod embedding;
#[cfg(any(test, feature = "testing"))]
mod emulated;
mod flash;
mod gelu;
mod heads;
mod launch;
mod layer_norm;
mod linear;
mod optimiser;
mod plain;
mod products;
mod softmax;
mod source;
#[cfg(test)]
mod tests;

pub use attention::{CoreMemory, attention_core};
pub use card::{device_peak_bytes, give_memory_back, open_cuda, round_factors};
pub use cross_entropy::{cross_entropy, cross_entropy_by_row, vocabulary_loss};
pub use device::has_kernels;
pub use dropout::{dropout, residual, sum};
pub use embedding::embedding;
pub use flash::{CoreMask, has_joint_core, joint_core};
pub use gelu::gelu;
pub use heads::{merge_heads, split_heads};
pub use launch::FLASH_SIZES;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use optimiser::{CastList, Update, squares_of, update_all};
pub use plain::{joined, joined3, part, reshaped, scaled};
pub use products::{attention_mix, attention_scores};
pub use softmax::masked_softmax;
