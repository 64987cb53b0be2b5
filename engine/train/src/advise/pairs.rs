use serde::{Deserialize, Serialize};

/// How many pairs of each row are to be scored, so that the others follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairAdvice {
    /// The error that is allowed, as a share of the scores' energy.
    pub limit: f64,
    /// Pairs of each row, k.
    pub k: usize,
    /// The error that these leave, as a share of the scores' energy, over all layers that score.
    pub error: f64,
    /// Pairs of a row in all: tokens.
    pub tokens: usize,
}

impl PairAdvice {
    /// The least k whose error is within the limit; none where only all pairs do. `errors`: the share of the scores' energy
    /// that is lost with 0, 1, ... pairs of each row of `tokens` (Eigen analysis, equation 8), over all layers
    /// that score: also the last, which goes on to score every pair.
    pub fn new(errors: &[f64], limit: f64, tokens: usize) -> Option<Self> {
        let within = errors.iter().enumerate().take(tokens).skip(1).find(|(_, error)| **error <= limit);
        within.map(|(k, error)| Self { limit, k, error: *error, tokens })
    }
}
