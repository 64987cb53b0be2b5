//! Matrix products over strided views, on the calling thread.
//!
//! Three kinds of numbers are multiplied: `f32`, `f64`, and [`Paired`], whose factors are rounded to bf16 and multiplied in
//! pairs, summed in `f32`. On processors with 512-bit vectors pairs and `f32` go through panels of our own; all else, and products with
//! a side of a few rows, through the `gemm` crate.
//!
//! Every element of a product through panels is one sum in one order that depends on the inner dimension alone: whoever cuts an output
//! into pieces with no side shorter than [`LEAST_SIDE`] gets the same bits. `gemm` goes other ways for small outputs: there, pieces must have
//! sides of more than 64.

mod elsewhere;
mod factor;
mod instructions;
mod paired;
#[cfg(target_arch = "x86_64")]
mod panels;
#[cfg(all(test, target_arch = "x86_64"))]
mod rates;
mod start;
#[cfg(test)]
mod tests;
mod views;

pub use factor::{Factor, product, product_on};
pub use instructions::{has_wide_vectors, multiplies_pairs};
pub use paired::Paired;
pub use start::Start;
pub use views::{Matrix, MatrixMut};

/// Outputs with a shorter side go another way, which may depend on the other side.
pub const LEAST_SIDE: usize = 8;
