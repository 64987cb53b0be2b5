//! Pure functions on slices: no tensors, no threads, no allocation beyond a few lanes.
//!
//! Each kernel is written once, generic over [`Real`], and compiled three times (512-bit, 256-bit and plain vectors,
//! see [`dispatch`]); the processor is asked at run time. No kernel uses a fused multiply-add and every reduction
//! keeps its own fixed lanes, so that the three give the same bits. Matrix products are the exception: they come from
//! the crate `headroom-products`, which makes its own choice.

mod adamw;
mod cross_entropy;
mod dispatch;
mod distance;
mod dropout;
mod elementwise;
mod few_rows;
mod gather;
mod gelu;
mod lanes;
mod layer_norm;
mod part;
mod philox;
mod real;
mod softmax;
#[cfg(test)]
mod tests;

pub(super) use adamw::{AdamWScalars, adamw};
pub(super) use cross_entropy::{cross_entropy_gradient, cross_entropy_gradient_in_place};
pub use cross_entropy::{index_of_largest, log_sum_exp};
#[cfg(test)]
pub(super) use dispatch::{force_level, supported_levels};
pub use distance::{add_js_divergences, add_l1_distances};
pub(super) use dropout::{DropoutMask, keep_threshold};
pub(super) use elementwise::{add, add_assign, add_product, multiply_assign, scale, sum_of_squares};
pub(super) use few_rows::{Places, Rows, combine, dots};
pub(super) use gather::{add_gathered, gathered_products, scatter_added};
pub(super) use gelu::{
    gelu_exact, gelu_exact_gradient, gelu_exact_with_slope, gelu_tanh, gelu_tanh_gradient, gelu_tanh_with_slope,
};
pub use headroom_products::{Matrix, MatrixMut};
pub(super) use headroom_products::{Paired, Start, product, product_on};
pub(super) use layer_norm::{layer_norm_gradient_row, layer_norm_row};
pub use part::{part, part_mut};
pub(super) use philox::philox4x32;
pub use real::Real;
pub(super) use softmax::{softmax_gradient_in_place, softmax_gradient_row, softmax_row, softmax_row_again};
