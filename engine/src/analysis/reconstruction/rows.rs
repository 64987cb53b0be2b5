use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    EigenProjection, RestorationMap, RowChoice, RowCovariances,
    choice::{row_map, visible_block},
    greedy,
};

/// Errors of restoring every row of a map from some of its scores (Eigen analysis, figure 9, "rows").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
            Some(RowChoice { greedy: greedy(&mut block, visible, visible), visible, eigen_errors })
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

    /// The least k whose error is at most `share` of the variance.
    pub fn pairs_for(&self, share: f64) -> Option<usize> {
        self.errors().iter().position(|error| *error <= share)
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

    /// The map of a query from k computed scores to the others.
    pub fn map(covariances: &RowCovariances, query: usize, k: usize) -> RestorationMap {
        row_map(&covariances.row(query), covariances.tokens(), covariances.visible(query), k)
    }

    fn shares(&self, error: impl Fn(&RowChoice, usize) -> f64) -> Vec<f64> {
        let share = |k: usize| {
            let sum: f64 = self.rows.iter().map(|row| error(row, k)).sum();
            if self.trace > 0.0 { sum / self.trace } else { 0.0 }
        };
        (0..self.tokens).map(share).collect()
    }
}
