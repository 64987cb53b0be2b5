//! Sums of samples, and what can be read from them.

use rayon::prelude::*;

use super::{eigen::Dense, packing::Packing};
use crate::ops::{Matrix, MatrixMut, Real, parallel_product};

/// Elements of a sum that are a task.
const CHUNK: usize = 1 << 16;

/// `sum += values`
///
/// # Panics
/// If they are not as many.
pub(super) fn add_wide<T: Real>(sum: &mut [f64], values: &[T]) {
    assert_eq!(values.len(), sum.len(), "numbers that are summed up");
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value.as_f64();
    }
}

/// `sum += Aᵀ A`
pub(super) fn add_outer(sum: &mut [f64], samples: &[f64], dimension: usize) {
    let samples = Matrix::row_major(samples, samples.len() / dimension, dimension);
    parallel_product(MatrixMut::new(sum, dimension, dimension), samples.transposed(), samples, true);
}

/// `sum += Aᵀ (A Ω)`
pub(super) fn add_sketch<T: Real>(sum: &mut [f64], samples: Matrix<'_, T>, rows: usize, omega: &[T], rank: usize) {
    let dimension = samples.columns();
    let mut projected = vec![T::ZERO; rows * rank];
    let directions = Matrix::row_major(omega, dimension, rank);
    parallel_product(MatrixMut::new(&mut projected, rows, rank), samples, directions, false);
    let mut product = vec![T::ZERO; dimension * rank];
    let projected = Matrix::row_major(&projected, rows, rank);
    parallel_product(MatrixMut::new(&mut product, dimension, rank), samples.transposed(), projected, false);
    assert_eq!(sum.len(), product.len(), "sketch of {dimension} x {rank}");
    sum.par_chunks_mut(CHUNK).zip(product.par_chunks(CHUNK)).for_each(|(sum, product)| add_wide(sum, product));
}

/// From every row of every packed map its mean over the visible keys.
///
/// # Panics
/// If the samples are no whole number of packed maps.
pub(super) fn subtract_row_means<T: Real>(samples: &mut [T], packing: Packing) {
    let size = packing.size();
    assert!(samples.len().is_multiple_of(size), "{} numbers are no packed maps of {size}", samples.len());
    samples.par_chunks_mut(size).for_each(|map| {
        let mut rest = map;
        for query in 0..packing.tokens {
            let visible = packing.visible(query);
            let (row, after) = std::mem::take(&mut rest).split_at_mut(visible);
            rest = after;
            let mean = row.iter().map(|value| value.as_f64()).sum::<f64>() / visible as f64;
            let mean = T::of(mean);
            for value in row {
                *value = *value - mean;
            }
        }
    });
}

/// For every row, the product of the two matrices' rows.
///
/// # Panics
/// If they are not of the same shape.
pub(super) fn row_products(a: &Dense, b: &Dense) -> Vec<f64> {
    assert_eq!((a.rows, a.columns), (b.rows, b.columns), "rows that are multiplied");
    let rows = a.values.chunks_exact(a.columns.max(1)).zip(b.values.chunks_exact(b.columns.max(1)));
    rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect()
}

/// Running sums as shares of `total`.
pub(super) fn running(values: &[f64], total: f64) -> Vec<f64> {
    let shares = values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum / total)
    });
    shares.collect()
}

/// A map as a direction of length 1 whose largest entry is positive.
pub(super) fn as_pattern(values: &[f64]) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let largest =
        values.iter().copied().fold(0.0, |best: f64, value| if value.abs() > best.abs() { value } else { best });
    let factor = if length > 0.0 { 1.0_f64.copysign(largest) / length } else { 0.0 };
    values.iter().map(|value| (value * factor) as f32).collect()
}
