//! What is made of the projections before heads score: nothing in standard attention.

use rayon::prelude::*;

use super::affine::{AffineSlots, AffineWeights, Slot};
use super::buffer::Pooled;
use super::parallel_product;
use super::rows::{Rows, Slab};
use super::sums::in_order;
use crate::ops::kernels::{self, Matrix, MatrixMut, product};
use crate::ops::profile::{Work, span};

/// How the derived matrix comes from the projected one.
#[derive(Clone, Debug)]
pub enum Derivation<'a, T> {
    /// There is none.
    Nothing,
    /// `q_i U_i` of the first columns.
    Pairwise {
        /// `U` `[computed, size, size]`
        between: &'a [T],
        /// Columns of a head.
        size: usize,
    },
    /// Of the shared columns `S`: those of the heads that compute times `D_q D_k`, then all times `D_v`. Scores depend
    /// on the product of the first two diagonals alone, so that `S` itself can stand for the keys.
    Diagonals {
        /// `D_q` and `D_k` `[computed size]`.
        scores: Option<[&'a [T]; 2]>,
        /// `D_v`.
        value: &'a [T],
        /// Which of the heads that attend compute.
        computing: &'a [usize],
        /// Columns of a head.
        size: usize,
    },
    /// The first columns times every row of `M`.
    Mixing {
        /// `M` `[computed, width]`
        mixing: &'a [T],
        /// How many of the columns.
        width: usize,
    },
    /// The columns from `first` on through linear maps.
    Up {
        /// Where the latent starts.
        first: usize,
        /// Its width.
        width: usize,
        /// To keys, if any head computes, and to values.
        maps: Vec<AffineWeights<'a, T>>,
    },
}

/// Where gradients of the parameters of a [`Derivation`] go.
#[derive(Debug, Default)]
pub struct DerivationSlots<'a, T> {
    /// Of tensors, in the order of the fields.
    pub tensors: Vec<Option<Slot<'a, T>>>,
    /// Of maps.
    pub maps: Vec<AffineSlots<'a, T>>,
}

impl<T: Pooled> DerivationSlots<'_, T> {
    fn add(&mut self, index: usize, values: &[T]) {
        if let Some(Some(slot)) = self.tensors.get_mut(index) {
            slot.add(values);
        }
    }
}

impl<T: Pooled> Derivation<'_, T> {
    /// Columns of the derived matrix.
    pub fn width(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Pairwise { between, size } => between.len() / (*size).max(1),
            Self::Diagonals { value, computing, size, .. } => computing.len() * size + value.len(),
            Self::Mixing { mixing, .. } => mixing.len(),
            Self::Up { maps, .. } => maps.iter().map(|map| map.outputs).sum(),
        }
    }

    /// Whether the derived matrix is kept for the backward pass; otherwise it is cheaper to make it once more.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Pairwise { .. } | Self::Up { .. })
    }

    fn work(&self, rows: usize) -> Work {
        match self {
            Self::Nothing => Work::pass::<T>(0),
            Self::Pairwise { between, size } => {
                Work::product::<T>(rows, *size, *size).times(between.len() / (size * size).max(1))
            }
            Self::Diagonals { .. } | Self::Mixing { .. } => Work::pass::<T>(2 * rows * self.width()),
            Self::Up { width, .. } => Work::product::<T>(rows, *width, self.width()),
        }
    }

    /// The derived matrix.
    pub fn forward(&self, projected: Slab<'_, T>) -> Rows<T> {
        let mut derived = Rows::take(projected.rows(), self.width());
        if matches!(self, Self::Nothing) {
            return derived;
        }
        span("attention: from projections to scores", self.work(projected.rows()), || match self {
            Self::Nothing => {}
            Self::Pairwise { between, size } => {
                let mut rest = derived.output();
                for (head, between) in between.chunks_exact(size * size).enumerate() {
                    let part;
                    (part, rest) = rest.split_columns(*size);
                    let between = Matrix::row_major(between, *size, *size);
                    parallel_product(part, projected.columns(head * size, *size).matrix(), between, false);
                }
            }
            Self::Diagonals { scores, value, computing, size } => {
                let both = scores.map(|[query, key]| products(query, key)).unwrap_or_default();
                derived.for_each_row(|row, out| {
                    let shared = projected.row(row);
                    let (queries, values) = out.split_at_mut(computing.len() * size);
                    for (queries, head) in queries.chunks_exact_mut(*size).zip(*computing) {
                        queries.copy_from_slice(shared.get(head * size..(head + 1) * size).unwrap_or(&[]));
                    }
                    kernels::multiply_assign(queries, &both);
                    values.copy_from_slice(shared);
                    kernels::multiply_assign(values, value);
                });
            }
            Self::Mixing { mixing, width } => derived.for_each_row(|row, out| {
                for (out, mixing) in out.chunks_exact_mut(*width).zip(mixing.chunks_exact(*width)) {
                    out.copy_from_slice(projected.row(row).get(..*width).unwrap_or(&[]));
                    kernels::multiply_assign(out, mixing);
                }
            }),
            Self::Up { first, width, maps } => {
                let mut rest = derived.output();
                for map in maps {
                    let part;
                    (part, rest) = rest.split_columns(map.outputs);
                    map.forward(projected.columns(*first, *width), part);
                }
            }
        });
        derived
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
        if matches!(self, Self::Nothing) {
            return;
        }
        let work = self.work(projected.rows()).times(2);
        span("attention: from projections to scores, gradient", work, || match self {
            Self::Nothing => {}
            Self::Pairwise { between, size } => {
                let mut dbetween = vec![T::ZERO; between.len()];
                dbetween.par_chunks_mut(size * size).enumerate().with_max_len(1).for_each(|(head, out)| {
                    let queries = projected.columns(head * size, *size).matrix();
                    let doutput = dderived.columns(head * size, *size).matrix();
                    product(MatrixMut::new(out, *size, *size), queries.transposed(), doutput, false);
                });
                slots.add(0, &dbetween);
                let mut rest = dprojected.output();
                for (head, between) in between.chunks_exact(size * size).enumerate() {
                    let part;
                    (part, rest) = rest.split_columns(*size);
                    let between = Matrix::row_major(between, *size, *size);
                    let doutput = dderived.columns(head * size, *size).matrix();
                    parallel_product(part, doutput, between.transposed(), true);
                }
            }
            Self::Diagonals { scores, value, computing, size } => {
                let both = scores.map(|[query, key]| products(query, key)).unwrap_or_default();
                let split = both.len();
                let sums = dprojected.sums_over_rows(split + value.len(), |row, out, sums| {
                    let (shared, doutput) = (projected.row(row), dderived.row(row));
                    let (dqueries, dvalues) = doutput.split_at_checked(split).unwrap_or((&[], &[]));
                    let (query_sums, value_sums) = sums.split_at_mut(split);
                    for (head, (out, shared)) in out.chunks_exact_mut(*size).zip(shared.chunks_exact(*size)).enumerate()
                    {
                        let range = head * size..(head + 1) * size;
                        match computing.iter().position(|computing| *computing == head) {
                            Some(place) => {
                                let own = place * size..(place + 1) * size;
                                let dqueries = dqueries.get(own.clone()).unwrap_or(&[]);
                                kernels::add_product(out, dqueries, both.get(own.clone()).unwrap_or(&[]));
                                kernels::add_product(query_sums.get_mut(own).unwrap_or(&mut []), dqueries, shared);
                            }
                            None => out.fill(T::ZERO),
                        }
                        let dvalues = dvalues.get(range.clone()).unwrap_or(&[]);
                        kernels::add_product(out, dvalues, value.get(range.clone()).unwrap_or(&[]));
                        kernels::add_product(value_sums.get_mut(range).unwrap_or(&mut []), dvalues, shared);
                    }
                });
                let (query_sums, value_sums) = sums.split_at_checked(split).unwrap_or((&[], &[]));
                if let Some([query, key]) = scores {
                    slots.add(0, &products(query_sums, key));
                    slots.add(1, &products(query_sums, query));
                    slots.add(2, value_sums);
                } else {
                    slots.add(0, value_sums);
                }
            }
            Self::Mixing { mixing, width } => {
                let sums = dprojected.sums_over_rows(mixing.len(), |row, out, sums| {
                    let Some(out) = out.get_mut(..*width) else { return };
                    let shared = projected.row(row).get(..*width).unwrap_or(&[]);
                    out.fill(T::ZERO);
                    let heads = dderived.row(row).chunks_exact(*width).zip(mixing.chunks_exact(*width));
                    for ((doutput, mixing), sums) in heads.zip(sums.chunks_exact_mut(*width)) {
                        kernels::add_product(out, doutput, mixing);
                        kernels::add_product(sums, doutput, shared);
                    }
                });
                slots.add(0, &sums);
            }
            Self::Up { first, width, maps } => {
                let mut column = 0;
                for (index, map) in maps.iter().enumerate() {
                    let doutput = dderived.columns(column, map.outputs);
                    column += map.outputs;
                    if let Some(slots) = slots.maps.get_mut(index) {
                        map.parameter_gradients(projected.columns(*first, *width), doutput, slots);
                    }
                    let (_, rest) = dprojected.output().split_columns(*first);
                    map.input_gradient(doutput, rest.split_columns(*width).0, index > 0);
                }
            }
        });
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
