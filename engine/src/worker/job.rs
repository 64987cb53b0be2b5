use super::{Approximation, Subspace, Target};
use crate::{
    analysis::AnalysisSpec,
    config::{DataConfig, RunConfig},
    speed::SweepSpec,
    store::{AnalysisId, BenchmarkId, RunId},
};

/// Work for the engine thread.
pub(super) enum Job {
    /// Trains a run.
    Train(Box<TrainJob>),
    /// Measures a loss.
    Evaluate(EvaluateJob),
    /// Measures training steps.
    Measure(Box<MeasureJob>),
    /// Analyses attention.
    Analyse(Box<AnalyseJob>),
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
    pub(super) coverage: Option<Approximation>,
    pub(super) tokens: Option<usize>,
}

/// Measures training steps of many configs.
pub(super) struct MeasureJob {
    pub(super) benchmark: BenchmarkId,
    pub(super) name: String,
    pub(super) spec: SweepSpec,
}

/// Analyses the attention of a model on text.
pub(super) struct AnalyseJob {
    pub(super) analysis: AnalysisId,
    pub(super) target: Target,
    pub(super) data: Option<Box<DataConfig>>,
    pub(super) spec: AnalysisSpec,
    pub(super) subspaces: Vec<Subspace>,
}

impl Job {
    /// The run that the job trains.
    pub(super) fn run(&self) -> Option<&RunId> {
        match self {
            Self::Train(job) => Some(&job.run),
            Self::Evaluate(_) | Self::Measure(_) | Self::Analyse(_) => None,
        }
    }

    /// The benchmark that the job measures.
    pub(super) fn benchmark(&self) -> Option<&BenchmarkId> {
        match self {
            Self::Measure(job) => Some(&job.benchmark),
            Self::Train(_) | Self::Evaluate(_) | Self::Analyse(_) => None,
        }
    }

    /// The analysis that the job makes.
    pub(super) fn analysis(&self) -> Option<&AnalysisId> {
        match self {
            Self::Analyse(job) => Some(&job.analysis),
            Self::Train(_) | Self::Evaluate(_) | Self::Measure(_) => None,
        }
    }
}
