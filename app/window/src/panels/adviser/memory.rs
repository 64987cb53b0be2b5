use headroom_engine::advise::Wishes;
use serde::{Deserialize, Serialize};

/// What the panel remembers between starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Whether heads are to borrow, and from which similarity on.
    pub heads: bool,
    /// The least similarity of a borrowed map.
    pub similarity: f64,
    /// Whether dimensions are to be shared.
    pub dimensions: bool,
    /// The share of the energy that is kept.
    pub energy: f64,
    /// Whether pairs are to be left out.
    pub pairs: bool,
    /// The error that is allowed.
    pub error: f64,
    /// Whether the model that it came from is trained again beside it.
    pub again: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            heads: true,
            similarity: Wishes::USUAL.similarity.unwrap_or(1.0),
            dimensions: false,
            energy: Wishes::USUAL.energy.unwrap_or(1.0),
            pairs: false,
            error: Wishes::USUAL.error.unwrap_or(0.0),
            again: false,
        }
    }
}

impl Memory {
    /// What is wished for.
    pub fn wishes(&self) -> Wishes {
        Wishes {
            similarity: self.heads.then_some(self.similarity),
            energy: self.dimensions.then_some(self.energy),
            error: self.pairs.then_some(self.error),
        }
    }
}
