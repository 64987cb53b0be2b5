use serde::{Deserialize, Serialize};

use super::{Machine, RunId};
use crate::speed::{SweepResult, SweepSpec};

/// The name of a benchmark that never changes; made as those of runs are.
pub type BenchmarkId = RunId;

/// A benchmark as a table of them shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSummary {
    /// Its id.
    pub id: BenchmarkId,
    /// Counts up and is never used again.
    pub number: u64,
    /// A name for people; need not be unique.
    pub name: String,
    /// When it began, in unix milliseconds.
    pub created_ms: i64,
    /// When it ended; none while it is measured, or when its program died.
    pub ended_ms: Option<i64>,
    /// The computer.
    pub machine: Machine,
    /// Version of the program.
    pub program_version: String,
    /// The commit that the program was built from, where that is known.
    pub git_commit: Option<String>,
    /// Whether there were changes on top of the commit.
    pub git_dirty: Option<bool>,
    /// The device of the base config.
    pub device: String,
    /// Threads of the base config.
    pub threads: u32,
    /// Number format of the base config.
    pub precision: String,
    /// Points that were measured.
    pub points: u64,
    /// Points that were wanted.
    pub points_total: u64,
}

/// Everything about a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRecord {
    /// What the table shows.
    #[serde(flatten)]
    pub summary: BenchmarkSummary,
    /// What was to be measured.
    pub spec: SweepSpec,
    /// What was.
    pub results: SweepResult,
}

impl BenchmarkSummary {
    /// Whether every point was measured.
    pub fn is_complete(&self) -> bool {
        self.points == self.points_total
    }
}
