//! Dense linear algebra in double precision: products through the engine's own, eigenvalues through `faer`.

use faer::{MatRef, Side};
use rayon::prelude::*;

use super::AnalysisError;
use crate::ops::{Matrix, MatrixMut, parallel_product, part};

/// A dense matrix, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dense {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// `[rows, columns]`
    pub values: Vec<f64>,
}

impl Dense {
    /// Zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// A view of it.
    pub fn view(&self) -> Matrix<'_, f64> {
        Matrix::row_major(&self.values, self.rows, self.columns)
    }

    /// `a b`
    pub(crate) fn product(a: Matrix<'_, f64>, b: Matrix<'_, f64>, rows: usize) -> Self {
        let mut out = Self::zeros(rows, b.columns());
        parallel_product(MatrixMut::new(&mut out.values, rows, b.columns()), a, b, false);
        out
    }

    /// `self other`
    pub fn times(&self, other: &Self) -> Self {
        Self::product(self.view(), other.view(), self.rows)
    }

    /// `selfᵀ other`
    pub fn transposed_times(&self, other: &Self) -> Self {
        Self::product(self.view().transposed(), other.view(), self.columns)
    }

    /// `self otherᵀ`
    pub fn times_transposed(&self, other: &Self) -> Self {
        Self::product(self.view(), other.view().transposed(), self.rows)
    }

    /// `selfᵀ otherᵀ`
    pub(crate) fn transposed_times_transposed(&self, other: &Self) -> Self {
        Self::product(self.view().transposed(), other.view().transposed(), self.columns)
    }

    /// The sum of all squares.
    pub fn norm_squared(&self) -> f64 {
        self.values.iter().map(|value| value * value).sum()
    }

    /// Rows and columns exchanged.
    pub fn turned(&self) -> Self {
        let mut values = vec![0.0; self.values.len()];
        values.par_chunks_mut(self.rows.max(1)).enumerate().for_each(|(column, out)| {
            let own = self.values.iter().skip(column).step_by(self.columns.max(1));
            for (slot, value) in out.iter_mut().zip(own) {
                *slot = *value;
            }
        });
        Self { rows: self.columns, columns: self.rows, values }
    }

    /// Every column times a factor of its own.
    ///
    /// # Panics
    /// If there are not as many factors.
    pub fn scale_columns(mut self, factors: &[f64]) -> Self {
        assert_eq!(factors.len(), self.columns, "factors of the columns of a matrix");
        for row in self.values.chunks_exact_mut(self.columns.max(1)) {
            for (value, factor) in row.iter_mut().zip(factors) {
                *value *= factor;
            }
        }
        self
    }

    /// Some neighbouring columns.
    ///
    /// # Panics
    /// If they are not all there.
    pub fn columns(&self, first: usize, count: usize) -> Self {
        let rows = self.values.chunks_exact(self.columns.max(1));
        let values = rows.flat_map(|row| part(row, first, count)).copied().collect();
        Self { rows: self.rows, columns: count, values }
    }

    /// Matrices side by side.
    ///
    /// # Panics
    /// If one has fewer rows than the first.
    pub fn side_by_side(matrices: &[Self]) -> Self {
        let rows = matrices.first().map_or(0, |matrix| matrix.rows);
        let columns = matrices.iter().map(|matrix| matrix.columns).sum();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for matrix in matrices {
                values.extend_from_slice(part(&matrix.values, row * matrix.columns, matrix.columns));
            }
        }
        Self { rows, columns, values }
    }
}

/// Eigenvalues of a symmetric matrix, descending, and their eigenvectors.
pub struct Eigen {
    /// `[n]`
    pub values: Vec<f64>,
    /// A column each. `[n, n]`
    pub vectors: Dense,
}

/// Eigenvalues and eigenvectors of a symmetric matrix `[n, n]`, of which the lower half is read.
pub fn eigen(matrix: &[f64], n: usize) -> Result<Eigen, AnalysisError> {
    if n == 0 {
        return Ok(Eigen { values: Vec::new(), vectors: Dense::default() });
    }
    let found = MatRef::from_row_major_slice(matrix, n, n).self_adjoint_eigen(Side::Lower);
    let found = found.map_err(|_| AnalysisError::Eigenvalues)?;
    let (ascending, u) = (found.S().column_vector(), found.U());
    let values: Vec<f64> = (0..n).rev().map(|place| ascending[place]).collect();
    let vectors = (0..n).flat_map(|row| (0..n).rev().map(move |column| u[(row, column)])).collect();
    Ok(Eigen { values, vectors: Dense { rows: n, columns: n, values: vectors } })
}

/// Eigenvalues of a symmetric matrix `[n, n]`, descending.
pub(super) fn eigenvalues(matrix: &[f64], n: usize) -> Result<Vec<f64>, AnalysisError> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut found = MatRef::from_row_major_slice(matrix, n, n)
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| AnalysisError::Eigenvalues)?;
    found.reverse();
    Ok(found)
}

/// The eigenvalues of a matrix of second moments that are not zero: those below rounding error, and negative ones, are
/// left out. `values` is descending.
pub(super) fn positive(mut values: Vec<f64>) -> Vec<f64> {
    let least = values.first().copied().unwrap_or(0.0) * values.len() as f64 * f64::EPSILON;
    let count = values.iter().position(|value| *value <= least).unwrap_or(values.len());
    values.truncate(count);
    values
}
