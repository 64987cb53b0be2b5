use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Why a checkpoint is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// The best so far by the run's metric. A run has one: recording another replaces it.
    Best,
    /// One of the last few, to go on from.
    Last,
    /// Asked for by the user; never removed by the program.
    Kept,
}

impl CheckpointKind {
    /// The kind's word in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Last => "last",
            Self::Kept => "kept",
        }
    }

    /// The kind of a word, or none.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Best, Self::Last, Self::Kept].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A checkpoint that was just written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewCheckpoint {
    /// Optimiser steps done.
    pub step: u64,
    /// Its model directory.
    pub path: PathBuf,
    /// Why it is kept. A directory kept for two reasons is recorded twice.
    pub kind: CheckpointKind,
    /// The series that judged it, such as "validation/loss".
    pub metric: Option<String>,
    /// That series' value then.
    pub value: Option<f64>,
    /// Size on disk.
    pub bytes: u64,
}

/// A checkpoint that the store knows of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRecord {
    /// Optimiser steps done.
    pub step: u64,
    /// Its model directory.
    pub path: PathBuf,
    /// Why it is kept.
    pub kind: CheckpointKind,
    /// The series that judged it.
    pub metric: Option<String>,
    /// That series' value then.
    pub value: Option<f64>,
    /// Size on disk.
    pub bytes: u64,
    /// When it was written, unix milliseconds.
    pub created_ms: i64,
    /// Why it is neither read nor removed, after a colon: the store says that it is elsewhere, or it is reached through a
    /// link. None for any that a program of ours recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
