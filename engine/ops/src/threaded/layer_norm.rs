//! Layer normalisation over rows.

use rayon::prelude::*;

use super::rows_per_chunk;
use super::sums::in_order;
use crate::kernels::{Real, layer_norm_gradient_row, layer_norm_row};

/// Rows whose gradients of gain and bias are one partial sum.
const ROWS: usize = 32;

/// The gradients of a layer normalisation.
#[derive(Debug)]
pub struct LayerNormGradients<T> {
    /// Of the input; empty if it was not asked for.
    pub x: Vec<T>,
    /// Of the gain.
    pub gain: Vec<T>,
    /// Of the bias.
    pub bias: Vec<T>,
}

/// Normalises each row of `gain.len()` elements.
///
/// # Panics
/// If the shapes do not fit.
pub fn layer_norm<T: Real>(x: &[T], gain: &[T], bias: &[T], epsilon: f64) -> Vec<T> {
    let width = gain.len();
    assert_eq!(bias.len(), width, "bias of a layer norm of width {width}");
    assert!(x.len().is_multiple_of(width.max(1)), "input of a layer norm: rows of {width} in {} elements", x.len());
    let mut y = vec![T::ZERO; x.len()];
    if width == 0 {
        return y;
    }
    let chunk = rows_per_chunk(width) * width;
    y.par_chunks_mut(chunk).zip(x.par_chunks(chunk)).for_each(|(y, x)| {
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            layer_norm_row(x, gain, bias, T::of(epsilon), y);
        }
    });
    y
}

/// The gradients of [`layer_norm`]; mean and deviation are computed again.
///
/// # Panics
/// If the shapes do not fit.
pub fn layer_norm_backward<T: Real>(
    x: &[T],
    gain: &[T],
    dy: &[T],
    epsilon: f64,
    wants_input: bool,
) -> LayerNormGradients<T> {
    let width = gain.len();
    assert!(x.len().is_multiple_of(width.max(1)), "input of a layer norm: rows of {width} in {} elements", x.len());
    assert_eq!(dy.len(), x.len(), "gradient of the output of a layer norm");
    let mut dx = vec![T::ZERO; if wants_input { x.len() } else { 0 }];
    if width == 0 {
        return LayerNormGradients { x: dx, gain: Vec::new(), bias: Vec::new() };
    }
    let chunk = ROWS * width;
    let mut dx_chunks: Vec<&mut [T]> = dx.chunks_mut(chunk).collect();
    dx_chunks.resize_with(x.len().div_ceil(chunk), Default::default);
    let (dgain, dbias) = dx_chunks
        .into_par_iter()
        .zip(x.par_chunks(chunk))
        .zip(dy.par_chunks(chunk))
        .map(|((dx, x), dy)| {
            let (mut dgain, mut dbias) = (vec![T::ZERO; width], vec![T::ZERO; width]);
            let mut dx_rows = dx.chunks_exact_mut(width);
            for (x, dy) in x.chunks_exact(width).zip(dy.chunks_exact(width)) {
                // No row where the gradient of the input is not wanted.
                let dx = dx_rows.next().unwrap_or_default();
                layer_norm_gradient_row(x, gain, dy, T::of(epsilon), dx, &mut dgain, &mut dbias);
            }
            (dgain, dbias)
        })
        .unzip();
    LayerNormGradients { x: dx, gain: in_order(dgain, width), bias: in_order(dbias, width) }
}
