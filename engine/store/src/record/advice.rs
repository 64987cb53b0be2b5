use serde::{Deserialize, Serialize};

use super::RunId;
use crate::advise::Prediction;

/// Where an advised run came from, and what was predicted of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advised {
    /// The run whose measurements advised it.
    pub source: RunId,
    /// The same run trained again beside it.
    pub beside: Option<RunId>,
    /// The step of the model that was measured, where known.
    pub step: Option<u64>,
    /// The analysis in words.
    pub words: String,
    /// What was predicted.
    pub prediction: Prediction,
}

/// An advised run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdviceRecord {
    /// The run.
    pub run: RunId,
    /// When it was advised, in unix milliseconds.
    pub created_ms: i64,
    /// Where it came from.
    #[serde(flatten)]
    pub advised: Advised,
}
