use serde::{Deserialize, Serialize};

use crate::data::PairFraming;

/// Version of the arithmetic that decides the bits of a run's losses. It is stored with each run, so that a run which an earlier
/// version began goes on as it began.
///
/// Whoever changes a bit of a loss on purpose raises [`Numerics::CURRENT`], keeps the earlier rule for earlier runs, and adds a line
/// to `engine/CHANGELOG.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Numerics(pub u32);

impl Numerics {
    /// The version of runs from before it was stored.
    pub const FIRST: Self = Self(1);
    /// The version of new runs.
    pub const CURRENT: Self = Self(3);

    /// True where micro-batches are cut from one batch and weighted by their labels. In version 1 each was drawn by itself, and a
    /// step was the mean of their means.
    pub fn weights_micro_batches(self) -> bool {
        self >= Self(2)
    }

    /// How the sides of a pair stand in an example. Before version 3 the end token stood after each, whatever the tokenizer's
    /// template says.
    pub fn pair_framing(self) -> PairFraming {
        if self >= Self(3) { PairFraming::Template } else { PairFraming::End }
    }

    /// True where this program has the arithmetic.
    pub fn is_known(self) -> bool {
        (Self::FIRST..=Self::CURRENT).contains(&self)
    }
}

/// The version of a record that does not name one.
impl Default for Numerics {
    fn default() -> Self {
        Self::FIRST
    }
}
