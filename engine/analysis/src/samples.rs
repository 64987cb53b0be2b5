use rayon::prelude::*;

use super::eigen::Dense;
use crate::ops::{Matrix, MatrixMut, Real, parallel_product, part};

/// Numbers that are made double at once, about.
const CHUNK: usize = 1 << 21;

/// Samples of one place: every `apart`-th vector of `values` from `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a, T> {
    pub(super) values: &'a [T],
    pub(super) first: usize,
    pub(super) apart: usize,
    pub(super) count: usize,
}

/// Samples S `[N, m]` that are kept, a row each. All products are in double precision.
#[derive(Clone, Debug)]
pub(super) struct Samples<'a, T> {
    pub(super) parts: Vec<Part<'a, T>>,
    /// Length m of a sample.
    pub(super) width: usize,
}

impl<'a, T: Real> Samples<'a, T> {
    /// The samples of some places.
    ///
    /// # Panics
    /// If a part has fewer numbers than its samples take.
    pub(super) fn new(parts: Vec<Part<'a, T>>, width: usize) -> Self {
        for Part { values, first, apart, count } in &parts {
            let needed = count.checked_sub(1).map_or(0, |last| (first + last * apart + 1) * width);
            assert!(values.len() >= needed, "{} numbers are no {count} samples of {width}", values.len());
        }
        Self { parts, width }
    }

    /// Samples N.
    pub(super) fn count(&self) -> usize {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// Hands over some rows after the other in double precision, with the number of the first.
    fn for_each_rows(&self, mut take: impl FnMut(usize, Matrix<'_, f64>, usize)) {
        let width = self.width;
        let at_once = (CHUNK / width.max(1)).clamp(8, 4096);
        let mut number = 0;
        for own in &self.parts {
            for first in (0..own.count).step_by(at_once) {
                let rows = at_once.min(own.count - first);
                let mut wide = vec![0.0; rows * width];
                wide.par_chunks_mut(width).enumerate().for_each(|(row, wide)| {
                    let start = (own.first + (first + row) * own.apart) * width;
                    for (wide, value) in wide.iter_mut().zip(part(own.values, start, width)) {
                        *wide = value.as_f64();
                    }
                });
                take(number, Matrix::row_major(&wide, rows, width), rows);
                number += rows;
            }
        }
    }

    /// `S Sᵀ` `[N, N]`
    pub(super) fn gram(&self) -> Dense {
        let count = self.count();
        let mut gram = Dense::zeros(count, count);
        let at_once = (CHUNK / count.max(1)).clamp(64, 8192);
        for first in (0..self.width).step_by(at_once) {
            let columns = at_once.min(self.width - first);
            let mut wide = vec![0.0; count * columns];
            let samples = self.parts.iter().flat_map(|own| (0..own.count).map(move |sample| (own, sample)));
            for (row, (own, sample)) in wide.chunks_exact_mut(columns).zip(samples) {
                let start = (own.first + sample * own.apart) * self.width + first;
                for (wide, value) in row.iter_mut().zip(part(own.values, start, columns)) {
                    *wide = value.as_f64();
                }
            }
            let wide = Matrix::row_major(&wide, count, columns);
            parallel_product(MatrixMut::new(&mut gram.values, count, count), wide, wide.transposed(), true);
        }
        gram
    }

    /// `Sᵀ S / N` `[m, m]`
    pub(super) fn covariance(&self) -> Dense {
        let (width, count) = (self.width, self.count().max(1) as f64);
        let mut sum = Dense::zeros(width, width);
        self.for_each_rows(|_, rows, _| {
            parallel_product(MatrixMut::new(&mut sum.values, width, width), rows.transposed(), rows, true);
        });
        sum.values.iter_mut().for_each(|value| *value /= count);
        sum
    }

    /// `Q Sᵀ S / N` for directions that are the rows of Q. `[b, m]` to `[b, m]`
    pub(super) fn apply(&self, directions: &Dense) -> Dense {
        let (b, width, count) = (directions.rows, self.width, self.count().max(1) as f64);
        let mut sum = Dense::zeros(b, width);
        self.for_each_rows(|_, rows, number| {
            let projected = Dense::product(directions.view(), rows.transposed(), b); // [b, rows]
            debug_assert_eq!(projected.columns, number);
            parallel_product(MatrixMut::new(&mut sum.values, b, width), projected.view(), rows, true);
        });
        sum.values.iter_mut().for_each(|value| *value /= count);
        sum
    }

    /// For every row of `directions` `[k, m]`, the mean square of the samples' projections on it.
    pub(super) fn energies(&self, directions: &Dense) -> Vec<f64> {
        let count = self.count().max(1) as f64;
        let mut sums = vec![0.0; directions.rows];
        self.for_each_rows(|_, rows, number| {
            let projected = Dense::product(directions.view(), rows.transposed(), directions.rows); // [k, rows]
            for (sum, row) in sums.iter_mut().zip(projected.values.chunks_exact(number.max(1))) {
                *sum += row.iter().map(|value| value * value).sum::<f64>();
            }
        });
        sums.iter().map(|sum| sum / count).collect()
    }

    /// `Wᵀ S` for weights `[N, k]`: sums of samples, a row each. `[k, m]`
    pub(super) fn combined(&self, weights: &Dense) -> Dense {
        let mut sum = Dense::zeros(weights.columns, self.width);
        self.for_each_rows(|first, rows, number| {
            let own = weights.view().row_block(first, number).transposed();
            parallel_product(MatrixMut::new(&mut sum.values, weights.columns, self.width), own, rows, true);
        });
        sum
    }
}
