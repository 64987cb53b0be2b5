use serde::{Deserialize, Serialize};

use crate::config::counted;

use super::{Costs, DimensionAdvice, HeadAdvice, PairAdvice};

/// What is to be saved, and from where on; a part that is not there stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wishes {
    /// Heads borrow maps that are at least this similar, 0..=1.
    pub similarity: Option<f64>,
    /// Queries and keys of all heads share as many dimensions as keep this share of their energy, 0..=1.
    pub energy: Option<f64>,
    /// Each query scores as many pairs as restore the others within this share of their energy, 0..=1.
    pub error: Option<f64>,
}

impl Wishes {
    /// Thresholds to begin with.
    pub const USUAL: Self = Self { similarity: Some(0.9), energy: Some(0.95), error: Some(0.05) };

    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What an advised model should come to, as it was known before it was trained. There is no loss in it: what it costs is
/// counted, what was measured says how much the trained model would change, and nothing says what training makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// What was wished for.
    pub wishes: Wishes,
    /// What the trained model costs.
    pub present: Costs,
    /// What the advised one costs.
    pub proposed: Costs,
    /// Which heads borrow.
    pub heads: Option<HeadAdvice>,
    /// How many dimensions are shared.
    pub dimensions: Option<DimensionAdvice>,
    /// How many pairs are scored.
    pub pairs: Option<PairAdvice>,
}

impl Prediction {
    /// What is advised, in a few words: `6 heads borrow, d_k 48`.
    pub fn words(&self) -> String {
        let heads = self.heads.as_ref().map(HeadAdvice::borrowers).filter(|count| *count > 0);
        let heads =
            heads.map(|count| format!("{} {}", counted(count, "head"), if count == 1 { "borrows" } else { "borrow" }));
        let dimensions = self.dimensions.as_ref().map(|dimensions| format!("d_k {}", dimensions.d_k));
        let pairs = self.pairs.map(|pairs| format!("{} per row", counted(pairs.k, "pair")));
        [heads, dimensions, pairs].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
