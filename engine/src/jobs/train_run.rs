use crate::{config::RunConfig, store::RunId, train::Numerics};

/// A run that is to be trained from its start or from its newest checkpoint.
#[derive(Debug)]
pub(crate) struct TrainRun {
    pub(crate) run: RunId,
    /// Stable number, for its colour.
    pub(crate) number: u64,
    /// With absolute paths.
    pub(crate) config: RunConfig,
    /// Numerics of the version that began it.
    pub(crate) numerics: Numerics,
    /// Continues from a checkpoint, where there is one.
    pub(crate) is_continued: bool,
}
