use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

/// Directions of a vector with covariance C in which it varies most, with the error of keeping only these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EigenProjection {
    /// Eigenvalues of C, largest first, none below zero.
    pub values: Vec<f64>,
    /// The eigenvectors of the first of them, one a row; the entry of largest magnitude is positive. `[k, n]`
    pub basis: Vec<f64>,
}

impl EigenProjection {
    /// The eigenvalues of `c` `[n, n]`, and the eigenvectors of the `k` largest. None if `c` is not finite.
    ///
    /// # Panics
    /// If `c` is not square.
    pub fn new(c: &[f64], n: usize, k: usize) -> Option<Self> {
        assert_eq!(c.len(), n * n, "a covariance of {n} entries has {} numbers", c.len());
        if n == 0 || c.iter().any(|value| !value.is_finite()) {
            return (n == 0).then(Self::default);
        }
        let matrix = Mat::from_fn(n, n, |i, j| c[i * n + j]);
        let values = |values: Vec<f64>| values.into_iter().rev().map(|value| value.max(0.0)).collect();
        if k == 0 {
            let found = matrix.self_adjoint_eigenvalues(Side::Lower).ok()?;
            return Some(Self { values: values(found), basis: Vec::new() });
        }
        let found = matrix.self_adjoint_eigen(Side::Lower).ok()?;
        let (vectors, diagonal) = (found.U(), found.S());
        let mut basis = Vec::with_capacity(k * n);
        for column in (0..n).rev().take(k) {
            let vector: Vec<f64> = (0..n).map(|row| vectors[(row, column)]).collect();
            let largest = vector.iter().fold(0.0_f64, |best, x| if x.abs() > best.abs() { *x } else { best });
            let sign = if largest < 0.0 { -1.0 } else { 1.0 };
            basis.extend(vector.into_iter().map(|x| sign * x));
        }
        Some(Self { values: values((0..n).map(|i| diagonal[i]).collect()), basis })
    }

    /// Mean squared error of projecting on the top 1, 2, ... eigenvectors, summed over the entries: the sum of the
    /// eigenvalues that are left out.
    pub fn errors(&self) -> Vec<f64> {
        let mut errors: Vec<f64> = Vec::with_capacity(self.values.len());
        let mut left = 0.0;
        for value in self.values.iter().rev() {
            errors.push(left);
            left += value;
        }
        errors.reverse();
        errors
    }
}
