use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use crate::ops::{
    Affine, Norm, Orientation,
    element::Reading,
    kernels::{Matrix, MatrixMut, Places, Rows, add_assign, combine, dots, layer_norm_row, part_mut},
    threaded::{Buffer, parallel_product},
};

/// Rows from which on `gemm`, which packs the weights first, is faster than reading them as they lie: of weights whose outputs
/// come first, which are dot products, and of others.
const FEW_ROWS: [usize; 2] = [96, 24];
/// Multiply-accumulates from which on the work is shared among threads.
pub(super) const WORTH_THREADS: usize = 1 << 19;
/// Weights of one piece of work.
const PIECE_WEIGHTS: usize = 1 << 16;
/// Pieces are as many outputs as a multiple of this.
const PIECE_STEP: usize = 32;

/// A linear map of the few rows of a step.
#[derive(Clone, Debug)]
pub(super) struct StepMap {
    weight: Tensor,
    bias: Option<Vec<f32>>,
    inputs: usize,
    outputs: usize,
    orientation: Orientation,
}

impl StepMap {
    /// Of single-precision weights on the processor.
    pub fn new(map: &Affine) -> Result<Self> {
        let (inputs, outputs) = map.sizes()?;
        Ok(Self {
            weight: map.weight.detach().contiguous()?,
            bias: map.bias.as_ref().map(vector).transpose()?,
            inputs,
            outputs,
            orientation: map.orientation,
        })
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// `y = x W + b`; a row of `y` begins every `stride` numbers, from `first` on.
    pub fn apply(&self, x: &[f32], rows: usize, y: &mut [f32], first: usize, stride: usize) -> Result<()> {
        let Self { inputs, outputs, .. } = *self;
        if x.len() != rows * inputs || (rows > 0 && first + (rows - 1) * stride + outputs > y.len()) {
            bail!("A step's linear map of {inputs} inputs was given {} numbers for {rows} rows.", x.len())
        }
        let reading = Reading::of(&self.weight);
        let weight = reading.slice::<f32>()?;
        let work = rows.saturating_mul(inputs).saturating_mul(outputs);
        let few_rows = FEW_ROWS[usize::from(self.orientation == Orientation::InputsFirst)];
        if rows > few_rows {
            let out = MatrixMut::strided(part_mut(y, first, (rows - 1) * stride + outputs), rows, outputs, stride);
            let weight = self.orientation.matrix(weight, inputs, outputs);
            parallel_product(out, Matrix::row_major(x, rows, inputs), weight, false);
        } else if work < WORTH_THREADS || rayon::current_num_threads() == 1 {
            self.columns(x, rows, weight, (0, outputs), y, Places::Every { first, stride, count: rows });
        } else {
            // A piece of the outputs of all rows each, then put where they belong.
            let piece = (PIECE_WEIGHTS / inputs.max(1)).next_multiple_of(PIECE_STEP);
            let mut pieces = Buffer::<f32>::take(rows * outputs);
            pieces.par_chunks_mut(rows * piece).enumerate().for_each(|(number, out)| {
                let (from, count) = (number * piece, out.len() / rows);
                self.columns(
                    x,
                    rows,
                    weight,
                    (from, count),
                    out,
                    Places::Every { first: 0, stride: count, count: rows },
                );
            });
            for (number, out) in pieces.chunks(rows * piece).enumerate() {
                let count = out.len() / rows;
                for (row, values) in out.chunks_exact(count).enumerate() {
                    let start = first + row * stride + number * piece;
                    y[start..start + count].copy_from_slice(values);
                }
            }
        }
        if let Some(bias) = &self.bias {
            for row in 0..rows {
                add_assign(&mut y[first + row * stride..][..outputs], bias);
            }
        }
        Ok(())
    }

    /// `count` of the outputs, from `from` on.
    fn columns(
        &self,
        x: &[f32],
        rows: usize,
        weight: &[f32],
        (from, count): (usize, usize),
        out: &mut [f32],
        outs: Places<'_>,
    ) {
        let x = Rows::every(x, 0, self.inputs, rows);
        match self.orientation {
            Orientation::OutputsFirst => {
                dots(x, Rows::every(weight, from * self.inputs, self.inputs, count), self.inputs, out, outs);
            }
            Orientation::InputsFirst => {
                combine(x, Rows::every(weight, from, self.outputs, self.inputs), count, out, outs, false);
            }
        }
    }
}

/// A layer norm of the rows of a step.
#[derive(Clone, Debug)]
pub(super) struct StepNorm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl StepNorm {
    pub fn new(norm: &Norm) -> Result<Self> {
        Ok(Self { gain: vector(&norm.gain)?, bias: vector(&norm.bias)?, epsilon: norm.epsilon as f32 })
    }

    /// Every row of `x` normalised.
    pub fn apply(&self, x: &[f32], y: &mut [f32]) {
        let width = self.gain.len().max(1);
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            layer_norm_row(x, &self.gain, &self.bias, self.epsilon, y);
        }
    }
}

/// The numbers of a vector.
fn vector(tensor: &Tensor) -> Result<Vec<f32>> {
    tensor.detach().to_vec1::<f32>()
}
