//! What a run's curve comes to where it is held against other runs.

use headroom_engine::store::{RunState, RunSummary, series_names};

use super::{Reading, RunOutcomes, WithinRunSpread};

/// The curve of a metric of one run: as much of it as is loaded.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// The run.
    pub run: &'a RunSummary,
    /// The metric's series.
    pub series: &'a str,
    /// Ascending.
    pub x: &'a [f64],
    /// As many values.
    pub y: &'a [f64],
    /// Outcomes of single examples; none where they are not loaded, or were not recorded.
    pub outcomes: Option<&'a RunOutcomes>,
}

impl Course<'_> {
    /// The value at the highest step, or at the last one at or before `until`, a step.
    pub fn last(&self, until: Option<u64>) -> Option<Reading> {
        match until {
            None => {
                let summary = self.run.metrics.get(self.series)?;
                Some(self.reading(summary.last, self.x.len(), Some(summary.last_step)))
            }
            Some(until) => self.at(until as f64),
        }
    }

    /// The best value, or the best at or before `until`, a step.
    pub fn best(&self, until: Option<u64>) -> Option<Reading> {
        let summary = self.run.metrics.get(self.series)?;
        let is_inside = until.is_none_or(|until| summary.best_step.is_some_and(|step| step <= until));
        if is_inside {
            let reached = until.map_or(self.x.len(), |until| self.reached(until as f64));
            return Some(self.reading(summary.best?, reached, summary.best_step));
        }
        // Before its pairs were chosen it was another model.
        let since = self.run.metrics.get(series_names::COVERAGE_SCORE_ERROR).map(|chosen| chosen.last_step as f64);
        let reached = self.reached(until? as f64);
        let mut best = None;
        for (&x, &y) in self.x.iter().zip(self.y).take(reached) {
            if since.is_none_or(|since| x > since) && summary.direction.improves(y, best.map(|(_, y)| y)) {
                best = Some((x, y));
            }
        }
        let (x, value) = best?;
        Some(self.reading(value, reached, Some(x as u64)))
    }

    /// The value of the last point at or before `x`; none before the first point and beyond the last.
    pub fn at(&self, x: f64) -> Option<Reading> {
        let reached = self.reached(x);
        let place = reached.checked_sub(1)?;
        let (at, value) = (*self.x.get(place)?, *self.y.get(place)?);
        (self.x.last().is_some_and(|&last| x <= last)).then(|| self.reading(value, reached, Some(at as u64)))
    }

    fn reached(&self, x: f64) -> usize {
        self.x.partition_point(|&own| own <= x)
    }

    /// Value of the evaluation after a step, with the points up to `reached`.
    fn reading(&self, value: f64, reached: usize, step: Option<u64>) -> Reading {
        let (x, y) = (self.x.get(..reached).unwrap_or_default(), self.y.get(..reached).unwrap_or_default());
        let examples = self.outcomes.zip(step).and_then(|(known, step)| known.noise(self.series, value, step));
        Reading { seed: self.run.seed, value, within_run: WithinRunSpread::of(x, y), examples }
    }
}

/// The last step of a series that all runs reached, where not all of them trained to their end: what comes after says
/// nothing of those that are not there yet. None where all finished, or one has no such series.
pub fn common_step<'a>(runs: impl Iterator<Item = &'a RunSummary> + Clone, series: &str) -> Option<u64> {
    if runs.clone().all(|run| run.state == RunState::Finished) {
        return None;
    }
    let steps: Option<Vec<u64>> = runs.map(|run| run.metrics.get(series).map(|summary| summary.last_step)).collect();
    steps?.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    const LOSS: &str = series_names::VALIDATION_LOSS;

    fn run(state: RunState, last_step: u64) -> RunSummary {
        let mut run = RunSummary { state, ..examples::summary(1, "run") };
        let metric = run.metrics.get_mut(LOSS).unwrap();
        (metric.last_step, metric.last, metric.best, metric.best_step) = (last_step, 9.0, Some(0.5), Some(last_step));
        run
    }

    #[test]
    fn of_a_finished_run_the_stores_figures_count_and_until_a_step_its_points() {
        let run = run(RunState::Finished, 500);
        let x = [100.0, 200.0, 300.0, 400.0, 500.0];
        let course = Course { run: &run, series: LOSS, x: &x, y: &[5.0, 3.0, 4.0, 2.0, 9.0], outcomes: None };
        let values =
            |until| [course.last(until), course.best(until)].map(|reading| reading.map(|reading| reading.value));
        assert_eq!(values(None), [Some(9.0), Some(0.5)]);
        assert_eq!(values(Some(350)), [Some(4.0), Some(3.0)]);
        assert_eq!(values(Some(50)), [None, None]);
        assert!(course.last(None).unwrap().within_run.is_some());
        assert_eq!(course.last(Some(350)).unwrap().within_run, None, "three points tell nothing");
        assert_eq!(course.at(501.0), None, "it does not reach so far");
    }

    #[test]
    fn the_best_is_that_of_the_model_that_leaves_out_pairs() {
        let mut run = run(RunState::Running, 400);
        let mut chosen = run.metrics[LOSS].clone();
        chosen.last_step = 150;
        run.metrics.insert(series_names::COVERAGE_SCORE_ERROR.to_owned(), chosen);
        let (x, y) = ([100.0, 200.0, 300.0, 400.0], [1.0, 3.0, 2.5, 2.0]);
        let course = Course { run: &run, series: LOSS, x: &x, y: &y, outcomes: None };
        assert_eq!(course.best(Some(300)).unwrap().value, 2.5, "not 1.0: then all pairs were scored");
    }

    #[test]
    fn runs_that_train_are_held_against_each_other_where_all_have_been() {
        let (done, trains) = (run(RunState::Finished, 500), run(RunState::Running, 200));
        assert_eq!(common_step([&done, &done].into_iter(), LOSS), None);
        assert_eq!(common_step([&done, &trains].into_iter(), LOSS), Some(200));
        let mut silent = run(RunState::Queued, 0);
        silent.metrics.clear();
        assert_eq!(common_step([&done, &silent].into_iter(), LOSS), None);
    }
}
