//! Tensors in other clothes: of another shape, a part of one, several as one, times a number.

use candle_core::{DType, Result, Shape, Tensor};

use super::gpu;

/// `x` as another shape of as many numbers; on an NVIDIA GPU a copy, so that the graph knows nothing but operations of ours.
///
/// # Errors
/// If there are more or fewer, or the device fails.
pub fn reshaped(x: &Tensor, shape: impl Into<Shape>) -> Result<Tensor> {
    let shape = shape.into();
    if x.shape() != &shape && gpu::has_kernels(x) { gpu::reshaped(x, shape) } else { x.reshape(shape) }
}

/// A loss times a number.
///
/// # Errors
/// If the device fails.
pub fn scaled(loss: &Tensor, factor: f64) -> Result<Tensor> {
    let is_wide = matches!(loss.dtype(), DType::F32 | DType::F64);
    if loss.rank() == 0 && is_wide && gpu::has_kernels(loss) { gpu::scaled(loss, factor) } else { loss * factor }
}

/// `count` entries of dimension `dim`, from `first` on: a view, on an NVIDIA GPU a copy.
///
/// # Errors
/// If there are not as many, or the device fails.
pub fn narrowed(x: &Tensor, dim: usize, first: usize, count: usize) -> Result<Tensor> {
    let is_part = count > 0 && first + count <= x.dim(dim)? && count < x.dim(dim)?;
    if is_part && gpu::has_kernels(x) { gpu::part(x, dim, first, count) } else { x.narrow(dim, first, count) }
}

/// Tensors one after the other in dimension `dim`.
///
/// # Errors
/// If there are none, they differ in another dimension, or the device fails.
pub fn joined(parts: &[Tensor], dim: usize) -> Result<Tensor> {
    match parts {
        [first, rest @ ..] if !rest.is_empty() && parts.iter().all(|part| fits_behind(first, part, dim)) => {
            rest.chunks(2).try_fold(first.clone(), |all, parts| match parts {
                [second, third] => gpu::joined3([&all, second, third], dim),
                [second] => gpu::joined([&all, second], dim),
                _ => Ok(all),
            })
        }
        _ => Tensor::cat(parts, dim),
    }
}

/// Whether kernels can put a tensor behind another one.
fn fits_behind(first: &Tensor, other: &Tensor, dim: usize) -> bool {
    let is_alike = |(at, (a, b)): (usize, (&usize, &usize))| at == dim || a == b;
    gpu::has_kernels(other)
        && dim < first.rank()
        && first.rank() == other.rank()
        && first.dtype() == other.dtype()
        && first.dims().iter().zip(other.dims()).enumerate().all(is_alike)
}
