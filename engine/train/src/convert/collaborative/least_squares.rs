//! The normal equations of one factor.

use faer::{
    MatMut, MatRef, Par, Spec,
    dyn_stack::{MemBuffer, MemStack},
    linalg::{
        cholesky::llt::factor::{LltRegularization, cholesky_in_place, cholesky_in_place_scratch},
        triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place},
    },
};
use rayon::prelude::*;

use crate::analysis::Dense;

/// The first ridge, as a share of the mean of the diagonal.
const FIRST_RIDGE: f64 = 1e-10;

/// From one ridge to the next, where the matrix is not positive definite in rounded numbers.
const NEXT_RIDGE: f64 = 100.0;

/// The last ridge that is tried.
const LAST_RIDGE: f64 = 1.0;

/// Rows that one task solves for: fixed, so that the number of threads changes no bit.
const TASK_ROWS: usize = 32;

/// `X` with `X (G + ρ) = V + ρ X_before`: the least squares of one factor, held near to where it was by a small `ρ`, so that
/// columns that the data do not tell apart stay where they are. A fixed point of it is one of plain least squares.
///
/// # Shapes
/// `G` `[D, D]`, symmetric; `V`, `X` `[n, D]`. None where `G` is not finite.
pub(super) fn solve(gram: &Dense, right: Dense, before: &Dense) -> Option<Dense> {
    let n = gram.rows;
    if n == 0 {
        return Some(right);
    }
    let mean = gram.values.iter().step_by(n + 1).sum::<f64>() / n as f64;
    if !mean.is_finite() {
        return None;
    }
    let scale = if mean > 0.0 { mean } else { 1.0 };
    let mut ridge = FIRST_RIDGE;
    while ridge <= LAST_RIDGE {
        if let Some(factor) = cholesky(gram, ridge * scale) {
            return Some(back(&factor, right, before, ridge * scale));
        }
        ridge *= NEXT_RIDGE;
    }
    None
}

/// `L` with `L Lᵀ = G + ρ`, column after column; none where that is not positive definite.
fn cholesky(gram: &Dense, ridge: f64) -> Option<Vec<f64>> {
    let n = gram.rows;
    let mut factor = gram.values.clone();
    factor.iter_mut().step_by(n + 1).for_each(|diagonal| *diagonal += ridge);
    let (params, regularisation) = (Spec::default(), LltRegularization::default());
    let mut memory = MemBuffer::try_new(cholesky_in_place_scratch::<f64>(n, Par::Seq, params)).ok()?;
    let matrix = MatMut::from_column_major_slice_mut(&mut factor, n, n);
    cholesky_in_place(matrix, regularisation, Par::Seq, MemStack::new(&mut memory), params).ok()?;
    factor.iter().step_by(n + 1).all(|diagonal| diagonal.is_finite()).then_some(factor)
}

/// Solves with a factor for all rows.
fn back(factor: &[f64], mut right: Dense, before: &Dense, ridge: f64) -> Dense {
    let n = right.columns;
    let lower = MatRef::from_column_major_slice(factor, n, n);
    let rows = right.values.par_chunks_mut(TASK_ROWS * n).zip(before.values.par_chunks(TASK_ROWS * n));
    rows.for_each(|(rows, before)| {
        for (value, before) in rows.iter_mut().zip(before) {
            *value += ridge * before;
        }
        let count = rows.len() / n;
        // Rows one after the other are columns here.
        let mut columns = MatMut::from_column_major_slice_mut(rows, n, count);
        solve_lower_triangular_in_place(lower, columns.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), columns.as_mut(), Par::Seq);
    });
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::random::{Purpose, Stream};

    fn random(index: u64, rows: usize, columns: usize) -> Dense {
        let mut stream = Stream::new(7, Purpose::Test, index);
        Dense { rows, columns, values: (0..rows * columns).map(|_| stream.normal()).collect() }
    }

    #[test]
    fn what_is_solved_for_comes_back() {
        let a = random(1, 40, 9);
        let gram = a.transposed_times(&a);
        let expected = random(2, 70, 9);
        let found = solve(&gram, expected.times(&gram), &Dense::zeros(70, 9)).unwrap();
        for (found, expected) in found.values.iter().zip(&expected.values) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// Columns that are the same cannot be told apart: they stay near to where they were, and the product is right.
    #[test]
    fn equal_columns_do_no_harm() {
        let mut a = random(3, 20, 4);
        for row in a.values.chunks_exact_mut(4) {
            row[3] = row[0];
        }
        let gram = a.transposed_times(&a);
        let x = random(4, 5, 4);
        let data = x.times_transposed(&a);
        let found = solve(&gram, data.times(&a), &random(5, 5, 4)).unwrap();
        let again = found.times_transposed(&a);
        for (found, expected) in again.values.iter().zip(&data.values) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
        assert!(found.values.iter().all(|value| value.abs() < 100.0));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let mut gram = Dense::zeros(2, 2);
        gram.values[0] = f64::NAN;
        assert!(solve(&gram, Dense::zeros(1, 2), &Dense::zeros(1, 2)).is_none());
        assert!(solve(&Dense::zeros(2, 2), Dense::zeros(1, 2), &Dense::zeros(1, 2)).is_some());
    }
}
