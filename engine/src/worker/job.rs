use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Approximation, GenerateSource, Subspace, Target, outbox::Outbox, subject::Subject};
use crate::{
    analysis::AnalysisSpec,
    config::{DataConfig, LabelRules, Precision, RunConfig},
    convert::Conversion,
    generate::Search,
    objective::text_scores::Words,
    speed::SweepSpec,
    store::{AnalysisId, BenchmarkId, RunId},
    train::Numerics,
};

/// Work for the engine thread, and where its events go.
pub(super) struct Job {
    pub(super) outbox: Outbox,
    pub(super) work: Work,
}

/// What is to be done.
pub(super) enum Work {
    /// Trains a run.
    Train(Box<TrainJob>),
    /// Measures a loss.
    Evaluate(EvaluateJob),
    /// Generates texts.
    Generate(Box<GenerateJob>),
    /// Compares caches.
    Prove(Box<ProveJob>),
    /// Scores translations.
    Translate(Box<TranslateJob>),
    /// Answers about texts.
    Predict(PredictJob),
    /// Measures training steps.
    Measure(Box<MeasureJob>),
    /// Analyses attention.
    Analyse(Box<AnalyseJob>),
    /// Makes another model of one.
    Convert(ConvertJob),
}

/// Trains a run from its start or from its newest checkpoint.
pub(super) struct TrainJob {
    pub(super) run: RunId,
    /// With absolute paths.
    pub(super) config: RunConfig,
    /// Numerics of the version that began it.
    pub(super) numerics: Numerics,
    /// Whether it goes on from a checkpoint, where there is one.
    pub(super) is_continued: bool,
}

/// Measures the loss of a model on text.
pub(super) struct EvaluateJob {
    pub(super) target: Target,
    pub(super) data: Option<Box<DataConfig>>,
    pub(super) labels: LabelRules,
    pub(super) coverage: Option<Approximation>,
    pub(super) tokens: Option<usize>,
    pub(super) noise: Vec<f64>,
    pub(super) noise_seed: u64,
    pub(super) mistakes: usize,
    pub(super) precision: Option<Precision>,
}

/// Generates texts with a model.
pub(super) struct GenerateJob {
    pub(super) target: Target,
    pub(super) sources: Vec<GenerateSource>,
    pub(super) batch: usize,
    pub(super) search: Search,
    pub(super) precision: Precision,
    pub(super) threads: Option<usize>,
    /// Whether what tokens attended to and the tree of beams are told.
    pub(super) details: bool,
}

/// Generates texts with every cache and compares them.
pub(super) struct ProveJob {
    pub(super) target: Target,
    pub(super) sources: Vec<GenerateSource>,
    pub(super) examples: usize,
    pub(super) batch: usize,
    pub(super) search: Search,
    pub(super) precisions: Vec<Precision>,
    pub(super) threads: Option<usize>,
}

/// Translates pairs of texts and scores the translations.
pub(super) struct TranslateJob {
    pub(super) words: Words,
    pub(super) target: Target,
    pub(super) data: Option<Box<DataConfig>>,
    pub(super) limit: Option<usize>,
    pub(super) batch: usize,
    pub(super) search: Search,
    pub(super) precision: Precision,
    pub(super) threads: Option<usize>,
}

/// Makes another model of one.
pub(super) struct ConvertJob {
    pub(super) target: Target,
    pub(super) conversion: Conversion,
    pub(super) to: PathBuf,
    /// With absolute paths.
    pub(super) data: Option<Box<DataConfig>>,
    pub(super) examples: usize,
    pub(super) tokens: Option<usize>,
    pub(super) threads: Option<usize>,
}

/// Answers about texts or images.
pub(super) struct PredictJob {
    pub(super) target: Target,
    /// One or two texts a row.
    pub(super) rows: Vec<Vec<String>>,
    /// Where images are.
    pub(super) images: Option<PathBuf>,
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
    /// What the job is, for those who list the queue.
    pub(super) fn label(&self) -> JobLabel {
        match &self.work {
            Work::Train(job) => JobLabel::Train { run: job.run.clone(), name: job.config.name.clone() },
            Work::Evaluate(job) => JobLabel::Evaluate { target: Subject::name(&job.target) },
            Work::Translate(job) => JobLabel::Evaluate { target: Subject::name(&job.target) },
            Work::Predict(job) => JobLabel::Evaluate { target: Subject::name(&job.target) },
            Work::Generate(job) => JobLabel::Generate { target: Subject::name(&job.target) },
            Work::Prove(job) => JobLabel::Generate { target: Subject::name(&job.target) },
            Work::Convert(job) => JobLabel::Convert { target: Subject::name(&job.target) },
            Work::Measure(job) => JobLabel::Measure { benchmark: job.benchmark.clone(), name: job.name.clone() },
            Work::Analyse(job) => {
                JobLabel::Analyse { analysis: job.analysis.clone(), target: Subject::name(&job.target) }
            }
        }
    }
}

/// A job as the queue lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobLabel {
    /// A run is trained.
    Train {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
    },
    /// The loss of a model, or how well it translates, is measured; or it answers about texts.
    Evaluate {
        /// The model, as given.
        target: String,
    },
    /// Texts are generated.
    Generate {
        /// The model, as given.
        target: String,
    },
    /// Training steps are measured.
    Measure {
        /// The measurement.
        benchmark: BenchmarkId,
        /// Its name.
        name: String,
    },
    /// The attention of a model is analysed.
    Analyse {
        /// The analysis.
        analysis: AnalysisId,
        /// The model, as given.
        target: String,
    },
    /// Another model is made of one.
    Convert {
        /// The model, as given.
        target: String,
    },
}

impl JobLabel {
    /// The id of the run, measurement or analysis; none where the job answers somebody who waits.
    pub fn id(&self) -> Option<&RunId> {
        self.run().or_else(|| self.benchmark()).or_else(|| self.analysis())
    }

    /// The run that the job trains.
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Train { run, .. } => Some(run),
            Self::Convert { .. }
            | Self::Evaluate { .. }
            | Self::Generate { .. }
            | Self::Measure { .. }
            | Self::Analyse { .. } => None,
        }
    }

    /// The benchmark that the job measures.
    pub fn benchmark(&self) -> Option<&BenchmarkId> {
        match self {
            Self::Measure { benchmark, .. } => Some(benchmark),
            Self::Train { .. }
            | Self::Convert { .. }
            | Self::Evaluate { .. }
            | Self::Generate { .. }
            | Self::Analyse { .. } => None,
        }
    }

    /// The analysis that the job makes.
    pub fn analysis(&self) -> Option<&AnalysisId> {
        match self {
            Self::Analyse { analysis, .. } => Some(analysis),
            Self::Train { .. }
            | Self::Convert { .. }
            | Self::Evaluate { .. }
            | Self::Generate { .. }
            | Self::Measure { .. } => None,
        }
    }
}
