//! How the entrants of a race or sweep stand: their seeds put together, each figure against the first.

use std::collections::BTreeMap;

use headroom_engine::{
    objective::{Metric, judging_metrics},
    store::{Direction, RunRecord, series_names},
};
use serde_json::Value as Json;

use super::{
    Comparison, Group, NotJudged, Reading, Summary, flatten, group_all_but, is_finished, judged_direction,
    name_of_seeds, task_of, why_not_judged,
};
use crate::format;

/// A figure that entrants are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// The lowest held-out loss, nats per predicted token.
    BestLoss,
    /// The held-out loss at the end.
    LastLoss,
    /// The best value of a metric of the runs' task, by its series.
    Metric(&'static str),
    /// Trained parameters.
    Parameters,
    /// FLOPs of an optimiser step by the cost model.
    FlopsPerStep,
    /// Optimiser steps a second of training.
    StepsPerSec,
    /// The most memory that the program held, bytes.
    PeakMemory,
}

impl Figure {
    /// Those of any run, in the order of the table.
    const ALL: [Self; 6] =
        [Self::BestLoss, Self::LastLoss, Self::Parameters, Self::FlopsPerStep, Self::StepsPerSec, Self::PeakMemory];

    /// The figures of these runs in the order of the table: those of any run, with the metrics of their task behind the losses, whether an
    /// evaluation has found them yet or not.
    pub fn of_runs(runs: &[RunRecord]) -> Vec<Self> {
        let has_task = runs.first().is_some_and(|run| task_of(&run.config).is_some());
        let is_there = |metric: &&Metric| runs.iter().any(|run| run.summary.metrics.contains_key(metric.series));
        let config = runs.first().and_then(|run| run.json_config().ok());
        let known = config.as_ref().map(judging_metrics).unwrap_or_default();
        let is_known = |metric: &&Metric| is_there(metric) || known.iter().any(|own| own.series == metric.series);
        let own = Metric::of_evaluations().filter(|_| has_task).filter(is_known);
        let (losses, others) = Self::ALL.split_at(2);
        let metrics = own.map(|metric| Self::Metric(metric.series));
        losses.iter().copied().chain(metrics).chain(others.iter().copied()).collect()
    }

    /// What it is called in a table for people.
    pub fn title(self) -> String {
        match self {
            Self::BestLoss => "best validation loss".to_owned(),
            Self::LastLoss => "last validation loss".to_owned(),
            Self::Metric(series) => {
                let title = Metric::find(series).map_or(series, |metric| metric.title);
                format!("best {title}")
            }
            Self::Parameters => "parameters".to_owned(),
            Self::FlopsPerStep => "FLOPs/step".to_owned(),
            Self::StepsPerSec => "steps/s".to_owned(),
            Self::PeakMemory => "peak memory".to_owned(),
        }
    }

    /// The series that it is taken from, where it is one of an evaluation.
    pub fn series(self) -> Option<&'static str> {
        match self {
            Self::BestLoss | Self::LastLoss => Some(series_names::VALIDATION_LOSS),
            Self::Metric(series) => Some(series),
            Self::Parameters | Self::FlopsPerStep | Self::StepsPerSec | Self::PeakMemory => None,
        }
    }

    /// The name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::BestLoss => "best_validation_loss",
            Self::LastLoss => "last_validation_loss",
            Self::Metric(series) => series,
            Self::Parameters => "parameters",
            Self::FlopsPerStep => "flops_per_step",
            Self::StepsPerSec => "steps_per_sec",
            Self::PeakMemory => "peak_memory_bytes",
        }
    }

    /// A value of it as tables write it.
    pub fn written(self, value: f64) -> String {
        match self {
            Self::BestLoss | Self::LastLoss | Self::Metric(_) => format::number(value),
            Self::Parameters => format::count(value.round() as u64),
            Self::FlopsPerStep => format::flops(value),
            Self::StepsPerSec => format::significant(value, 3),
            Self::PeakMemory => format::bytes(value.max(0.0) as u64),
        }
    }

    /// Whether it is counted rather than measured.
    fn is_exact(self) -> bool {
        matches!(self, Self::Parameters | Self::FlopsPerStep)
    }

    /// Direction of better values between entrants, `not_judged` for a reason or judged: those of memory may be of whatever
    /// else the program held, and speed depends on what else the machine did.
    fn direction(self, not_judged: Option<NotJudged>) -> Direction {
        self.series().map_or(Direction::None, |series| judged_direction(series, not_judged))
    }

    /// The figure of one run.
    pub fn of(self, run: &RunRecord) -> Option<f64> {
        let run = &run.summary;
        let loss = || run.metrics.get(series_names::VALIDATION_LOSS);
        match self {
            Self::BestLoss => loss()?.best,
            Self::LastLoss => Some(loss()?.last),
            Self::Metric(series) => run.metrics.get(series)?.best,
            Self::Parameters => run.parameters.map(|count| count as f64),
            Self::FlopsPerStep => run.flops_per_step.map(|count| count as f64),
            Self::StepsPerSec => (run.train_secs > 0.0).then(|| run.steps_done as f64 / run.train_secs),
            Self::PeakMemory => run.metrics.get(series_names::SYSTEM_PEAK_MEMORY_BYTES).map(|peak| peak.last),
        }
    }
}

/// A figure of one entrant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Over its finished runs.
    pub summary: Summary,
    /// Against the first entrant, seed by seed where seeds repeat; none for that itself.
    pub against: Option<Comparison>,
}

impl Value {
    /// The difference to the first.
    pub fn delta(&self) -> Option<f64> {
        self.against.map(|against| against.delta.absolute)
    }

    /// The same as a share of the first.
    pub fn relative(&self) -> Option<f64> {
        self.against.and_then(|against| against.delta.relative)
    }
}

/// One entrant with all its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What its runs are called, without what all of them share.
    pub name: String,
    /// Its runs, as indices of what was given.
    pub runs: Vec<usize>,
    /// How many of them trained to their end: only these count.
    pub finished: usize,
    /// Its figures.
    pub values: BTreeMap<Figure, Value>,
    /// Why its losses say nothing against the first's.
    pub not_judged: Option<NotJudged>,
}

impl Standing {
    /// Seeds of the first and of this one, where one of them has a single seed so that no difference was tested.
    pub fn untested(&self) -> Option<(usize, usize)> {
        let mut all = self.values.values().filter_map(|value| value.against);
        all.find(|against| !against.delta.is_tested()).and_then(|against| against.delta.basis.seeds())
    }
}

/// Each of them once: a run that was repeated with its seed gives the same value.
fn once(readings: Vec<Reading>) -> Vec<Reading> {
    let mut known: Vec<Reading> = Vec::with_capacity(readings.len());
    for reading in readings {
        let is_same = |other: &Reading| other.seed == reading.seed && other.value.to_bits() == reading.value.to_bits();
        if !known.iter().any(is_same) {
            known.push(reading);
        }
    }
    known
}

/// Puts runs together that differ in nothing but the seed, in the order of their first; the first is what the others are
/// measured against. `reading` adds to the figure of a run, by the run's place in `runs`, what is known of its noise.
pub fn standings(runs: &[RunRecord], reading: &dyn Fn(usize, Figure, Reading) -> Reading) -> Vec<Standing> {
    let figures = Figure::of_runs(runs);
    let flat: Vec<BTreeMap<String, Json>> = runs.iter().map(|run| flatten(&run.config)).collect();
    let groups = group_all_but(&flat.iter().collect::<Vec<_>>(), "seed");
    let name = |group: &Group| {
        let run = &runs.get(*group.members.first()?)?.summary;
        Some(if group.members.len() > 1 { name_of_seeds(run) } else { run.name.clone() })
    };
    let first_names: Vec<String> = groups.iter().filter_map(name).collect();
    let first_names: Vec<&str> = first_names.iter().map(String::as_str).collect();
    let shared = shared_prefix(&first_names);
    let finished = |members: &[usize]| -> Vec<usize> {
        let counts = |&index: &usize| runs.get(index).is_some_and(|run| is_finished(run.summary.state));
        members.iter().copied().filter(counts).collect()
    };
    let readings = |members: &[usize], figure: Figure| -> Vec<Reading> {
        let of_run = |&index: &usize| {
            let run = runs.get(index)?;
            let plain = Reading { seed: run.summary.seed, value: figure.of(run)?, within_run: None, examples: None };
            Some(reading(index, figure, plain))
        };
        once(members.iter().filter_map(of_run).collect())
    };
    let first = groups.first().map(|group| group.members.as_slice()).unwrap_or_default();
    let mut all: Vec<Standing> = Vec::with_capacity(groups.len());
    for (group, name) in groups.iter().zip(&first_names) {
        let counted = finished(&group.members);
        let base = first.first().and_then(|&index| runs.get(index));
        let not_judged = base.and_then(|base| {
            group.members.iter().find_map(|&index| why_not_judged(&base.summary, &runs.get(index)?.summary))
        });
        let value = |figure: Figure| {
            let own = readings(&counted, figure);
            let summary = Summary::of(&own.iter().map(|reading| reading.value).collect::<Vec<f64>>())?;
            let against = || {
                let base = readings(&finished(first), figure);
                let (direction, write) = (figure.direction(not_judged), |value| figure.written(value));
                if figure.is_exact() {
                    return Comparison::exact(own.first()?.value, base.first()?.value, direction, write);
                }
                Comparison::measured(&own, &base, direction, None, write)
            };
            let against = if all.is_empty() { None } else { against() };
            Some((figure, Value { summary, against }))
        };
        let values = figures.iter().copied().filter_map(value).collect();
        all.push(Standing {
            name: name.strip_prefix(shared).unwrap_or(name).to_owned(),
            runs: group.members.clone(),
            finished: counted.len(),
            values,
            not_judged,
        });
    }
    all
}

/// The beginning up to a `: ` that all names share.
fn shared_prefix<'a>(names: &[&'a str]) -> &'a str {
    let Some((first, rest)) = names.split_first() else { return "" };
    let mut ends = first.rmatch_indices(": ").map(|(at, colon)| at + colon.len());
    let shared = ends.find_map(|end| {
        let prefix = first.get(..end)?;
        rest.iter().all(|name| name.starts_with(prefix)).then_some(prefix)
    });
    if rest.is_empty() { "" } else { shared.unwrap_or("") }
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::{RunState, SeriesSummary};

    use super::*;
    use crate::{
        compare::{Basis, Verdict},
        examples,
    };

    fn run(number: u64, name: &str, seed: u64, layers: u64, loss: f64, state: RunState) -> RunRecord {
        let mut record = examples::record(number, name);
        record.config["seed"] = seed.into();
        record.summary.seed = seed;
        record.config["model"]["layers"] = layers.into();
        let metric = record.summary.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap();
        (metric.best, metric.last) = (Some(loss), loss + 1.0);
        record.summary.state = state;
        (record.summary.parameters, record.summary.steps_done, record.summary.train_secs) =
            (Some(layers * 10), 50, 5.0);
        record
    }

    #[test]
    fn metrics_of_a_task_stand_behind_the_losses_and_are_better_where_they_are_higher() {
        const ACCURACY: &str = "validation/accuracy";
        let judged = |number: u64, name: &str, seed: u64, layers: u64, accuracy: f64| {
            let mut record = run(number, name, seed, layers, 1.0, RunState::Finished);
            let metric = record.summary.metrics[series_names::VALIDATION_LOSS].clone();
            record
                .summary
                .metrics
                .insert(ACCURACY.to_owned(), SeriesSummary { best: Some(accuracy), last: accuracy, ..metric });
            record
        };
        let mut runs = vec![
            judged(1, "race: standard", 1, 4, 0.70),
            judged(2, "race: wide", 1, 8, 0.80),
            judged(3, "race: standard", 2, 4, 0.71),
            judged(4, "race: wide", 2, 8, 0.815),
        ];
        assert!(!Figure::of_runs(&runs).contains(&Figure::Metric(ACCURACY)), "no task");
        for run in &mut runs {
            run.config["task"] = serde_json::json!({ "kind": "classification" });
        }
        assert_eq!(Figure::of_runs(&runs)[2], Figure::Metric(ACCURACY));
        let all = standings(&runs, &|_, _, reading| reading);
        let against = all[1].values[&Figure::Metric(ACCURACY)].against.unwrap().delta;
        assert!((against.absolute - 0.1025).abs() < 1e-12 && against.verdict == Verdict::Better, "{against:?}");
        assert_eq!(Figure::Metric(ACCURACY).title(), "best Accuracy");
    }

    #[test]
    fn scores_of_translations_stand_behind_the_losses_too() {
        const BLEU: &str = "translation/bleu";
        let runs = [(1, 1, 4, 20.0), (2, 2, 4, 21.0), (3, 1, 8, 30.0), (4, 2, 8, 31.1)];
        let mut runs = runs.map(|(number, seed, layers, bleu)| {
            let mut record = run(number, "race: any", seed, layers, 1.0, RunState::Finished);
            record.config["task"] = serde_json::json!({ "kind": "translation" });
            let metric = record.summary.metrics[series_names::VALIDATION_LOSS].clone();
            let scored = SeriesSummary { best: Some(bleu), last: bleu, direction: Direction::Higher, ..metric };
            record.summary.metrics.insert(BLEU.to_owned(), scored);
            record
        });
        assert_eq!(Figure::of_runs(&runs)[2], Figure::Metric(BLEU));
        assert!(!Figure::of_runs(&runs).contains(&Figure::Metric("translation/chrf")), "no run has it");
        let against =
            standings(&runs, &|_, _, reading| reading)[1].values[&Figure::Metric(BLEU)].against.unwrap().delta;
        assert!((against.absolute - 10.05).abs() < 1e-9 && against.verdict == Verdict::Better, "higher is better");
        assert_eq!(against.examples, None, "no mean over examples");
        let alone = standings(&[runs[0].clone(), runs[2].clone()], &|_, _, reading| reading);
        let against = alone[1].values[&Figure::Metric(BLEU)].against.unwrap().delta;
        assert_eq!((against.absolute, against.verdict), (10.0, Verdict::NotTested), "one seed each");
        assert_eq!((alone[0].untested(), alone[1].untested()), (None, Some((1, 1))));
        assert_eq!(Figure::Metric(BLEU).title(), "best BLEU");
        runs[0].config["task"] = Json::Null;
        assert!(!Figure::of_runs(&runs).contains(&Figure::Metric(BLEU)), "no task, no metrics of one");
    }

    #[test]
    fn figures_that_are_written_alike_are_no_difference() {
        let done = RunState::Finished;
        let runs = [
            run(1, "race: standard", 1, 4, 2.0, done),
            run(2, "race: standard", 2, 4, 4.0, done),
            run(3, "race: wide", 1, 8, 2.000_001, done),
            run(4, "race: wide", 2, 8, 4.000_001, done),
        ];
        let wide = &standings(&runs, &|_, _, reading| reading)[1];
        let verdict = |figure: Figure| wide.values[&figure].against.unwrap().delta.verdict;
        assert_eq!(verdict(Figure::BestLoss), Verdict::Same, "both are 3.000 in the table");
        assert_eq!(verdict(Figure::StepsPerSec), Verdict::Same);
        assert_eq!(verdict(Figure::Parameters), Verdict::Neutral, "80 is not 40");
    }

    #[test]
    fn steps_per_second_of_runs_are_told_and_not_judged() {
        let fast = |number: u64, name: &str, seed: u64, secs: f64| {
            let layers = if secs < 5.0 { 2 } else { 4 };
            let mut record = run(number, name, seed, layers, 2.0, RunState::Finished);
            record.summary.train_secs = secs;
            record
        };
        let runs = [
            fast(1, "race: standard", 1, 10.0),
            fast(2, "race: standard", 2, 10.1),
            fast(3, "race: quick", 1, 1.0),
            fast(4, "race: quick", 2, 1.01),
        ];
        let against = standings(&runs, &|_, _, reading| reading)[1].values[&Figure::StepsPerSec].against.unwrap().delta;
        assert!(against.relative.is_some_and(|relative| relative > 8.0), "{against:?}");
        assert_eq!(against.verdict, Verdict::Neutral, "what else ran meanwhile is not known");
    }

    #[test]
    fn seeds_are_put_together_and_measured_against_the_first() {
        let done = RunState::Finished;
        let runs = [
            run(1, "race: standard", 1, 4, 2.0, done),
            run(2, "race: wide", 1, 8, 1.5, done),
            run(3, "race: standard", 2, 4, 4.0, done),
            run(4, "race: wide", 2, 8, 0.1, RunState::Diverged),
        ];
        let all = standings(&runs, &|_, _, reading| reading);
        let names: Vec<_> = all.iter().map(|standing| (standing.name.as_str(), standing.finished)).collect();
        assert_eq!(names, [("standard", 2), ("wide", 1)], "a run that diverged does not count");
        let base = all[0].values[&Figure::BestLoss];
        assert_eq!((base.summary.mean, base.summary.sd, base.against), (3.0, 2.0_f64.sqrt(), None));
        let wide = &all[1].values;
        assert_eq!((wide[&Figure::BestLoss].delta(), wide[&Figure::LastLoss].delta()), (Some(-1.5), Some(-1.5)));
        assert_eq!(wide[&Figure::Parameters].relative(), Some(1.0));
        let against = wide[&Figure::BestLoss].against.unwrap().delta;
        assert_eq!(
            (against.basis, against.verdict),
            (Basis::Untested(2, 1), Verdict::NotTested),
            "one seed against two"
        );
        assert_eq!(all[1].untested(), Some((2, 1)));
        assert_eq!(wide[&Figure::StepsPerSec].summary.mean, 10.0);
        assert!(!wide.contains_key(&Figure::PeakMemory), "no reading");
        assert_eq!(all[1].runs, [1, 3]);
    }

    #[test]
    fn the_same_seeds_are_pairs() {
        let done = RunState::Finished;
        let runs = [
            run(1, "race: standard", 1, 4, 2.0, done),
            run(2, "race: standard", 2, 4, 4.0, done),
            run(3, "race: wide", 1, 8, 1.5, done),
            run(4, "race: wide", 2, 8, 3.49, done),
        ];
        let against = standings(&runs, &|_, _, reading| reading)[1].values[&Figure::BestLoss].against.unwrap().delta;
        assert_eq!((against.basis, against.verdict), (Basis::Pairs(2), Verdict::Better));
        assert!((against.absolute + 0.505).abs() < 1e-12);
    }

    #[test]
    fn names_lose_what_all_of_them_share() {
        assert_eq!(shared_prefix(&["a: b: c", "a: b: d"]), "a: b: ");
        assert_eq!(shared_prefix(&["a: b: c", "a: e"]), "a: ");
        assert_eq!(shared_prefix(&["a: b"]), "");
        assert_eq!(shared_prefix(&["a", "b"]), "");
    }
}
