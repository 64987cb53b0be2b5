use serde::{Deserialize, Serialize};

use super::{Machine, RunId};
use crate::config::counted;
use crate::speed::{SweepResult, SweepSpec};

/// The name of a benchmark that never changes; made as those of runs are.
pub type BenchmarkId = RunId;

/// What is known of a GPU that is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredDevice {
    /// What it is, in its driver's words.
    pub name: Option<String>,
    /// Version of its driver.
    pub driver: Option<String>,
}

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
    /// What it is, in its driver's words; none for the processor.
    pub device_name: Option<String>,
    /// Version of its driver; none for the processor, and where nobody tells.
    pub driver: Option<String>,
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
    /// Version and commit of the program that measured: "0.1.0 (5b3c1d9e7f, with changes)".
    pub fn program(&self) -> String {
        let commit = self.git_commit.as_ref().map(|commit| {
            let dirty = if self.git_dirty == Some(true) { ", with changes" } else { "" };
            format!(" ({}{dirty})", commit.chars().take(10).collect::<String>())
        });
        format!("{}{}", self.program_version, commit.unwrap_or_default())
    }

    /// The device with its driver, threads and precision: "cuda:0, NVIDIA H100, driver 595.1, 2 threads, f32".
    pub fn device_words(&self) -> String {
        let named = |text: &Option<String>, before: &str| {
            text.as_ref().map(|text| format!(", {before}{text}")).unwrap_or_default()
        };
        let (name, driver) = (named(&self.device_name, ""), named(&self.driver, "driver "));
        format!("{}{name}{driver}, {}, {}", self.device, counted(self.threads, "thread"), self.precision)
    }

    /// Whether every point was measured.
    pub fn is_complete(&self) -> bool {
        self.points == self.points_total
    }
}
