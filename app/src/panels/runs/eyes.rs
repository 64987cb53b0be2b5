use std::collections::BTreeSet;

use headroom_engine::store::RunId;

/// Eyes that one stroke opens at most: charts of more lines say nothing.
const MOST_OPENED: usize = 200;

/// What becomes of the eyes.
pub(super) enum Eyes {
    /// Nothing.
    Keep,
    /// One is opened or closed.
    Toggle(RunId),
    /// These are opened.
    Open(Vec<RunId>),
}

impl Eyes {
    /// Opens those of these rows.
    pub fn open(numbers: &BTreeSet<u64>, id_of: impl Fn(u64) -> Option<RunId>) -> Self {
        Self::Open(numbers.iter().rev().take(MOST_OPENED).filter_map(|&number| id_of(number)).collect())
    }
}
