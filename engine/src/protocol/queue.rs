use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ticket::Ticket;
use crate::{
    config::RunConfig,
    store::{AnalysisId, BenchmarkId, RunId},
};

/// Adds a run at the end of the queue; answered by [`super::Event::Queued`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enqueue {
    /// The config as written.
    pub config: Box<RunConfig>,
    /// Folder from which the config's relative paths are taken.
    pub base_dir: PathBuf,
}

/// Adds several runs at the end of the queue, in this order, all with the same tags; each is answered by
/// [`super::Event::Queued`]. None is added where one of them cannot start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EnqueueAll {
    /// The configs as written.
    pub configs: Vec<RunConfig>,
    /// Folder from which the configs' relative paths are taken.
    pub base_dir: PathBuf,
    /// Labels by which they are found again.
    pub tags: Vec<String>,
}

/// Adds the continuation of a run that ended early to the queue; its curve goes on exactly.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResumeRun {
    /// The run.
    pub run: RunId,
}

/// Ends jobs: takes those that wait out of the queue, and stops the one in progress. Answered by [`super::Event::Done`]; whoever
/// asked for a job hears how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// The jobs.
    pub job: JobRef,
}

/// Jobs that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobRef {
    /// All that one request asked for.
    Ticket(Ticket),
    /// The one of a run, an analysis or a measurement.
    Id(RunId),
}

/// Moves a queued run, analysis or measurement to a position in the queue (0 = next); answered by [`super::Event::Done`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Move {
    /// The run, or the id of the analysis or measurement.
    pub run: RunId,
    /// The new position; behind the last one where the queue is shorter.
    pub position: usize,
}

/// A run was written down and waits for its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queued {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: String,
    /// Stable number, for its colour.
    pub number: u64,
    /// Runs before it in the queue.
    pub position: usize,
}

/// Answer to [`super::Command::ListQueue`], and after each change: what computes, what waits, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// The job in progress.
    pub current: Option<JobLabel>,
    /// Whether it is paused, or will be after the step that it is in.
    pub is_paused: bool,
    /// The jobs that wait.
    pub waiting: Vec<JobLabel>,
}

/// Kind of work, as the queue lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// A run is trained.
    Train,
    /// The loss of a model, or how well it translates, is measured; or it answers about texts.
    Evaluate,
    /// Texts are generated.
    Generate,
    /// Training steps are measured.
    Measure,
    /// The attention of a model is analysed.
    Analyse,
    /// A model is converted to another.
    Convert,
    /// Something is asked of a hub, beside whatever computes.
    Transfer,
}

impl WorkKind {
    /// Noun, such as `evaluation`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Train => "run",
            Self::Evaluate => "evaluation",
            Self::Generate => "text",
            Self::Measure => "measurement",
            Self::Analyse => "analysis",
            Self::Convert => "conversion",
            Self::Transfer => "transfer",
        }
    }
}

/// A job as the queue lists it. Only what it has is serialised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLabel {
    /// Kind of work.
    pub kind: WorkKind,
    /// The run that it trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The measurement that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<BenchmarkId>,
    /// The analysis that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<AnalysisId>,
    /// Name of the run or measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model, as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl JobLabel {
    /// Work on a model.
    pub fn of_target(kind: WorkKind, target: impl Into<String>) -> Self {
        Self { target: Some(target.into()), ..Self::of(kind) }
    }

    /// A run that is trained.
    pub fn train(run: RunId, name: impl Into<String>) -> Self {
        Self { run: Some(run), name: Some(name.into()), ..Self::of(WorkKind::Train) }
    }

    /// A measurement.
    pub fn measure(benchmark: BenchmarkId, name: impl Into<String>) -> Self {
        Self { benchmark: Some(benchmark), name: Some(name.into()), ..Self::of(WorkKind::Measure) }
    }

    /// An analysis of a model.
    pub fn analyse(analysis: AnalysisId, target: impl Into<String>) -> Self {
        Self { analysis: Some(analysis), ..Self::of_target(WorkKind::Analyse, target) }
    }

    fn of(kind: WorkKind) -> Self {
        Self { kind, run: None, benchmark: None, analysis: None, name: None, target: None }
    }

    /// Id of the run, measurement or analysis; none where the job answers somebody who waits.
    pub fn id(&self) -> Option<&RunId> {
        self.run.as_ref().or(self.benchmark.as_ref()).or(self.analysis.as_ref())
    }

    /// Name of the run or measurement, or the model as given.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.target.as_deref()).unwrap_or_default()
    }
}
