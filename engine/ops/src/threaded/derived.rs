//! What is made of the projections before heads score: nothing in standard attention.

use rayon::prelude::*;

use super::affine::{AffineSlots, AffineWeights, Slot};
use super::buffer::Pooled;
use super::parallel_product;
use super::rows::{Rows, Slab};
use super::sums::in_order;
use crate::kernels::{self, Matrix, MatrixMut, product};
use crate::profile::{Work, span};

/// How the derived matrix comes from the projected one. Its columns are, from left to right, those of `matrices`, of
/// `scaled` and of `maps`.
#[derive(Clone, Debug)]
pub struct Derivation<'a, T> {
    /// Blocks of columns, each times a matrix of its own.
    pub matrices: Vec<BlockMatrices<'a, T>>,
    /// Columns times factors.
    pub scaled: Scaled<'a, T>,
    /// Columns through linear maps.
    pub maps: Vec<SecondMap<'a, T>>,
}

/// `x_i U_i` of neighbouring blocks of columns.
#[derive(Clone, Copy, Debug)]
pub struct BlockMatrices<'a, T> {
    /// Where the first block starts.
    pub first: usize,
    /// Columns of a block.
    pub size: usize,
    /// `U` `[blocks, size, size]`
    pub matrices: &'a [T],
    /// Whether the blocks have a gradient already, which is added to.
    pub adds: bool,
}

/// Columns times factors.
#[derive(Clone, Debug)]
pub struct Scaled<'a, T> {
    /// Which columns, in the order in which they stand in the derived matrix.
    pub runs: &'a [Run],
    /// Their factors, in this order.
    pub factors: Vec<Factors<'a, T>>,
    /// Which columns have no gradient yet: they are cleared before gradients are added.
    pub cleared: &'a [Run],
}

/// Neighbouring columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// Factors of columns: a parameter, or the product of two. Scores depend on the product of the factors of queries and
/// of keys alone, so that the keys themselves can stay as they are.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a, T> {
    /// A number for each column.
    pub by: &'a [T],
    /// As many.
    pub and: Option<&'a [T]>,
}

/// Columns through a linear map.
#[derive(Clone, Copy, Debug)]
pub struct SecondMap<'a, T> {
    /// Which columns.
    pub from: Run,
    /// The map.
    pub map: AffineWeights<'a, T>,
    /// Whether the columns have a gradient already, which is added to.
    pub adds: bool,
}

/// Where gradients of the parameters of a [`Derivation`] go.
#[derive(Debug, Default)]
pub struct DerivationSlots<'a, T> {
    /// Of tensors: of `matrices`, then of `scaled`.
    pub tensors: Vec<Option<Slot<'a, T>>>,
    /// Of maps.
    pub maps: Vec<AffineSlots<'a, T>>,
}

impl<T: Pooled> Factors<'_, T> {
    fn values(&self) -> Vec<T> {
        self.and.map_or_else(|| self.by.to_vec(), |and| products(self.by, and))
    }
}

impl<T: Pooled> Scaled<'_, T> {
    fn width(&self) -> usize {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// All factors, side by side.
    fn values(&self) -> Vec<T> {
        let values: Vec<T> = self.factors.iter().flat_map(Factors::values).collect();
        assert_eq!(values.len(), self.width(), "factors of the columns of a derived matrix");
        values
    }

    /// The columns of each run of a matrix, and its place among the scaled ones.
    fn parts<'b>(&self, of: Slab<'b, T>) -> Vec<(Slab<'b, T>, Run)> {
        let mut place = 0;
        let part = |run: &Run| {
            place += run.count;
            (of.columns(run.first, run.count), Run { first: place - run.count, count: run.count })
        };
        self.runs.iter().map(part).collect()
    }
}

impl Run {
    /// These of the elements of a row.
    fn of<T>(self, row: &[T]) -> &[T] {
        row.split_at(self.first).1.split_at(self.count).0
    }

    pub(super) fn of_mut<T>(self, row: &mut [T]) -> &mut [T] {
        row.split_at_mut(self.first).1.split_at_mut(self.count).0
    }
}

impl<T: Pooled> Derivation<'_, T> {
    /// Columns of the derived matrix.
    pub fn width(&self) -> usize {
        let maps: usize = self.maps.iter().map(|second| second.map.outputs).sum();
        self.multiplied() + self.scaled.width() + maps
    }

    /// Columns of `matrices`.
    fn multiplied(&self) -> usize {
        self.matrices.iter().map(|step| step.matrices.len() / step.size.max(1)).sum()
    }

    /// Whether the derived matrix is kept for the backward pass; otherwise it is cheaper to make it once more.
    pub fn is_kept(&self) -> bool {
        !self.matrices.is_empty() || !self.maps.is_empty()
    }

    fn work(&self, rows: usize) -> Work {
        let mut work = Work::pass::<T>(2 * rows * self.scaled.width());
        for step in &self.matrices {
            let count = step.matrices.len() / (step.size * step.size).max(1);
            work = work + Work::product::<T>(rows, step.size, step.size).times(count);
        }
        for second in &self.maps {
            work = work + Work::product::<T>(rows, second.from.count, second.map.outputs);
        }
        work
    }

    /// The derived matrix.
    pub fn forward(&self, projected: Slab<'_, T>) -> Rows<T> {
        let mut derived = Rows::take(projected.rows(), self.width());
        if self.width() == 0 {
            return derived;
        }
        span("attention: from projections to scores", self.work(projected.rows()), || {
            let mut rest = derived.output();
            for &BlockMatrices { first, size, matrices, .. } in &self.matrices {
                for (block, matrix) in matrices.chunks_exact(size * size).enumerate() {
                    let part;
                    (part, rest) = rest.split_columns(size);
                    let matrix = Matrix::row_major(matrix, size, size);
                    parallel_product(part, projected.columns(first + block * size, size).matrix(), matrix, false);
                }
            }
            (_, rest) = rest.split_columns(self.scaled.width());
            for SecondMap { from, map, .. } in &self.maps {
                let part;
                (part, rest) = rest.split_columns(map.outputs);
                map.forward(projected.columns(from.first, from.count), part);
            }
            self.scale(projected, &mut derived);
        });
        derived
    }

    fn scale(&self, projected: Slab<'_, T>, derived: &mut Rows<T>) {
        if self.scaled.runs.is_empty() {
            return;
        }
        let (factors, parts) = (self.scaled.values(), self.scaled.parts(projected));
        let place = Run { first: self.multiplied(), count: self.scaled.width() };
        derived.for_each_row(|row, out| {
            let out = place.of_mut(out);
            for (columns, place) in &parts {
                let out = place.of_mut(out);
                out.copy_from_slice(columns.row(row));
                kernels::multiply_assign(out, place.of(&factors));
            }
        });
    }

    /// Takes the gradient `dderived` back: adds it to what heads wrote to `dprojected`, writes the columns that they did
    /// not, and adds the gradients of the parameters.
    pub fn backward(
        &self,
        projected: Slab<'_, T>,
        dderived: Slab<'_, T>,
        dprojected: &mut Rows<T>,
        slots: &mut DerivationSlots<'_, T>,
    ) {
        if self.width() == 0 {
            return;
        }
        let work = self.work(projected.rows()).times(2);
        span("attention: from projections to scores, gradient", work, || {
            let factors = self.scaled.factors.iter().map(|factors| 1 + usize::from(factors.and.is_some()));
            let tensors = self.matrices.len() + factors.sum::<usize>();
            assert_eq!(slots.tensors.len(), tensors, "gradients of the tensors of a derived matrix");
            assert_eq!(slots.maps.len(), self.maps.len(), "gradients of the maps of a derived matrix");
            let (of_matrices, of_factors) = slots.tensors.split_at_mut(self.matrices.len());
            let mut column = 0;
            for (step, slot) in self.matrices.iter().zip(of_matrices) {
                let count = step.matrices.len() / step.size;
                step.backward(projected, dderived.columns(column, count), dprojected, slot.as_mut());
                column += count;
            }
            let scaled = self.scaled.width();
            self.scaled.backward(projected, dderived.columns(column, scaled), dprojected, of_factors);
            column += scaled;
            for (SecondMap { from, map, adds }, slots) in self.maps.iter().zip(&mut slots.maps) {
                let doutput = dderived.columns(column, map.outputs);
                column += map.outputs;
                map.parameter_gradients(projected.columns(from.first, from.count), doutput, slots);
                let (_, rest) = dprojected.output().split_columns(from.first);
                map.input_gradient(doutput, rest.split_columns(from.count).0, *adds);
            }
        });
    }
}

impl<T: Pooled> BlockMatrices<'_, T> {
    fn backward(
        &self,
        projected: Slab<'_, T>,
        doutput: Slab<'_, T>,
        dprojected: &mut Rows<T>,
        slot: Option<&mut Slot<'_, T>>,
    ) {
        let Self { first, size, matrices, adds } = *self;
        if let Some(slot) = slot {
            let mut gradient = vec![T::ZERO; matrices.len()];
            gradient.par_chunks_mut(size * size).enumerate().with_max_len(1).for_each(|(block, out)| {
                let x = projected.columns(first + block * size, size).matrix();
                let doutput = doutput.columns(block * size, size).matrix();
                product(MatrixMut::new(out, size, size), x.transposed(), doutput, false);
            });
            slot.add(&gradient);
        }
        let mut rest = dprojected.output().split_columns(first).1;
        for (block, matrix) in matrices.chunks_exact(size * size).enumerate() {
            let part;
            (part, rest) = rest.split_columns(size);
            let matrix = Matrix::row_major(matrix, size, size);
            parallel_product(part, doutput.columns(block * size, size).matrix(), matrix.transposed(), adds);
        }
    }
}

impl<T: Pooled> Scaled<'_, T> {
    /// `slots` are those of the factors: one for each parameter.
    fn backward(
        &self,
        projected: Slab<'_, T>,
        doutput: Slab<'_, T>,
        dprojected: &mut Rows<T>,
        slots: &mut [Option<Slot<'_, T>>],
    ) {
        if self.runs.is_empty() {
            return;
        }
        let (factors, parts) = (self.values(), self.parts(projected));
        let sums = dprojected.sums_over_rows(factors.len(), |row, out, sums| {
            let doutput = doutput.row(row);
            for run in self.cleared {
                run.of_mut(out).fill(T::ZERO);
            }
            for ((columns, place), run) in parts.iter().zip(self.runs) {
                let doutput = place.of(doutput);
                kernels::add_product(run.of_mut(out), doutput, place.of(&factors));
                kernels::add_product(place.of_mut(sums), doutput, columns.row(row));
            }
        });
        let mut sums = sums.as_slice();
        let mut slots = slots.iter_mut();
        for Factors { by, and } in &self.factors {
            let own;
            (own, sums) = sums.split_at(by.len());
            let mut add = |values: &[T]| {
                // No slot for what is not trained.
                if let Some(slot) = slots.next().and_then(Option::as_mut) {
                    slot.add(values);
                }
            };
            match and {
                Some(and) => {
                    add(&products(own, and));
                    add(&products(own, by));
                }
                None => add(own),
            }
        }
    }
}
/// Element by element.
fn products<T: Pooled>(xs: &[T], ys: &[T]) -> Vec<T> {
    let mut products = xs.to_vec();
    kernels::multiply_assign(&mut products, ys);
    products
}

/// Rows that share a partial sum.
const SUM_ROWS: usize = 64;

impl<T: Pooled> Rows<T> {
    /// Calls `f` with the number and the elements of every row and with `width` sums to add to; gives those, added up
    /// in an order that depends on the shape alone.
    fn sums_over_rows(&mut self, width: usize, f: impl Fn(usize, &mut [T], &mut [T]) + Sync) -> Vec<T> {
        let partial = self.map_row_chunks(SUM_ROWS, |first, rows| {
            let mut sums = vec![T::ZERO; width];
            for (row, xs) in (first..).zip(rows) {
                f(row, xs, &mut sums);
            }
            sums
        });
        in_order(partial, width)
    }
}
