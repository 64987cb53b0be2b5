use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{job::Progress, target::Target};

use crate::{
    analysis::{Analysis, AnalysisSpec},
    config::{DataConfig, RunConfig},
    store::{AnalysisId, AnalysisSummary, RunId},
    text::floats,
};

/// Analyses the attention of a run or model directory, behind the jobs that wait; answered by
/// [`super::Event::AnalyseQueued`], then as it goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analyse {
    /// The id that it gets.
    pub analysis: AnalysisId,
    /// Whose attention.
    pub target: Target,
    /// On which text; `None` = the held-out text that the run was evaluated on.
    pub data: Option<Box<DataConfig>>,
    /// What is to be found out.
    pub spec: Box<AnalysisSpec>,
    /// Whose spaces its scores are projected on.
    pub subspaces: Vec<Subspace>,
    /// Folder from which relative paths in texts are taken.
    pub base_dir: PathBuf,
}

/// Role of the problem domain: adds a run of the config and one on its shuffled text at the end of the queue, and
/// behind them analyses both on both; each is answered as if it had been asked for alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompareDomains {
    /// The config; whether its text is shuffled makes no difference.
    pub config: Box<RunConfig>,
    /// Folder from which the config's relative paths are taken.
    pub base_dir: PathBuf,
    /// A label by which the two runs are found again.
    pub tag: String,
    /// What is to be found out.
    pub spec: Box<AnalysisSpec>,
    /// The ids of the analyses: the run on text in order on that text, the same on shuffled text, then the run on
    /// shuffled text on both.
    pub analyses: [AnalysisId; 4],
}

/// Loads one analysis; answered by [`super::Event::Analysed`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadAnalysis {
    /// The analysis.
    pub analysis: AnalysisId,
}

/// Deletes an analysis so that it can be brought back, or brings it back; answered by [`super::Event::Analyses`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeleteAnalysis {
    /// The analysis.
    pub analysis: AnalysisId,
    /// Whether it goes or comes back.
    pub deleted: bool,
}

/// An analysis of attention waits for its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnalyseQueued {
    /// The analysis.
    pub analysis: AnalysisId,
    /// The run whose model it is; none for a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The model, as given.
    pub target: String,
    /// Jobs before it in the queue.
    pub position: usize,
}

/// An analysis of attention goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysing {
    /// The analysis.
    pub analysis: AnalysisId,
    /// What is done, in words.
    pub stage: String,
    /// Share of the whole that is done, 0..=1.
    #[serde(with = "floats")]
    pub fraction: f64,
}

/// What an analysis of attention found: when it is made, and in answer to [`super::Command::LoadAnalysis`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysed {
    /// The analysis.
    pub analysis: AnalysisId,
    /// What was found.
    pub result: Box<Analysis>,
}

/// An analysis of attention ended; always its last event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnalyseEnded {
    /// The analysis.
    pub analysis: AnalysisId,
    /// Whether it was carried out.
    pub complete: bool,
    /// Why not, and what to do; none where it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether it is what was asked for that cannot be, rather than the attempt that failed.
    pub is_refusal: bool,
    /// Why what was found is not kept in the store, in words, if it could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<String>,
}

/// Answer to [`super::Command::ListAnalyses`], and after each change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analyses {
    /// Everything that was found out on demand, newest first, deleted ones left out.
    pub analyses: Vec<AnalysisSummary>,
}

/// A model, and the text on which its scores span a space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subspace {
    /// The model.
    pub target: Target,
    /// The text; `None` = the held-out text that it was evaluated on.
    pub data: Option<Box<DataConfig>>,
}

impl Progress for Analysing {
    fn stage(&self) -> String {
        self.stage.clone()
    }

    fn share(&self) -> Option<f64> {
        Some(self.fraction)
    }

    fn line(&self) -> Option<String> {
        Some(format!("{} ...", self.stage))
    }

    fn id(&self) -> Option<&RunId> {
        Some(&self.analysis)
    }
}
