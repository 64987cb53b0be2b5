use serde::{Deserialize, Serialize};

/// Mean squared errors of scores as shares of their variance, with k = 0, 1, ... of them computed: at 0 it is 1, and
/// with all of them 0. A fit to S samples has rank S at most: from k = S on there is no error on other samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorCurve {
    /// On the examples that everything was chosen from: too good, the more so the fewer they are.
    pub fitted: Vec<f64>,
    /// On examples that had no part in it. May be above 1; empty where there were none, and shorter than `fitted` where the fit was to
    /// fewer samples than there are entries.
    pub held_out: Vec<f64>,
}

impl ErrorCurve {
    /// The errors that speak of other text, where there are such.
    pub fn honest(&self) -> &[f64] {
        if self.held_out.is_empty() { &self.fitted } else { &self.held_out }
    }

    /// The least k at which the error of [`Self::honest`] is at most `error`.
    pub fn least(&self, error: f64) -> Option<usize> {
        self.honest().iter().position(|found| *found <= error)
    }
}

/// Sums of squared errors over rows, as shares of their sum at 0.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorSum {
    fitted: Vec<f64>,
    held_out: Vec<f64>,
}

impl ErrorSum {
    /// Of up to `most` computed entries.
    pub(super) fn new(most: usize, has_held_out: bool) -> Self {
        Self { fitted: vec![0.0; most + 1], held_out: if has_held_out { vec![0.0; most + 1] } else { Vec::new() } }
    }

    /// Adds a vector's errors after 0, 1, ... entries; those beyond the last are nought.
    pub(super) fn add(&mut self, errors: &Errors) {
        let sums = [(&mut self.fitted, &errors.fitted), (&mut self.held_out, &errors.held_out)];
        for (sum, own) in sums {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
    }

    /// Shares of the error at 0. `samples`: those that were fitted to.
    pub(super) fn shares(mut self, samples: u64) -> ErrorCurve {
        if samples + 1 < self.fitted.len() as u64 {
            self.held_out.truncate(samples as usize);
        }
        let shares = |sums: Vec<f64>| {
            let whole = sums.first().copied().unwrap_or(0.0);
            sums.into_iter().map(|sum| if whole > 0.0 { sum / whole } else { 0.0 }).collect()
        };
        ErrorCurve { fitted: shares(self.fitted), held_out: shares(self.held_out) }
    }

    /// What there is to restore: the mean squares of all scores, chosen from and held out.
    pub(super) fn traces(&self) -> [f64; 2] {
        [&self.fitted, &self.held_out].map(|sums| sums.first().copied().unwrap_or(0.0))
    }
}

/// Squared errors of one vector, summed over its entries, after 0, 1, ... of them are computed: as many as it has
/// entries and one more.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    pub(super) fitted: Vec<f64>,
    pub(super) held_out: Vec<f64>,
}
