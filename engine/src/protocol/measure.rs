use serde::{Deserialize, Serialize};

use super::job::Progress;
use crate::{
    speed::{MachineLimits, PointResult, SweepSpec},
    store::{BenchmarkId, BenchmarkRecord, BenchmarkSummary, RunId},
    text::floats,
};

/// Adds a measurement of training steps at the end of the queue, behind the runs that wait; answered by
/// [`super::Event::MeasureQueued`], then as it goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// The id that it gets.
    pub benchmark: BenchmarkId,
    /// What people call it.
    pub name: String,
    /// What is measured.
    pub spec: Box<SweepSpec>,
}

/// Loads one benchmark whole; answered by [`super::Event::Benchmark`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadBenchmark {
    /// The benchmark.
    pub benchmark: BenchmarkId,
}

/// Deletes a benchmark so that it can be brought back, or brings it back; answered by
/// [`super::Event::Benchmarks`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeleteBenchmark {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// Whether it goes or comes back.
    pub deleted: bool,
}

/// A measurement waits for its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasureQueued {
    /// The measurement.
    pub benchmark: BenchmarkId,
    /// Its name.
    pub name: String,
    /// Jobs before it in the queue.
    pub position: usize,
}

/// A measurement goes on, told after every round of steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measuring {
    /// The measurement.
    pub benchmark: BenchmarkId,
    /// The point, from 1.
    pub point: usize,
    /// Points in all.
    pub points: usize,
    /// The point in words: the fields that are swept with their values.
    pub label: String,
    /// Share of the whole measurement that is done, 0..=1.
    #[serde(with = "floats")]
    pub fraction: f64,
}

/// A point was measured, or cannot be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredPoint {
    /// The measurement.
    pub benchmark: BenchmarkId,
    /// The limits of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<MachineLimits>,
    /// What came of the point; none when only the limits came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<Box<PointResult>>,
}

/// A measurement ended; always its last event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasureEnded {
    /// The measurement.
    pub benchmark: BenchmarkId,
    /// Its name.
    pub name: String,
    /// Whether every point was measured.
    pub complete: bool,
    /// Why it could not be carried out, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Answer to [`super::Command::ListBenchmarks`], and after each change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Benchmarks {
    /// All benchmarks, newest first, deleted ones left out.
    pub benchmarks: Vec<BenchmarkSummary>,
}

/// Answer to [`super::Command::LoadBenchmark`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Benchmark {
    /// The benchmark.
    pub record: Box<BenchmarkRecord>,
}

impl Progress for Measuring {
    fn stage(&self) -> String {
        match self.label.as_str() {
            "" => "Measuring the limits of the machine".to_owned(),
            label => format!("Point {} of {}: {label}", self.point, self.points),
        }
    }

    fn share(&self) -> Option<f64> {
        Some(self.fraction)
    }

    fn line(&self) -> Option<String> {
        Some(self.stage())
    }

    fn id(&self) -> Option<&RunId> {
        Some(&self.benchmark)
    }
}
