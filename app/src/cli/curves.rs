//! Curves of stored runs, by which the differences of runs are judged.

use headroom_engine::store::{RunId, RunSummary, Store};
use serde_json::{Value, json};

use super::{error::CliResult, plain};
use crate::compare::{Basis, Course, Delta, Noise, Verdict};

/// A curve over steps.
#[derive(Default)]
pub struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Curve {
    /// Reads that of a run.
    pub fn read(store: &Store, run: &RunId, series: &str) -> CliResult<Self> {
        let data = store.series(run, series, None)?;
        Ok(Self { x: data.steps.into_iter().map(|step| step as f64).collect(), y: data.values })
    }

    /// Through these points.
    #[cfg(test)]
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        Self { x: x.to_vec(), y: y.to_vec() }
    }

    /// How far its last values lie from their own course.
    pub fn noise(&self) -> Option<Noise> {
        Noise::of(&self.x, &self.y)
    }

    /// As the curve of a run.
    pub fn course<'a>(&'a self, run: &'a RunSummary, series: &'a str) -> Course<'a> {
        Course { run, series, x: &self.x, y: &self.y }
    }
}

/// A judged difference in a cell: `-0.0123 +/-0.0200, unclear`, with the step that it was taken at where a run still trains.
pub fn words(delta: &Delta, until: Option<u64>) -> String {
    let at = until.map(|step| format!(" at {}", plain::count(step))).unwrap_or_default();
    if delta.verdict == Verdict::Same {
        return format!("={at}");
    }
    let half = delta.half_width.map(|half| format!(" +/-{}", plain::number(half))).unwrap_or_default();
    let verdict = match delta.verdict.word() {
        "" => String::new(),
        word => format!(", {word}"),
    };
    [plain::delta(delta.absolute), half, at, verdict].concat()
}

/// A judged difference for scripts.
pub fn as_json(delta: &Delta, until: Option<u64>) -> Value {
    let verdict = match delta.verdict {
        Verdict::Same => "same",
        Verdict::Neutral => "none",
        verdict => verdict.word(),
    };
    json!({
        "difference": delta.absolute, "half_width": delta.half_width, "verdict": verdict, "at_step": until,
        "rests_on": match delta.basis {
            Basis::Exact => "exact",
            Basis::Pairs(_) => "pairs",
            Basis::Groups(..) => "groups",
            Basis::OneOf(_) => "one_of_several",
            Basis::Evaluations => "evaluations",
            Basis::Nothing => "nothing",
        },
        "pairs": match delta.basis {
            Basis::Pairs(n) => Some(n),
            _ => None,
        },
    })
}
