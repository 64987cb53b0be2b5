//! The curves of compared runs, and the outcomes of their examples: what tells how much values vary.

use std::collections::HashMap;

use headroom_engine::{objective::Metric, store::RunSummary};

use super::lines::Bundle;
use crate::{
    compare::{Course, RunOutcomes, curve_x},
    plot::{CurveX, Series, XAxis},
    state::State,
};

/// The curves of all compared runs, for one frame: over steps, and over the x of the chart.
#[derive(Default)]
pub struct Courses {
    curves: HashMap<u64, Vec<Curves>>,
    /// Verdict on runs in groups alone: one run is not tested.
    outcomes: HashMap<u64, RunOutcomes>,
}

/// Those of one metric.
struct Curves {
    metric: String,
    over_steps: Series,
    over_x: Series,
}

impl Courses {
    /// Those that are loaded already.
    pub fn of(bundles: &[Bundle], metrics: &[String], x: XAxis, state: &mut State) -> Self {
        let mut found: HashMap<u64, Vec<Curves>> = HashMap::new();
        for run in bundles.iter().flat_map(|bundle| &bundle.runs) {
            for metric in metrics {
                let Some(over_steps) = state.series.curve(&run.id, metric, CurveX::STEP).cloned() else { continue };
                let over_x = curve_x(run, x).and_then(|x| state.series.curve(&run.id, metric, x)).cloned();
                let curves = Curves { metric: metric.clone(), over_steps, over_x: over_x.unwrap_or_default() };
                found.entry(run.number).or_default().push(curves);
            }
        }
        let mut outcomes = HashMap::new();
        if metrics.iter().any(|metric| Metric::find(metric).is_some_and(|metric| metric.of_examples.is_some())) {
            for run in bundles.iter().filter(|bundle| bundle.runs.len() > 1).flat_map(|bundle| &bundle.runs) {
                outcomes.extend(state.run_outcomes(&run.id).map(|found| (run.number, found)));
            }
        }
        Self { curves: found, outcomes }
    }

    /// Over steps; without points while it is not loaded.
    pub fn over_steps<'a>(&'a self, run: &'a RunSummary, series: &'a str) -> Course<'a> {
        let outcomes = self.outcomes.get(&run.number);
        Course { outcomes, ..course(run, series, self.find(run, series).map(|found| &found.over_steps)) }
    }

    /// Over the x of the chart; its points are not known by their steps.
    pub fn over_x<'a>(&'a self, run: &'a RunSummary, series: &'a str) -> Course<'a> {
        course(run, series, self.find(run, series).map(|found| &found.over_x))
    }

    fn find(&self, run: &RunSummary, series: &str) -> Option<&Curves> {
        self.curves.get(&run.number)?.iter().find(|found| found.metric == series)
    }
}

fn course<'a>(run: &'a RunSummary, series: &'a str, curve: Option<&'a Series>) -> Course<'a> {
    let (x, y) = curve.map_or((&[][..], &[][..]), |curve| (curve.x(), curve.y()));
    Course { run, series, x, y, outcomes: None }
}
