//! Products `A Bᵀ` of tall matrices by their factors alone.

use crate::analysis::{AnalysisError, Dense, Eigen, eigen};

/// `‖A Bᵀ‖²`
pub(super) fn norm_squared(a: &Dense, b: &Dense) -> f64 {
    let [a, b] = [a, b].map(|one| one.transposed_times(one));
    a.values.iter().zip(&b.values).map(|(a, b)| a * b).sum()
}

/// The root of what was lost over all there was; 0 where there was nothing.
pub(super) fn share(lost: f64, all: f64) -> f64 {
    if all > 0.0 { (lost / all).max(0.0).sqrt() } else { 0.0 }
}

/// Singular values and vectors of `A Bᵀ`, the largest first.
pub(super) struct Singular {
    pub values: Vec<f64>,
    /// A column each.
    pub left: Dense,
    /// A column each.
    pub right: Dense,
}

impl Singular {
    /// Those that are not zero for the number of columns alone: as many as `A` and `B` have.
    ///
    /// # Errors
    /// If eigenvalues cannot be computed.
    pub fn of(a: &Dense, b: &Dense) -> Result<Self, AnalysisError> {
        let count = a.columns;
        // With AᵀA = V L Vᵀ and R = V L^½, A Bᵀ has the singular values of (B R)ᵀ, as A = (A V L^-½) Rᵀ.
        let gram = a.transposed_times(a);
        let Eigen { values, vectors: v } = eigen(&gram.values, count)?;
        let roots: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let mixed = b.times(&v.scale_columns(&roots)); // B R
        let Eigen { values, vectors: w } = eigen(&mixed.transposed_times(&mixed).values, count)?;
        let values: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let inverse: Vec<f64> = values.iter().map(|value| if *value > 0.0 { 1.0 / value } else { 0.0 }).collect();
        let right = mixed.times(&w).scale_columns(&inverse);
        let left = a.times(&b.transposed_times(&right)).scale_columns(&inverse); // A Bᵀ v / σ
        Ok(Self { values, left, right })
    }

    /// The best `A Bᵀ` of `rank` columns: both factors, of equal norm.
    pub fn best(self, rank: usize) -> [Dense; 2] {
        let roots: Vec<f64> = self.values.iter().take(rank).map(|value| value.sqrt()).collect();
        [self.left, self.right].map(|all| {
            let first = rank.min(all.columns);
            all.columns(0, first).scale_columns(&roots)
        })
    }
}
