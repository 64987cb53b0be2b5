//! Curves of stored runs, on which the tests of their differences rest.

use headroom_engine::{
    objective::Metric,
    store::{OutcomeKind, RunId, RunSummary, Store},
};
use serde_json::{Value, json};

use super::{error::CliResult, plain};
use crate::compare::{Basis, Comparison, Course, RunOutcomes, Verdict};

/// A curve over steps.
#[derive(Default)]
pub struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    outcomes: RunOutcomes,
}

impl Curve {
    /// Reads that of a run, with the outcomes of single examples where the series is a mean over them.
    pub fn read(store: &Store, run: &RunId, series: &str) -> CliResult<Self> {
        let data = store.series(run, series, None)?;
        let outcomes = if Metric::find(series).is_some_and(|metric| metric.of_examples.is_some()) {
            read_outcomes(store, run)?
        } else {
            RunOutcomes::default()
        };
        Ok(Self { x: data.steps.into_iter().map(|step| step as f64).collect(), y: data.values, outcomes })
    }

    /// Through these points.
    #[cfg(test)]
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        Self { x: x.to_vec(), y: y.to_vec(), ..Self::default() }
    }

    /// As the curve of a run.
    pub fn course<'a>(&'a self, run: &'a RunSummary, series: &'a str) -> Course<'a> {
        Course { run, series, x: &self.x, y: &self.y, outcomes: Some(&self.outcomes) }
    }
}

/// Noise of the validation sample in the best and the last evaluation of a run.
fn read_outcomes(store: &Store, run: &RunId) -> CliResult<RunOutcomes> {
    let read = |kind: OutcomeKind| store.example_outcomes(run, kind);
    let found = OutcomeKind::ALL.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(RunOutcomes::of(found.iter().flatten()))
}

/// A difference in a cell: `-0.0123 +/-0.0200, unclear`, with the step that it was taken at where a run still trains.
pub fn words(comparison: &Comparison) -> String {
    let Comparison { delta, at_step, .. } = comparison;
    let at = at_step.map(|step| format!(" at {}", plain::count(step))).unwrap_or_default();
    if delta.verdict == Verdict::Same {
        return format!("={at}");
    }
    let half = delta.half_width.map(|half| format!(" +/-{}", plain::number(half))).unwrap_or_default();
    let basis = if half.is_empty() || delta.examples.is_some() { "" } else { " (seeds alone)" };
    let verdict = match delta.verdict.word() {
        "" => String::new(),
        word => format!(", {word}"),
    };
    let spread = delta.within_run.filter(|_| delta.verdict == Verdict::NotTested);
    let spread = spread.map(|sd| format!(", within-run spread {}", plain::number(sd))).unwrap_or_default();
    [plain::delta(delta.absolute), half, at, basis.to_owned(), verdict, spread].concat()
}

/// A difference for scripts.
pub fn as_json(comparison: &Comparison) -> Value {
    let Comparison { delta, at_step, .. } = comparison;
    let verdict = match delta.verdict {
        Verdict::Same => "same",
        Verdict::Neutral => "none",
        Verdict::NotTested => "not_tested",
        verdict => verdict.word(),
    };
    let seeds = delta.basis.seeds();
    json!({
        "difference": delta.absolute, "half_width": delta.half_width, "verdict": verdict, "at_step": at_step,
        "rests_on": match delta.basis {
            Basis::Exact => "exact",
            Basis::Pairs(_) => "pairs",
            Basis::Groups(..) => "groups",
            Basis::Untested(..) => "nothing",
        },
        "pairs": match delta.basis {
            Basis::Pairs(n) => Some(n),
            _ => None,
        },
        "tested": delta.is_tested(),
        "seeds": seeds.map(|(_, own)| own),
        "baseline_seeds": seeds.map(|(base, _)| base),
        "within_run_spread": delta.within_run,
        "evaluation_examples": delta.examples,
    })
}
