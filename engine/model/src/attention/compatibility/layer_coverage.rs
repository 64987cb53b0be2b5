use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::scored::Scores;
use crate::ops::{PairSets, partial_scores, project_scores};

/// How many pairs of a layer are scored, with what it takes to do without the others.
#[derive(Clone, Debug, Default)]
pub enum LayerCoverage {
    /// Every pair.
    #[default]
    Full,
    /// Some keys of each query; its other scores are a linear map of these.
    Partial {
        /// Which.
        pairs: Arc<PairSets>,
        /// R, from computed to restored scores. `[restored pairs, k]`
        restore: Tensor,
    },
    /// Every pair, each row then projected on some directions.
    Eigen {
        /// The directions of each query. `[n, k, n]`
        basis: Tensor,
    },
}

impl LayerCoverage {
    /// Whether scores are restored from others, so that no term may be added to them afterwards.
    pub(super) fn is_partial(&self) -> bool {
        matches!(self, Self::Partial { .. })
    }

    /// `q kᵀ` of all heads, at the pairs that are scored; the others follow. `q`, `k` `[b, h, n, d]`
    pub(super) fn products(&self, q: &Tensor, k: &Tensor) -> Result<Scores> {
        Ok(match self {
            Self::Partial { pairs, restore } => Scores::Whole(partial_scores(q, k, restore, pairs)?),
            Self::Full | Self::Eigen { .. } => Scores::Products { q: q.clone(), k: k.clone(), content: None },
        })
    }

    /// What is used of the scores of all pairs. Projections are linear, so that the scale may follow.
    pub(super) fn used(&self, raw: Tensor) -> Result<Tensor> {
        match self {
            Self::Eigen { basis } => project_scores(&raw, basis),
            Self::Full | Self::Partial { .. } => Ok(raw),
        }
    }
}
