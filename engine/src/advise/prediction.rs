use serde::{Deserialize, Serialize};

use crate::config::counted;

use super::{Costs, DimensionAdvice, HeadAdvice, PairAdvice, Wishes};

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
