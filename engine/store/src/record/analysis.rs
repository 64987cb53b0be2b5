use serde::{Deserialize, Serialize};

use super::RunId;

/// The name of an analysis that never changes; made as those of runs are.
pub type AnalysisId = RunId;

/// What was found out on demand, as a list of it shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalysisSummary {
    /// Its id.
    pub id: AnalysisId,
    /// Counts up and is never used again.
    pub number: u64,
    /// The run whose checkpoint was looked at; none for a model directory.
    pub run: Option<RunId>,
    /// The model in words.
    pub target: String,
    /// Optimiser steps of the model, where known.
    pub step: Option<u64>,
    /// The text in words.
    pub data: String,
    /// Whether the text was read shuffled (`true`) or in order, whatever the run read; none: as the run read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffled: Option<bool>,
    /// Examples that were looked at.
    pub examples: u64,
    /// Tokens of an example.
    pub tokens: u64,
    /// When it was found out, in unix milliseconds.
    pub created_ms: i64,
    /// Whether scores were restored from some of their pairs.
    pub reconstructs: bool,
}
