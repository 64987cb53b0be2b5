use serde::{Deserialize, Serialize};

use crate::{
    analysis::Analysis,
    store::{RunId, SnapshotRecord},
};

/// Lists the steps at which a run's attention was analysed while it trained; answered by
/// [`super::Event::LiveAnalyses`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadLiveAnalyses {
    /// The run.
    pub run: RunId,
}

/// Loads such an analysis; answered by [`super::Event::LiveAnalysis`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadLiveAnalysis {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: u64,
}

/// Lists the snapshots of a run of one kind; answered by [`super::Event::Snapshots`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSnapshots {
    /// The run.
    pub run: RunId,
    /// The kind.
    pub kind: String,
}

/// Loads one snapshot; answered by [`super::Event::SnapshotData`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSnapshot {
    /// Its key.
    pub id: i64,
}

/// Answer to [`super::Command::LoadLiveAnalyses`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveAnalyses {
    /// The run.
    pub run: RunId,
    /// Steps at which it was analysed, ascending.
    pub steps: Vec<u64>,
}

/// Answer to [`super::Command::LoadLiveAnalysis`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveAnalysis {
    /// The run.
    pub run: RunId,
    /// What was found, with its step.
    pub result: Box<Analysis>,
}

/// Answer to [`super::Command::LoadSnapshots`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshots {
    /// The run.
    pub run: RunId,
    /// The kind.
    pub kind: String,
    /// The snapshots without their elements, by step.
    pub snapshots: Vec<SnapshotRecord>,
}

/// Answer to [`super::Command::LoadSnapshot`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SnapshotData {
    /// The snapshot with its elements.
    pub snapshot: Box<crate::store::SnapshotData>,
}
