//! Sums of samples, and what can be read from them.

use rayon::prelude::*;

use super::{
    AnalysisError,
    eigen::{Dense, eigenvalues, positive},
};
use crate::ops::{Matrix, MatrixMut, Real, parallel_product};

/// Elements of a sum that are a task.
const CHUNK: usize = 1 << 16;

pub(super) fn add_wide<T: Real>(sum: &mut [f64], values: &[T]) {
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
    sum.par_chunks_mut(CHUNK).zip(product.par_chunks(CHUNK)).for_each(|(sum, product)| add_wide(sum, product));
}

/// From every row of every map its mean over the visible keys.
pub(super) fn subtract_row_means<T: Real>(samples: &mut [T], n: usize, is_causal: bool) {
    samples.par_chunks_mut(n * n).for_each(|map| {
        for (query, row) in map.chunks_exact_mut(n).enumerate() {
            let visible = if is_causal { query + 1 } else { n };
            let mean = row.iter().take(visible).map(|value| value.as_f64()).sum::<f64>() / visible as f64;
            let mean = T::of(mean);
            for value in row.iter_mut().take(visible) {
                *value = *value - mean;
            }
        }
    });
}

/// `A Aᵀ` `[count, count]`
pub(super) fn gram<T: Real>(samples: &[T], count: usize, dimension: usize) -> Dense {
    let mut products = vec![T::ZERO; count * count];
    let samples = Matrix::row_major(samples, count, dimension);
    parallel_product(MatrixMut::new(&mut products, count, count), samples, samples.transposed(), false);
    Dense { rows: count, columns: count, values: products.iter().map(|value| value.as_f64()).collect() }
}

/// Eigenvalues of the covariance of the samples of one group alone.
pub(super) fn sub_spectrum(gram: &Dense, groups: &[usize], group: usize) -> Result<Vec<f64>, AnalysisError> {
    let own: Vec<usize> = (0..groups.len()).filter(|sample| groups.get(*sample) == Some(&group)).collect();
    let mut values = Vec::with_capacity(own.len() * own.len());
    for &row in &own {
        let row = gram.values.get(row * gram.columns..).unwrap_or(&[]);
        values.extend(own.iter().filter_map(|column| row.get(*column)).map(|value| value / own.len() as f64));
    }
    Ok(positive(eigenvalues(&values, own.len())?))
}

/// For every column, the product of the two matrices' columns.
pub(super) fn column_products(a: &Dense, b: &Dense) -> Vec<f64> {
    let mut sums = vec![0.0; a.columns];
    for (a, b) in a.values.chunks_exact(a.columns.max(1)).zip(b.values.chunks_exact(b.columns.max(1))) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums
}

/// Running sums as shares of `total`.
pub(super) fn running(values: &[f64], total: f64) -> Vec<f64> {
    let shares = values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum / total)
    });
    shares.collect()
}

/// The first columns, each as a map.
pub(super) fn patterns(basis: &Dense, count: usize) -> Vec<Vec<f32>> {
    (0..count.min(basis.columns)).map(|k| as_pattern(&basis.columns(k, 1).values)).collect()
}

/// A direction of length 1 whose largest entry is positive.
pub(super) fn as_pattern(values: &[f64]) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let largest =
        values.iter().copied().fold(0.0, |best: f64, value| if value.abs() > best.abs() { value } else { best });
    let factor = if length > 0.0 { 1.0_f64.copysign(largest) / length } else { 0.0 };
    values.iter().map(|value| (value * factor) as f32).collect()
}
