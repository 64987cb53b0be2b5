use serde::{Deserialize, Serialize};

use super::ErrorCurve;
use crate::{attention::HeadAt, ops::part};

/// Whose scores are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Scope {
    /// All heads of all layers: one choice of pairs and one map for all of them, as in the paper.
    #[default]
    Network,
    /// All heads of a layer.
    Layer {
        /// From 0.
        layer: usize,
    },
    /// One head.
    Head {
        /// Its place.
        at: HeadAt,
    },
}

impl Scope {
    /// A name for files: `network`, `layer-3`, `head-3-7`.
    pub fn slug(self) -> String {
        match self {
            Self::Network => "network".to_owned(),
            Self::Layer { layer } => format!("layer-{layer}"),
            Self::Head { at } => format!("head-{}-{}", at.layer, at.head),
        }
    }

    /// Whether a head's scores are among them.
    pub fn holds(self, head: HeadAt) -> bool {
        match self {
            Self::Network => true,
            Self::Layer { layer } => layer == head.layer,
            Self::Head { at } => at == head,
        }
    }
}

/// The most of `most` pairs that can be fitted to so many maps: half as many as there are maps.
///
/// A least-squares fit of k numbers to S samples is off on other samples by about S / (S - k) times what it has to be: twice as
/// much at k = S / 2, without any limit near k = S. Errors beyond speak of the sample, not of the model.
pub fn reliable_pairs(samples: u64, most: usize) -> usize {
    usize::try_from(samples / 2).unwrap_or(usize::MAX).min(most)
}

/// What comes of computing k pairs of each query and restoring the others, for every k = 0, 1, ..., n.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeReconstruction {
    /// Whose scores.
    pub scope: Scope,
    /// Maps from whose second moments pairs and directions were chosen.
    pub samples: u64,
    /// Maps that errors were measured on.
    pub held_out_samples: u64,
    /// The variance of all scores of a map (`Tr C`, no mean subtracted), in squared scores, of what was chosen from.
    pub trace: f64,
    /// The same of what was held out.
    pub held_out_trace: f64,
    /// The pairs that say most, each query's own (Eigen analysis, equation 9).
    pub greedy: ErrorCurve,
    /// As many eigenvectors of each query's scores, which need all of them: no linear method is better.
    pub eigen: ErrorCurve,
    /// Pairs by chance, restored as well as they can be.
    pub random: ErrorCurve,
    /// When each pair is computed: 0 for the first of its query, -1 where a query does not see a key. `[n, n]`
    pub ranks: Vec<f32>,
    /// Whether what restores maps was kept.
    pub has_factors: bool,
    /// `Q_i = L Lᵀ` of each query's keys in their order, lower triangles row by row, one query after the other.
    #[serde(skip)]
    pub factors: Vec<f32>,
}

impl ScopeReconstruction {
    /// Fewer maps than a row has scores: the second moments cannot have full rank, and what was fitted flatters.
    pub fn is_rank_deficient(&self, tokens: usize) -> bool {
        self.samples < tokens as u64
    }

    /// The most pairs of a query whose errors on other text say something of the model; see [`reliable_pairs`].
    pub fn reliable_pairs(&self, tokens: usize) -> usize {
        reliable_pairs(self.samples, tokens)
    }

    /// A query's keys in the order in which they are computed. `tokens` is n.
    ///
    /// # Panics
    /// If the ranks are not those of n queries.
    pub fn order(&self, query: usize, tokens: usize) -> Vec<usize> {
        let row = part(&self.ranks, query * tokens, tokens);
        let mut seen: Vec<(usize, f32)> = row.iter().copied().enumerate().filter(|(_, rank)| *rank >= 0.0).collect();
        seen.sort_by(|a, b| a.1.total_cmp(&b.1));
        seen.into_iter().map(|(key, _)| key).collect()
    }
}
