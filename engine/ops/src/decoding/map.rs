use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use crate::{
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
/// Rows from which on weights are worth being copied into panels, in the same order.
const ROWS_FOR_PANELS: [usize; 2] = [8, 4];
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
    panels: Option<Arc<Buffer<f32>>>,
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

    /// The same for steps of as many rows: with the weight in panels, where that is worth the while.
    pub fn for_rows(self, rows: usize) -> Result<Self> {
        if rows < ROWS_FOR_PANELS[usize::from(self.orientation == Orientation::InputsFirst)] {
            return Ok(self);
        }
        self.in_panels()
    }

    fn in_panels(mut self) -> Result<Self> {
        let Self { inputs, outputs, orientation, .. } = self;
        let reading = Reading::of(&self.weight);
        let weight = reading.slice::<f32>()?;
        let mut panels = Buffer::<f32>::take(inputs * outputs);
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
        } else if self.orientation == Orientation::InputsFirst && self.panels.is_none() && rows < ROWS_FOR_PANELS[1] {
            self.by_inputs(x, rows, weight, y, (first, stride));
            return Ok(());
        } else if work < WORTH_THREADS || rayon::current_num_threads() == 1 {
            self.columns(x, rows, weight, (0, outputs), y, Places::Every { first, stride, count: rows });
        } else {
            self.by_outputs(x, rows, weight, y, (first, stride));
            return Ok(());
        }
        if let Some(bias) = &self.bias {
            each_row(y, (first, stride), (rows, outputs), |_, y| add_assign(y, bias));
        }
        Ok(())
    }

    /// In pieces of the outputs of all rows, which are then put where they belong.
    fn by_outputs(&self, x: &[f32], rows: usize, weight: &[f32], y: &mut [f32], places: (usize, usize)) {
        let piece = (PIECE_WEIGHTS / self.inputs.max(1)).next_multiple_of(PIECE_STEP);
        let mut pieces = Buffer::<f32>::take(rows * self.outputs);
        pieces.par_chunks_mut(rows * piece).enumerate().for_each(|(number, out)| {
            let (from, count) = (number * piece, out.len() / rows);
            self.columns(x, rows, weight, (from, count), out, Places::Every { first: 0, stride: count, count: rows });
        });
        let pieces: &[f32] = &pieces;
        each_row(y, places, (rows, self.outputs), |row, y| {
            for (out, y) in pieces.chunks(rows * piece).zip(y.chunks_mut(piece)) {
                y.copy_from_slice(part(out, row * y.len(), y.len()));
            }
            if let Some(bias) = &self.bias {
                add_assign(y, bias);
            }
        });
    }

    /// In blocks of inputs, whose weights lie side by side: each is one stream through memory. Their sums are added in order.
    fn by_inputs(&self, x: &[f32], rows: usize, weight: &[f32], y: &mut [f32], places: (usize, usize)) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let block = (PIECE_WEIGHTS / outputs.max(1)).max(1);
        let mut sums = Buffer::<f32>::take(inputs.div_ceil(block) * rows * outputs);
        let each = |(number, out): (usize, &mut [f32])| {
            let first = number * block;
            let count = block.min(inputs - first);
            combine(
                Rows::every(x, first, inputs, rows),
                Rows::every(weight, first * outputs, outputs, count),
                outputs,
                out,
                Places::Every { first: 0, stride: outputs, count: rows },
                false,
            );
        };
        if rows * inputs * outputs < WORTH_THREADS {
            sums.chunks_mut((rows * outputs).max(1)).enumerate().for_each(each);
        } else {
            sums.par_chunks_mut(rows * outputs).enumerate().for_each(each);
        }
        let sums: &[f32] = &sums;
        each_row(y, places, (rows, outputs), |row, y| {
            y.fill(0.0);
            for sums in sums.chunks(rows * outputs) {
                add_assign(y, part(sums, row * outputs, outputs));
            }
            if let Some(bias) = &self.bias {
                add_assign(y, bias);
            }
        });
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

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// Whole numbers: every order of additions gives the same sum.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7 + seed) % 13) as f32 - 6.0).collect()
    }

    #[test]
    fn a_map_is_the_same_however_its_weight_lies() {
        for (inputs, outputs) in [(5, 3), (70, 64), (130, 150), (300, 2100)] {
            for orientation in [Orientation::InputsFirst, Orientation::OutputsFirst] {
                let shape = match orientation {
                    Orientation::InputsFirst => (inputs, outputs),
                    Orientation::OutputsFirst => (outputs, inputs),
                };
                let weight = Tensor::from_vec(numbers(inputs * outputs, 1), shape, &Device::Cpu).unwrap();
                let bias = Tensor::from_vec(numbers(outputs, 5), outputs, &Device::Cpu).unwrap();
                let matrix = match orientation {
                    Orientation::InputsFirst => weight.clone(),
                    Orientation::OutputsFirst => weight.t().unwrap(),
                };
                let map = Affine { weight: weight.clone(), bias: Some(bias.clone()), orientation };
                let map = StepMap::new(&map).unwrap();
                let maps = [map.clone(), map.in_panels().unwrap()];
                for rows in [1, 3, 4, 30, 100, 520] {
                    let x = numbers(rows * inputs, 3);
                    let tensor = Tensor::from_slice(&x, (rows, inputs), &Device::Cpu).unwrap();
                    let expected = tensor.matmul(&matrix.contiguous().unwrap()).unwrap().broadcast_add(&bias).unwrap();
                    let expected = expected.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    for (map, kind) in maps.iter().zip(["as they lie", "in panels"]) {
                        let what = format!("{rows} x {inputs} to {outputs}, {orientation:?}, weights {kind}");
                        // Between columns of others.
                        let mut y = vec![7.0; rows * (outputs + 3) + 1];
                        map.apply(&x, rows, &mut y, 2, outputs + 3).unwrap();
                        for (row, expected) in expected.chunks_exact(outputs).enumerate() {
                            let start = 2 + row * (outputs + 3);
                            assert!(y[start..start + outputs] == *expected, "{what}, row {row}");
                            assert!(y[start - 2..start].iter().all(|other| *other == 7.0), "{what}");
                        }
                        let mut y = vec![0.0; rows * outputs];
                        map.apply_to_many(Slab::dense(&x, inputs), MatrixMut::new(&mut y, rows, outputs)).unwrap();
                        assert!(y == expected, "{what}, of many");
                    }
                }
            }
        }
    }
}
