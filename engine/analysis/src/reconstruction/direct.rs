//! The curves at once from covariances, a choice for each number of pairs: what the streamed ones are held against.

use rayon::prelude::*;

use super::{EigenProjection, Greedy, RestorationMap, RowCovariances, choice::visible_block, greedy};

/// What is chosen for one query's row of scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowChoice {
    /// Keys in the order in which they are best computed, as far as anything is left to learn, with the error.
    pub greedy: Greedy,
    /// Mean squared error of projecting the row on its top 1, 2, ... eigenvectors, summed over its keys.
    pub eigen_errors: Vec<f64>,
}

/// Errors of restoring every row of a map from some of its scores (Eigen analysis, figure 9, "rows").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowReconstruction {
    /// Positions n.
    pub tokens: usize,
    /// Maps that the covariances were estimated from. Fewer than n: they have not full rank, and the errors are those of
    /// these samples rather than of others.
    pub samples: u64,
    /// The variance of all scores, `Tr C`, in squared scores.
    pub trace: f64,
    /// A choice a query.
    pub rows: Vec<RowChoice>,
}

impl RowReconstruction {
    /// Chooses up to n keys for every query. None if a score was not finite.
    pub fn new(covariances: &RowCovariances) -> Option<Self> {
        let n = covariances.tokens();
        let choice = |query: usize| {
            let visible = covariances.visible(query);
            let mut block = visible_block(&covariances.row(query), n, visible);
            let eigen_errors = EigenProjection::new(&block, visible, 0)?.errors();
            Some(RowChoice { greedy: greedy(&mut block, visible, visible), eigen_errors })
        };
        let rows: Option<Vec<RowChoice>> = (0..n).into_par_iter().map(choice).collect();
        let rows = rows?;
        let trace = rows.iter().filter_map(|row| row.greedy.residual.first()).sum();
        Some(Self { tokens: n, samples: covariances.samples(), trace, rows })
    }

    /// Whether there were fewer samples than positions, so that the covariances cannot have full rank.
    pub fn is_rank_deficient(&self) -> bool {
        self.samples < self.tokens as u64
    }

    /// Mean squared error with 0, 1, ..., n - 1 pairs of each row computed, as a share of the variance of all scores;
    /// at k, n k scores are computed. Zero where there is no variance.
    pub fn errors(&self) -> Vec<f64> {
        self.shares(|row, k| {
            let residual = &row.greedy.residual;
            residual.get(k).or(residual.last()).copied().unwrap_or(0.0)
        })
    }

    /// The same for projecting every row on its top 0, 1, ..., n - 1 eigenvectors: never larger.
    pub fn eigen_errors(&self) -> Vec<f64> {
        self.shares(|row, k| match k.checked_sub(1) {
            Some(place) => row.eigen_errors.get(place).copied().unwrap_or(0.0),
            None => row.greedy.residual.first().copied().unwrap_or(0.0),
        })
    }

    /// 1 where a pair is computed when k pairs of each row are, in the order of the map. `[n, n]`
    pub fn chosen(&self, k: usize) -> Vec<u8> {
        let row = |row: &RowChoice| {
            let mut chosen = vec![0; self.tokens];
            for &key in row.greedy.order.iter().take(k) {
                if let Some(place) = chosen.get_mut(key) {
                    *place = 1;
                }
            }
            chosen
        };
        self.rows.iter().flat_map(row).collect()
    }

    fn shares(&self, error: impl Fn(&RowChoice, usize) -> f64) -> Vec<f64> {
        let share = |k: usize| {
            let sum: f64 = self.rows.iter().map(|row| error(row, k)).sum();
            if self.trace > 0.0 { sum / self.trace } else { 0.0 }
        };
        (0..self.tokens).map(share).collect()
    }
}

/// Errors of restoring a whole map from some of its scores (Eigen analysis, figure 9, "whole matrix").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeReconstruction {
    /// Pairs in the order in which they are best computed, as `query * n + key`, with the error after each.
    pub greedy: Greedy,
    /// Mean squared error of projecting on the top 1, 2, ... eigenvectors, summed over all pairs.
    pub eigen_errors: Vec<f64>,
}

impl WholeReconstruction {
    /// Chooses up to `most` pairs of the whole map, whose covariance is `c` `[n², n²]`. None if a score was not finite.
    pub fn new(mut c: Vec<f64>, tokens: usize, most: usize) -> Option<Self> {
        let size = tokens * tokens;
        let eigen_errors = EigenProjection::new(&c, size, 0)?.errors();
        Some(Self { greedy: greedy(&mut c, size, most), eigen_errors })
    }

    /// Mean squared error after 0, 1, ... computed pairs, as a share of the variance of all scores.
    pub fn errors(&self) -> Vec<f64> {
        let trace = self.trace();
        let share = |error: &f64| if trace > 0.0 { error / trace } else { 0.0 };
        self.greedy.residual.iter().map(share).collect()
    }

    /// The variance of all scores, in squared scores.
    pub fn trace(&self) -> f64 {
        self.greedy.residual.first().copied().unwrap_or(0.0)
    }
}

impl RestorationMap {
    /// A vector put together from its computed entries `a_P`, given in the order of [`Self::chosen`].
    ///
    /// # Panics
    /// If they are not as many, or R is not of these entries.
    pub fn restore(&self, computed: &[f64]) -> Vec<f64> {
        let k = self.chosen.len();
        assert_eq!(computed.len(), k, "computed entries of a restoration");
        let mut vector = vec![0.0; self.entries()];
        for (&entry, &value) in self.chosen.iter().zip(computed) {
            vector[entry] = value;
        }
        for (row, &entry) in self.restored.iter().enumerate() {
            let weights = &self.weights[row * k..(row + 1) * k];
            vector[entry] = weights.iter().zip(computed).map(|(weight, value)| weight * value).sum();
        }
        vector
    }
}
