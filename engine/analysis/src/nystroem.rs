use super::{
    AnalysisError, Bounds,
    eigen::{Dense, Eigen, eigen, positive},
};

/// Directions of a sketch by which the rest is measured that the others leave.
pub(super) const TESTS: usize = 16;

/// The mean square of so many products with random directions is above this part of what it stands for but for one case
/// in a thousand (chi-squared with 16 degrees of freedom, for a rest of rank one; larger ranks scatter less).
const AT_LEAST: f64 = 0.24;

/// A covariance C from its products with random directions: `C ~ Y (Ωᵀ Y)⁻¹ Yᵀ`, never above C, so that eigenvalues and
/// projections are lower bounds (Tropp, Yurtsever, Udell and Cevher, "Fixed-rank approximation of a positive-semidefinite
/// matrix from streaming data", 2017, algorithm 3). What it lacks, `R = C - F Fᵀ`, has a known trace; its Frobenius norm is
/// estimated from products with random directions of which the approximation knows nothing.
pub(super) struct Nystroem {
    /// `F` with `C + shift ~ F Fᵀ`. `[m, r]`
    pub(super) factor: Dense,
    eigen: Eigen,
    shift: f64,
    /// Frobenius norm of what is lacking, at most.
    rest: f64,
}

impl Nystroem {
    /// The last [`TESTS`] directions measure the rest.
    pub(super) fn of(omega: &Dense, sketch: &Dense) -> Result<Self, AnalysisError> {
        let rank = omega.columns - TESTS.min(omega.columns);
        let (tests, tested) = (omega.columns(rank, TESTS), sketch.columns(rank, TESTS));
        let (omega, mut sketch) = (omega.columns(0, rank), sketch.columns(0, rank));
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
                let (own, other) = (inner.values[row * r + column], inner.values[column * r + row]);
                symmetric.values[row * r + column] = f64::midpoint(own, other);
            }
        }
        let Eigen { values, vectors } = eigen(&symmetric.values, r)?;
        let least = values.first().copied().unwrap_or(0.0) * 1e-13;
        let factors: Vec<f64> =
            values.iter().map(|value| if *value > least { 1.0 / value.sqrt() } else { 0.0 }).collect();
        let factor = sketch.times(&vectors.scale_columns(&factors)); // Y V L^-½
        let found = eigen(&factor.transposed_times(&factor).values, r)?;
        let known = factor.times(&factor.transposed_times(&tests)); // F Fᵀ ω
        let both = tested.values.iter().zip(&tests.values).zip(&known.values);
        let lacking: f64 = both.map(|((image, test), known)| (image + shift * test - known).powi(2)).sum();
        let rest = (lacking / (TESTS as f64 * AT_LEAST)).sqrt();
        Ok(Self { factor, eigen: found, shift, rest })
    }

    /// The first eigenvalues, and what they are at most where `trace` is that of the covariance.
    pub(super) fn values(&self, count: usize, trace: f64) -> (Vec<f64>, Bounds) {
        let values = self.eigen.values.iter().map(|value| value - self.shift).take(count).collect();
        let values = positive(values);
        let rest = (trace + self.shift * self.factor.rows as f64 - self.eigen.values.iter().sum::<f64>()).max(0.0);
        let bounds = Bounds::of_rest(&values, rest, self.rest, trace);
        (values, bounds)
    }

    /// The first eigenvectors, a row each.
    pub(super) fn vectors(&self, count: usize) -> Dense {
        let lengths = self.eigen.values.iter().take(count);
        let factors: Vec<f64> = lengths.map(|value| if *value > 0.0 { 1.0 / value.sqrt() } else { 0.0 }).collect();
        self.eigen.vectors.columns(0, count).scale_columns(&factors).transposed_times_transposed(&self.factor)
    }
}
