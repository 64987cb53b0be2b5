use super::{
    AnalysisError,
    eigen::{Dense, Eigen, eigen, positive},
};

/// A covariance C from its products with random directions: `C ~ Y (Ωᵀ Y)⁻¹ Yᵀ`, never above C, so that eigenvalues and
/// projections are lower bounds (Tropp, Yurtsever, Udell and Cevher, "Fixed-rank approximation of a positive-semidefinite
/// matrix from streaming data", 2017, algorithm 3).
pub(super) struct Nystroem {
    /// `F` with `C + shift ~ F Fᵀ`. `[n², r]`
    pub(super) factor: Dense,
    eigen: Eigen,
    shift: f64,
}

impl Nystroem {
    pub(super) fn of(omega: &Dense, mut sketch: Dense) -> Result<Self, AnalysisError> {
        let norm = sketch.values.iter().map(|value| value * value).sum::<f64>().sqrt();
        // Makes the small matrix below invertible; sums of products in single precision are no better than this.
        let shift = norm * 1e-7 / (omega.rows as f64).sqrt();
        for (value, direction) in sketch.values.iter_mut().zip(&omega.values) {
            *value += shift * direction;
        }
        let inner = omega.transposed_times(&sketch); // Ωᵀ Y, symmetric up to rounding. [r, r]
        let r = inner.rows;
        let mut symmetric = inner.clone();
        for row in 0..r {
            for column in 0..r {
                let at = |row: usize, column: usize| inner.values.get(row * r + column).copied().unwrap_or_default();
                if let Some(slot) = symmetric.values.get_mut(row * r + column) {
                    *slot = f64::midpoint(at(row, column), at(column, row));
                }
            }
        }
        let Eigen { values, vectors } = eigen(&symmetric.values, r)?;
        let least = values.first().copied().unwrap_or(0.0) * 1e-13;
        let factors: Vec<f64> =
            values.iter().map(|value| if *value > least { 1.0 / value.sqrt() } else { 0.0 }).collect();
        let factor = sketch.times(&vectors.scale_columns(&factors)); // Y V L^-½
        let found = eigen(&factor.transposed_times(&factor).values, r)?;
        Ok(Self { factor, eigen: found, shift })
    }

    /// The first eigenvalues.
    pub(super) fn values(&self, count: usize) -> Vec<f64> {
        let values = self.eigen.values.iter().map(|value| value - self.shift).take(count).collect();
        positive(values)
    }

    /// The first eigenvectors, a column each.
    pub(super) fn vectors(&self, count: usize) -> Dense {
        let lengths = self.eigen.values.iter().take(count);
        let factors: Vec<f64> = lengths.map(|value| if *value > 0.0 { 1.0 / value.sqrt() } else { 0.0 }).collect();
        self.factor.times(&self.eigen.vectors.columns(0, count).scale_columns(&factors))
    }
}
