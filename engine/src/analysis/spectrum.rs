use serde::{Deserialize, Serialize};

/// The eigenvalues of a covariance (second moments: no mean is subtracted).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// Size of the vectors: n² for whole maps, n for the rows of one query.
    pub dimension: usize,
    /// Vectors that were averaged over. Fewer than the dimension: the covariance has no full rank, and the last
    /// eigenvalues are zero for that reason alone.
    pub samples: u64,
    /// The exact sum of all eigenvalues, the mean squared length of a vector.
    pub trace: f64,
    /// The largest eigenvalues, descending; all that are not zero where the method is exact.
    pub values: Vec<f64>,
}

impl Spectrum {
    /// Share of the energy in the first k eigenvalues, for k = 1, 2, ...: `sum of the first k / trace`, 0..=1.
    pub fn cumulative(&self) -> Vec<f64> {
        let shares = self.values.iter().scan(0.0, |sum, value| {
            *sum += value;
            Some(if self.trace > 0.0 { *sum / self.trace } else { f64::NAN })
        });
        shares.collect()
    }

    /// Share of the energy in the first `k` eigenvalues; of those that are known where there are fewer.
    pub fn share_of(&self, k: usize) -> f64 {
        self.values.iter().take(k).sum::<f64>() / self.trace
    }

    /// The least number of eigenvalues that hold `share` of the energy; none where those that are known do not.
    pub fn components_for(&self, share: f64) -> Option<usize> {
        // Rounding must not turn all of the energy into a little less.
        self.cumulative().iter().position(|found| *found >= share - 1e-12).map(|place| place + 1)
    }

    /// Share of the energy that the known eigenvalues do not hold, 0..=1.
    pub fn missing(&self) -> f64 {
        (1.0 - self.share_of(self.values.len())).max(0.0)
    }

    /// Whether there were fewer vectors than dimensions.
    pub fn is_rank_deficient(&self) -> bool {
        self.samples < self.dimension as u64
    }
}
