//! `y = x W + b` and its gradients.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{parallel_product, rows_per_chunk};
use crate::kernels::{Matrix, MatrixMut, Real};

/// How the weight of a linear map is laid out in memory and in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// `[inputs, outputs]`: GPT-2's `Conv1D`.
    InputsFirst,
    /// `[outputs, inputs]`: BERT's `Linear`.
    OutputsFirst,
}

impl Orientation {
    /// The weight as an `inputs` by `outputs` matrix.
    pub(crate) fn matrix<T: Real>(self, weight: &[T], inputs: usize, outputs: usize) -> Matrix<'_, T> {
        match self {
            Self::InputsFirst => Matrix::row_major(weight, inputs, outputs),
            Self::OutputsFirst => Matrix::row_major(weight, outputs, inputs).transposed(),
        }
    }
}

/// `y [rows, outputs] = x [rows, inputs] W + b`.
///
/// # Panics
/// If the shapes do not fit.
pub fn linear<T: Real>(
    x: &[T],
    weight: &[T],
    bias: Option<&[T]>,
    [rows, inputs, outputs]: [usize; 3],
    orientation: Orientation,
) -> Vec<T> {
    assert!(bias.is_none_or(|bias| bias.len() == outputs), "bias of a linear map: {outputs}");
    let mut y = vec![T::ZERO; rows * outputs];
    if let Some(bias) = bias.filter(|bias| !bias.is_empty()) {
        y.par_chunks_mut(rows_per_chunk(outputs) * outputs).for_each(|rows| {
            for row in rows.chunks_exact_mut(outputs) {
                row.copy_from_slice(bias);
            }
        });
    }
    let weight = orientation.matrix(weight, inputs, outputs);
    parallel_product(MatrixMut::new(&mut y, rows, outputs), Matrix::row_major(x, rows, inputs), weight, bias.is_some());
    y
}

/// `dx [rows, inputs] = dy Wᵀ`.
pub fn linear_input_gradient<T: Real>(
    dy: &[T],
    weight: &[T],
    [rows, inputs, outputs]: [usize; 3],
    orientation: Orientation,
) -> Vec<T> {
    let mut dx = vec![T::ZERO; rows * inputs];
    let weight = orientation.matrix(weight, inputs, outputs).transposed();
    parallel_product(MatrixMut::new(&mut dx, rows, inputs), Matrix::row_major(dy, rows, outputs), weight, false);
    dx
}

/// `dW = xᵀ dy`, in the orientation of the weight.
pub fn linear_weight_gradient<T: Real>(
    x: &[T],
    dy: &[T],
    [rows, inputs, outputs]: [usize; 3],
    orientation: Orientation,
) -> Vec<T> {
    let mut dw = vec![T::ZERO; inputs * outputs];
    let (x, dy) = (Matrix::row_major(x, rows, inputs), Matrix::row_major(dy, rows, outputs));
    match orientation {
        Orientation::InputsFirst => {
            parallel_product(MatrixMut::new(&mut dw, inputs, outputs), x.transposed(), dy, false);
        }
        Orientation::OutputsFirst => {
            parallel_product(MatrixMut::new(&mut dw, outputs, inputs), dy.transposed(), x, false);
        }
    }
    dw
}
