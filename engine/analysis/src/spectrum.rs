use serde::{Deserialize, Serialize};

/// Shares that are known to one part in so many count as right.
const RIGHT: f64 = 0.01;

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
    /// The largest eigenvalues, descending; all that are not zero where the method is exact. Never above the true ones.
    pub values: Vec<f64>,
    /// What the eigenvalues are at most, where they are not known to one in a hundred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Entries of a vector that are not always zero, `n (n + 1) / 2` for causal maps; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<usize>,
}

/// What the known eigenvalues of a spectrum are at most; they themselves are what they are at least.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Of each eigenvalue, descending.
    pub upper: Vec<f64>,
    /// Of the sum of the first k, for k = 1, 2, ...
    pub sums: Vec<f64>,
}

impl Bounds {
    /// From what each eigenvalue is at most.
    pub(super) fn of_each(upper: Vec<f64>) -> Self {
        let sums = upper.iter().scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        });
        Self { sums: sums.collect(), upper }
    }

    /// Where the values are the eigenvalues of a part of the covariance, and `rest` is the trace of all that it lacks:
    /// no sum of eigenvalues is larger by more than that, and by no more than `sqrt(k) length` for a rest of that
    /// Frobenius norm (Fan; Cauchy and Schwarz).
    pub(super) fn of_rest(values: &[f64], rest: f64, length: f64, trace: f64) -> Self {
        let mut total = 0.0;
        let (mut upper, mut sums) = (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
        for (place, value) in values.iter().enumerate() {
            total += value;
            let k = place as f64 + 1.0;
            let sum = (total + rest.min(k.sqrt() * length)).min(trace);
            // The k-th is never above the mean of the first k.
            let most = (value + rest.min(length)).min(sum / k);
            upper.push(upper.last().copied().unwrap_or(f64::INFINITY).min(most));
            sums.push(sum);
        }
        Self { upper, sums }
    }
}

impl Spectrum {
    /// Share of the energy in the first k eigenvalues, for k = 1, 2, ...: `sum of the first k / trace`, 0..=1. What it is
    /// at least where there are bounds.
    pub fn cumulative(&self) -> Vec<f64> {
        let shares = self.values.iter().scan(0.0, |sum, value| {
            *sum += value;
            Some(if self.trace > 0.0 { *sum / self.trace } else { f64::NAN })
        });
        shares.collect()
    }

    /// What the shares of [`Self::cumulative`] are at most; the same where they are known.
    pub fn cumulative_at_most(&self) -> Vec<f64> {
        match &self.bounds {
            Some(bounds) => bounds.sums.iter().map(|sum| (sum / self.trace).min(1.0)).collect(),
            None => self.cumulative(),
        }
    }

    /// Share of the energy in the first `k` eigenvalues; of those that are known where there are fewer.
    pub fn share_of(&self, k: usize) -> f64 {
        self.values.iter().take(k).sum::<f64>() / self.trace
    }

    /// Share of the energy in the first `k` eigenvalues, at least and at most, 0..=1. Both are the same where eigenvalues
    /// are right to one in a hundred and as many are known.
    pub fn share_between(&self, k: usize) -> (f64, f64) {
        let least = self.share_of(k);
        if k <= self.values.len() {
            let most = self.bounds.as_ref().and_then(|bounds| bounds.sums.get(k.checked_sub(1)?));
            return (least, most.map_or(least, |sum| (sum / self.trace).clamp(least, 1.0)));
        }
        if !self.is_cut() {
            return (least, least);
        }
        // None of those that are not known is larger than the last that is.
        let beyond = (k - self.values.len()) as f64;
        let last = self.bounds.as_ref().map_or(&self.values, |bounds| &bounds.upper).last().copied();
        let known = self.share_between(self.values.len()).1;
        (least, last.map_or(1.0, |last| (known + beyond * last / self.trace).clamp(least, 1.0)))
    }

    /// Whether the share of the energy in the first `k` eigenvalues is known to one in a hundred.
    pub fn knows_share(&self, k: usize) -> bool {
        let (least, most) = self.share_between(k);
        most - least <= RIGHT * least
    }

    /// The least number of eigenvalues that hold `share` of the energy, at least and at most; no upper end where those that
    /// are known do not hold as much for certain.
    pub fn components_between(&self, share: f64) -> (usize, Option<usize>) {
        // Rounding must not turn all of the energy into a little less.
        let reach = |curve: &[f64]| curve.iter().position(|found| *found >= share - 1e-12).map(|place| place + 1);
        let most = reach(&self.cumulative());
        let least = if self.bounds.is_some() { reach(&self.cumulative_at_most()) } else { most };
        (least.unwrap_or(self.values.len() + 1), most)
    }

    /// Share of the energy that the known eigenvalues do not hold, 0..=1.
    pub fn missing(&self) -> f64 {
        (1.0 - self.share_of(self.values.len())).max(0.0)
    }

    /// Whether there are eigenvalues beyond those that are known.
    fn is_cut(&self) -> bool {
        self.bounds.is_some() || self.missing() > 1e-6
    }

    /// Whether there were fewer vectors than entries that are not always zero.
    pub fn is_rank_deficient(&self) -> bool {
        self.samples < self.visible.unwrap_or(self.dimension) as u64
    }

    /// Bounds from the trace alone: for spectra of a sketch that were kept without any.
    pub(super) fn bound_by_trace(&mut self) {
        if self.bounds.is_none() {
            let rest = self.missing() * self.trace;
            self.bounds = Some(Bounds::of_rest(&self.values, rest, rest, self.trace));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_as_an_interval() {
        let known =
            Spectrum { dimension: 9, samples: 50, trace: 10.0, values: vec![6.0, 3.0, 1.0], ..Spectrum::default() };
        assert_eq!((known.share_between(2), known.share_between(9)), ((0.9, 0.9), (1.0, 1.0)));
        assert_eq!(known.components_between(0.9), (2, Some(2)));
        // The last of the known ones says what those beyond are at most.
        let cut = Spectrum { values: vec![6.0, 1.0], ..known.clone() };
        let (least, most) = cut.share_between(3);
        assert!((least - 0.7).abs() < 1e-12 && (most - 0.8).abs() < 1e-12, "{least} {most}");
        assert_eq!(cut.components_between(0.9), (3, None));
        let mut sketched = Spectrum { values: vec![5.0, 2.0], ..known };
        sketched.bound_by_trace();
        assert_eq!(sketched.share_between(1), (0.5, 0.8));
        assert_eq!(sketched.share_between(2), (0.7, 1.0));
        assert!(!sketched.knows_share(1));
        assert_eq!(sketched.components_between(0.6), (1, Some(2)));
        assert_eq!(sketched.components_between(0.9), (2, None));
        assert_eq!(sketched.bounds.unwrap().upper, [8.0, 5.0]);
    }
}
