use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Divergence, Failure, Machine, Parent, RunId, RunState, SeriesSummary};
use crate::config::{ConfigError, RunConfig, from_stored_json, from_stored_toml};
use crate::train::{Health, Numerics};

/// Which runs to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Runs that the user put away, too.
    pub include_archived: bool,
    /// Runs that the user deleted and that can still be brought back, too.
    pub include_deleted: bool,
}

impl RunFilter {
    /// Every run there is.
    pub const ALL: Self = Self { include_archived: true, include_deleted: true };
}

/// A line of the table of runs: everything but the config, the machine and the attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The name that never changes.
    pub id: RunId,
    /// Counts up and is never used again; picks the run's colour.
    pub number: u64,
    /// The name for people.
    pub name: String,
    /// Where the run stands.
    pub state: RunState,
    /// The seed that everything random in the run comes from.
    pub seed: u64,
    /// The device.
    pub device: String,
    /// Threads that it computes with.
    pub threads: u32,
    /// Trained parameters, where known.
    pub parameters: Option<u64>,
    /// FLOPs of one optimiser step by the cost model, where known.
    pub flops_per_step: Option<u64>,
    /// Tokens of training text, where known: those of an epoch.
    pub train_tokens: Option<u64>,
    /// Hash of the held-out text and the tokenizer, or of rows with their labels, where known: losses compare only between runs that share it.
    pub held_out_hash: Option<String>,
    /// Hash of the validation examples of one evaluation and of all that decides what a loss on them is: what runs came to
    /// compares only where it is equal. None for runs that have not started, and for those of earlier versions.
    pub evaluated_hash: Option<String>,
    /// Number of these examples. Where there is no hash, the number that the config asks for, of which a small validation set
    /// may have fewer; none where it asks for all.
    pub evaluated_examples: Option<u64>,
    /// Examples of the validation set, where known.
    pub validation_examples: Option<u64>,
    /// When it was put in the queue, unix milliseconds.
    pub created_ms: i64,
    /// When it first started, unix milliseconds.
    pub started_ms: Option<i64>,
    /// When it ended, unix milliseconds.
    pub ended_ms: Option<i64>,
    /// Optimiser steps done.
    pub steps_done: u64,
    /// Optimiser steps that it will do, where known.
    pub steps_total: Option<u64>,
    /// Tokens trained on.
    pub tokens: u64,
    /// Seconds of training, over all attempts, pauses left out.
    pub train_secs: f64,
    /// For a failed run: why, and what to do.
    pub failure: Option<Failure>,
    /// For a diverged run: where.
    pub diverged: Option<Divergence>,
    /// How its loss behaves; none where nobody watched it.
    pub health: Option<Health>,
    /// For a fork: what it started from.
    pub parent: Option<Parent>,
    /// A remark in the user's words.
    pub note: String,
    /// Labels, sorted.
    pub tags: Vec<String>,
    /// The user put it away.
    pub archived: bool,
    /// When the user deleted it, unix milliseconds; it can be brought back until it is purged.
    pub deleted_ms: Option<i64>,
    /// What each series comes to, by name.
    pub metrics: BTreeMap<String, SeriesSummary>,
}

impl RunSummary {
    /// What is to be said of its health beside its state: nothing where the state says it, or where it is over.
    pub fn told_health(&self) -> Option<Health> {
        let health = self.health?;
        let is_told = match health {
            Health::Sound => false,
            Health::Stalled { .. } => self.state.is_active(),
            Health::Plateau { .. } | Health::Unstable { .. } | Health::Diverged { .. } => {
                !matches!(self.state, RunState::Diverged | RunState::Failed | RunState::Cancelled)
            }
        };
        is_told.then_some(health)
    }

    /// Whether it is worth while to let it go on: it can, and did not fail before its first step, where it would fail again.
    pub fn is_worth_resuming(&self) -> bool {
        self.state.can_resume() && (self.state != RunState::Failed || self.steps_done > 0)
    }

    /// The state's word, and that of its health where that says more: `running, unstable`.
    pub fn state_words(&self) -> String {
        match self.told_health() {
            Some(health) => format!("{}, {}", self.state, health.word()),
            None => self.state.to_string(),
        }
    }
}

/// Everything about a run but its points, snapshots and checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The line of the table.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The config as it was given, as TOML.
    pub config_toml: String,
    /// The same config as JSON.
    pub config: serde_json::Value,
    /// Version of the program that made the run.
    pub program_version: String,
    /// Git commit that the program was built from, where known.
    pub git_commit: Option<String>,
    /// Whether tracked files differed from that commit, where known.
    pub git_dirty: Option<bool>,
    /// Version of the arithmetic that decides the bits of its losses.
    #[serde(default)]
    pub numerics: Numerics,
    /// Hash of the data, where known.
    pub data_hash: Option<String>,
    /// The computer it was made on.
    pub machine: Machine,
    /// The first start and each resume, in order.
    pub attempts: Vec<AttemptRecord>,
}

impl RunRecord {
    /// The config, read from its TOML and validated as that of a file is: whatever reads a stored config asks here.
    pub fn run_config(&self) -> Result<RunConfig, ConfigError> {
        from_stored_toml(&self.config_toml)
    }

    /// The same config, read from its JSON.
    pub fn json_config(&self) -> Result<RunConfig, ConfigError> {
        from_stored_json(&self.config.to_string())
    }
}

/// A start or resume of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Counts from 1.
    pub attempt: u32,
    /// The first step it did: points of earlier attempts at or after it are hidden.
    pub first_step: u64,
    /// When it started, unix milliseconds.
    pub started_ms: i64,
    /// When it ended, unix milliseconds.
    pub ended_ms: Option<i64>,
}
