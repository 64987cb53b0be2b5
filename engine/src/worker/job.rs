use super::Target;
use crate::{
    config::{DataConfig, RunConfig},
    store::RunId,
};

/// Work for the engine thread.
pub(super) enum Job {
    /// Trains a run.
    Train(Box<TrainJob>),
    /// Measures a loss.
    Evaluate(EvaluateJob),
}

/// Trains a run from its start or from its newest checkpoint.
pub(super) struct TrainJob {
    pub(super) run: RunId,
    /// With absolute paths.
    pub(super) config: RunConfig,
    /// Whether it goes on from a checkpoint, where there is one.
    pub(super) is_continued: bool,
}

/// Measures the loss of a model on text.
pub(super) struct EvaluateJob {
    pub(super) target: Target,
    pub(super) data: Option<Box<DataConfig>>,
}

impl Job {
    /// The run that the job trains.
    pub(super) fn run(&self) -> Option<&RunId> {
        match self {
            Self::Train(job) => Some(&job.run),
            Self::Evaluate(_) => None,
        }
    }
}
