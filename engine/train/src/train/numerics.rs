use serde::{Deserialize, Serialize};

use crate::data::Edition;

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

    /// Rules by which data are read. From version 3 a text never holds a special token, rows without a label are left out, images are
    /// turned as their EXIF data say, and the sides of a pair are framed by the tokenizer's template.
    pub fn edition(self) -> Edition {
        if self >= Self(3) { Edition::Current } else { Edition::First }
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
