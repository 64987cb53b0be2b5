use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::target::Which;

use crate::store::{
    CheckpointRecord, Cursor, DamagedRun, ExampleOutcomes, OutcomeKind, PurgeReport, RunId, RunRecord, RunSummary,
    SeriesData, TextSample,
};

/// Writes a checkpoint as a model directory; answered by [`super::Event::Exported`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Export {
    /// The run.
    pub run: RunId,
    /// Which of its checkpoints.
    pub which: Which,
    /// The directory to make; must not exist or be empty.
    pub to: PathBuf,
}

/// Loads one run whole; answered by [`super::Event::Run`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadRun {
    /// The run.
    pub run: RunId,
}

/// Loads a series from after a cursor on; answered by [`super::Event::Series`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSeries {
    /// The run.
    pub run: RunId,
    /// The series, such as `train/loss`.
    pub series: String,
    /// Where the last answer ended; `None` = from the start.
    pub after: Option<Cursor>,
}

/// Loads the outcomes of the single examples of an evaluation; answered by [`super::Event::Outcomes`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadOutcomes {
    /// The run.
    pub run: RunId,
    /// The evaluation.
    pub kind: OutcomeKind,
}

/// Loads the text samples of a run; answered by [`super::Event::Samples`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSamples {
    /// The run.
    pub run: RunId,
}

/// Changes what is written about a run; answered by [`super::Event::Runs`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Edit {
    /// The run.
    pub run: RunId,
    /// The change.
    pub edit: RunEdit,
}

/// Lists what was deleted and can be brought back, with what stands in the way of purging it; answered by
/// [`super::Event::Deleted`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListDeleted {
    /// Only what was deleted before this moment, unix milliseconds.
    pub before_ms: i64,
}

/// Removes for good what was deleted, runs with their files; answered by [`super::Event::Purged`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Purge {
    /// Only what was deleted before this moment, unix milliseconds.
    pub before_ms: i64,
}

/// Answer to [`super::Command::ListRuns`], and after each change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Runs {
    /// All runs, newest first, deleted ones left out.
    pub runs: Vec<RunSummary>,
}

/// The runs whose records cannot be read; with [`super::Event::Runs`], whenever they are others than before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Damaged {
    /// These runs, in the order of their making; deleted ones left out.
    pub runs: Vec<DamagedRun>,
}

/// Answer to [`super::Command::ListDeleted`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deleted {
    /// What was deleted, oldest first, with the reason where it would stay.
    pub deleted: Vec<crate::store::Deleted>,
}

/// Answer to [`super::Command::Purge`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Purged {
    /// What is gone, and what stayed.
    #[serde(flatten)]
    pub report: PurgeReport,
}

/// Answer to [`super::Command::LoadRun`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The run.
    pub record: Box<RunRecord>,
    /// Its checkpoints, by step.
    pub checkpoints: Vec<CheckpointRecord>,
    /// The folder that holds its files.
    pub folder: PathBuf,
}

/// Answer to [`super::Command::LoadSeries`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// The run.
    pub run: RunId,
    /// The series.
    pub series: String,
    /// Whether it starts at the beginning (else it is a continuation).
    pub whole: bool,
    /// The points.
    pub data: SeriesData,
}

/// Answer to [`super::Command::LoadOutcomes`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcomes {
    /// The run.
    pub run: RunId,
    /// The evaluation.
    pub kind: OutcomeKind,
    /// The outcomes; none where they were not recorded.
    pub outcomes: Option<Box<ExampleOutcomes>>,
}

/// Answer to [`super::Command::LoadSamples`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Samples {
    /// The run.
    pub run: RunId,
    /// Its text samples, in step order.
    pub samples: Vec<TextSample>,
}

/// Answer to [`super::Command::Export`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exported {
    /// The run.
    pub run: RunId,
    /// Its step.
    pub step: u64,
    /// The model directory.
    pub path: PathBuf,
    /// Whether `transformers` opens it.
    pub opens_in_transformers: bool,
    /// As which class, or why not.
    pub reason: String,
}

/// A change to what is written about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEdit {
    /// A new name.
    Rename(String),
    /// A new note.
    Note(String),
    /// One more tag.
    AddTag(String),
    /// One tag less.
    RemoveTag(String),
    /// Out of the everyday list, or back into it.
    Archive(bool),
    /// Deleted, can be undone.
    Delete,
    /// Deletion undone.
    Undelete,
}
