use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use crate::ops::{
    Affine, Norm, Orientation,
    element::Reading,
    kernels::{Matrix, MatrixMut, Places, Rows, add_assign, combine, dots, layer_norm_row, part, part_mut},
    threaded::{Buffer, Slab, parallel_product, parallel_product_with_bias},
};

/// Rows from which on `gemm`, which packs the weights first, is faster than reading them as they lie: of weights whose outputs
/// come first, which are dot products, and of others.
const FEW_ROWS: [usize; 2] = [96, 24];
/// Rows from which on it is faster too where weights lie in panels.
const MANY_ROWS: usize = 512;
/// Outputs of a panel.
const PANEL: usize = 64;
/// Multiply-accumulates from which on the work is shared among threads.
pub(super) const WORTH_THREADS: usize = 1 << 19;
/// Numbers from which on the same holds for a pass over them.
pub(super) const WORTH_THREADS_PASS: usize = 1 << 15;
/// Weights of one piece of work.
const PIECE_WEIGHTS: usize = 1 << 16;
/// Pieces are as many outputs as a multiple of this.
const PIECE_STEP: usize = PANEL;

/// A linear map of the few rows of a step.
#[derive(Clone, Debug)]
pub(super) struct StepMap {
    weight: Tensor,
    /// The weight once more, in panels of [`PANEL`] outputs, each row of which are those of an input: products of some rows go
    /// through them at several times the speed. None where it is not worth the while.
    panels: Option<Arc<Vec<f32>>>,
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
            panels: None,
            bias: map.bias.as_ref().map(vector).transpose()?,
            inputs,
            outputs,
            orientation: map.orientation,
        })
    }

    /// The same for steps of more than a few rows: with the weight in panels.
    pub fn in_panels(mut self) -> Result<Self> {
        let Self { inputs, outputs, orientation, .. } = self;
        let reading = Reading::of(&self.weight);
        let weight = reading.slice::<f32>()?;
        let mut panels = vec![0.0; inputs * outputs];
        panels.par_chunks_mut((PANEL * inputs).max(1)).enumerate().for_each(|(number, panel)| {
            let first = number * PANEL;
            let width = panel.len() / inputs.max(1);
            match orientation {
                Orientation::InputsFirst => {
                    for (input, row) in panel.chunks_exact_mut(width).enumerate() {
                        row.copy_from_slice(part(weight, input * outputs + first, width));
                    }
                }
                Orientation::OutputsFirst => {
                    // Some inputs at a time: their rows of the panel stay in the first cache.
                    for (block, rows) in panel.chunks_mut(PANEL * width).enumerate() {
                        for output in 0..width {
                            let numbers = part(weight, (first + output) * inputs + block * PANEL, rows.len() / width);
                            for (place, number) in rows.iter_mut().skip(output).step_by(width).zip(numbers) {
                                *place = *number;
                            }
                        }
                    }
                }
            }
        });
        drop(reading);
        self.panels = Some(Arc::new(panels));
        Ok(self)
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
        if rows > few_rows && (self.panels.is_none() || rows > MANY_ROWS) {
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
            let pieces: &[f32] = &pieces;
            each_row(y, (first, stride), (rows, outputs), |row, y| {
                for (out, y) in pieces.chunks(rows * piece).zip(y.chunks_mut(piece)) {
                    y.copy_from_slice(part(out, row * y.len(), y.len()));
                }
                if let Some(bias) = &self.bias {
                    add_assign(y, bias);
                }
            });
            return Ok(());
        }
        if let Some(bias) = &self.bias {
            each_row(y, (first, stride), (rows, outputs), |_, y| add_assign(y, bias));
        }
        Ok(())
    }

    /// `y = x W + b` of many rows.
    pub fn apply_to_many(&self, x: Slab<'_, f32>, y: MatrixMut<'_, f32>) -> Result<()> {
        let Self { inputs, outputs, .. } = *self;
        if (x.width(), x.rows(), outputs) != (inputs, y.rows(), y.columns()) {
            bail!("A linear map of {inputs} inputs was given {} rows of {}.", x.rows(), x.width())
        }
        let reading = Reading::of(&self.weight);
        let weight = self.orientation.matrix(reading.slice::<f32>()?, inputs, outputs);
        match &self.bias {
            Some(bias) => parallel_product_with_bias(y, x.matrix(), weight, bias),
            None => parallel_product(y, x.matrix(), weight, false),
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
        if let Some(panels) = &self.panels {
            for first in (from..from + count).step_by(PANEL) {
                let width = PANEL.min(self.outputs - first);
                let panel = Rows::every(panels, first * self.inputs, width, self.inputs);
                combine(x, panel, width, out, outs.from(first - from), false);
            }
            return;
        }
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

/// Calls `f` with the number and the elements of each of some rows, which begin every `stride` elements from `first` on; over
/// threads where there are many elements.
fn each_row(
    y: &mut [f32],
    (first, stride): (usize, usize),
    (rows, width): (usize, usize),
    f: impl Fn(usize, &mut [f32]) + Sync,
) {
    if rows * width == 0 {
        return;
    }
    let y = part_mut(y, first, (rows - 1) * stride + width);
    let each = |(row, y): (usize, &mut [f32])| f(row, part_mut(y, 0, width));
    if rows * width < WORTH_THREADS_PASS {
        y.chunks_mut(stride).enumerate().for_each(each);
    } else {
        let at_once = rows.div_ceil(rayon::current_num_threads()).max(1);
        y.par_chunks_mut(stride).enumerate().with_min_len(at_once).for_each(each);
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
        let each = |(x, y): (&[f32], &mut [f32])| layer_norm_row(x, &self.gain, &self.bias, self.epsilon, y);
        if x.len() < WORTH_THREADS_PASS {
            x.chunks_exact(width).zip(y.chunks_exact_mut(width)).for_each(each);
        } else {
            x.par_chunks_exact(width).zip(y.par_chunks_exact_mut(width)).for_each(each);
        }
    }
}

/// The numbers of a vector.
fn vector(tensor: &Tensor) -> Result<Vec<f32>> {
    tensor.detach().to_vec1::<f32>()
}
