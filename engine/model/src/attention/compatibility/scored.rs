use candle_core::{Result, Tensor};

use crate::ops::attention_scores;

/// What a way to score gives for one layer.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// Scores of the heads that compute, neither scaled nor masked; none when no head does. `[b, c, n, m]`
    pub raw: Option<Scores>,
    /// Values of the heads that attend. `[b, h, m, d_k]`
    pub values: Tensor,
}

/// Scores, or what they are products of: not every way to go on needs them as a whole.
#[derive(Clone, Debug)]
pub(super) enum Scores {
    /// `q kᵀ + 1 cᵀ`.
    Products {
        /// `[b, c, n, d]`
        q: Tensor,
        /// `[b, c, m, d]`
        k: Tensor,
        /// What is added to the scores of each key. `[b, c, m]`
        content: Option<Tensor>,
    },
    /// `[b, c, n, m]`
    Whole(Tensor),
}

impl Scores {
    /// `[b, c, n, m]`
    pub fn whole(self) -> Result<Tensor> {
        match self {
            Self::Products { q, k, content: None } => attention_scores(&q, &k),
            Self::Products { q, k, content: Some(content) } => {
                attention_scores(&q, &k)?.broadcast_add(&content.unsqueeze(2)?)
            }
            Self::Whole(scores) => Ok(scores),
        }
    }

    /// Queries and keys whose products these are: contents are one more column. None where scores came otherwise.
    pub fn factors(self) -> Result<Option<[Tensor; 2]>> {
        Ok(match self {
            Self::Products { q, k, content: None } => Some([q, k]),
            Self::Products { q, k, content: Some(content) } => {
                let (b, c, n, _) = q.dims4()?;
                let one = Tensor::ones((b, c, n, 1), q.dtype(), q.device())?;
                Some([Tensor::cat(&[&q, &one], 3)?, Tensor::cat(&[&k.contiguous()?, &content.unsqueeze(3)?], 3)?])
            }
            Self::Whole(_) => None,
        })
    }
}
