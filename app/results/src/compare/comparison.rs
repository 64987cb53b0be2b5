//! A value against the baseline's: the one way from what runs came to to their difference, for the table of the window, the command
//! line, races and advice.

use headroom_engine::store::{Direction, RunState};

use super::{Course, Delta, Reading, Summary, judged_direction, metric_value, why_not_judged};

/// The difference of a value, or of a mean over runs, to the baseline's, and what it is the difference of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The difference, with its interval and verdict.
    pub delta: Delta,
    /// The runs' own values.
    pub own: Summary,
    /// The step that both sides are read at, the last that all reached; none where all trained to their end.
    pub at_step: Option<u64>,
}

impl Comparison {
    /// Comparison of counts, which have no noise; none where one of them is not finite. `write`: a value as it is shown. Where both sides
    /// are written with the same digits, they are [`Verdict::Same`](super::Verdict::Same).
    pub fn exact(own: f64, baseline: f64, direction: Direction, write: impl Fn(f64) -> String) -> Option<Self> {
        let delta = Delta::exact(own, baseline, direction)?.or_same(own, baseline, write);
        Some(Self { delta, own: Summary::of(&[own])?, at_step: None })
    }

    /// Comparison of measured values by the rule of [`Delta::measured`]; none where one side has none. `at_step`: the step that all of
    /// them were read at. `write` as of [`Self::exact`].
    pub fn measured(
        own: &[Reading],
        baseline: &[Reading],
        direction: Direction,
        at_step: Option<u64>,
        write: impl Fn(f64) -> String,
    ) -> Option<Self> {
        let delta = Delta::measured(own, baseline, direction)?;
        let over_runs =
            |readings: &[Reading]| Summary::of(&readings.iter().map(|reading| reading.value).collect::<Vec<_>>());
        let mean = over_runs(baseline)?.mean;
        Some(Self { delta: delta.or_same(mean + delta.absolute, mean, write), own: over_runs(own)?, at_step })
    }

    /// Comparison of the best values of two runs: one run each is not tested. None where one has no value, or did not train to its end:
    /// the best of half a training says nothing against that of a whole one.
    pub fn of_best(own: &Course<'_>, baseline: &Course<'_>) -> Option<Self> {
        if [own, baseline].iter().any(|course| course.run.state != RunState::Finished) {
            return None;
        }
        let direction = judged_direction(own.series, why_not_judged(baseline.run, own.run));
        let write = |value: f64| metric_value(own.series, value);
        Self::measured(&[own.best(None)?], &[baseline.best(None)?], direction, None, write)
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::{RunSummary, series_names};

    use super::*;
    use crate::{compare::Verdict, examples};

    const LOSS: &str = series_names::VALIDATION_LOSS;

    fn run(state: RunState, best: f64) -> RunSummary {
        let mut run = RunSummary { state, ..examples::summary(1, "run") };
        run.metrics.get_mut(LOSS).unwrap().best = Some(best);
        run
    }

    #[test]
    fn best_values_are_told_once_both_runs_are_done_and_one_run_each_is_not_tested() {
        let x: Vec<f64> = (1..=8).map(f64::from).collect();
        let verdict = |own: (RunState, f64), base: RunState| {
            let (one, other) = (run(own.0, own.1), run(base, 0.5));
            let course = |run| Course { run, series: LOSS, x: &x, y: &[1.0; 8], outcomes: None };
            Comparison::of_best(&course(&one), &course(&other)).map(|comparison| comparison.delta.verdict)
        };
        let done = RunState::Finished;
        assert_eq!(verdict((done, 0.4), done), Some(Verdict::NotTested), "however steady both are");
        assert_eq!(verdict((done, 0.500_001), done), Some(Verdict::Same), "both are written 0.5000");
        for early in [RunState::Running, RunState::Queued, RunState::Stopped] {
            assert_eq!(verdict((early, 0.4), done), None, "{early}");
            assert_eq!(verdict((done, 0.4), early), None, "{early}: the one that it is held against");
        }
    }

    #[test]
    fn the_own_side_is_the_mean_of_its_runs_and_the_difference_that_of_the_pairs() {
        let reading = |seed: u64, value: f64| Reading { seed, value, within_run: None, examples: None };
        let (own, base) = ([reading(1, 1.0), reading(2, 2.0), reading(3, 6.0)], [reading(1, 0.5), reading(2, 1.5)]);
        let found = Comparison::measured(&own, &base, Direction::Lower, Some(7), |value| value.to_string()).unwrap();
        assert_eq!((found.own.mean, found.own.n, found.at_step, found.delta.absolute), (3.0, 3, Some(7), 0.5));
        assert_eq!(Comparison::measured(&own, &[], Direction::Lower, None, |value| value.to_string()), None);
    }

    #[test]
    fn counts_that_are_written_alike_are_the_same() {
        let verdict = |own: f64| {
            let found = Comparison::exact(own, 100.0, Direction::Lower, |value| format!("{value:.0}"));
            found.map(|found| found.delta.verdict)
        };
        assert_eq!(verdict(100.2), Some(Verdict::Same));
        assert_eq!(verdict(90.0), Some(Verdict::Better));
        assert_eq!(verdict(f64::NAN), None);
    }
}
