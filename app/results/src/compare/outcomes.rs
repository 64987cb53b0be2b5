use headroom_engine::{
    objective::{ExampleMetric, Metric},
    store::ExampleOutcomes,
};

use super::ExampleNoise;

/// Noise of the validation sample in the evaluations of a run whose single examples were recorded: its best and its last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcomes(Vec<(u64, ExampleMetric, ExampleNoise)>);

impl RunOutcomes {
    /// Evaluations that are asked for.
    pub fn of<'a>(evaluations: impl IntoIterator<Item = &'a ExampleOutcomes>) -> Self {
        let mut found: Vec<(u64, ExampleMetric, ExampleNoise)> = Vec::new();
        for evaluation in evaluations {
            let ExampleOutcomes { step, evaluated_hash, loss, labels, correct } = evaluation;
            if found.iter().any(|(known, ..)| known == step) {
                continue;
            }
            let losses: Vec<f64> = loss.iter().map(|&loss| f64::from(loss)).collect();
            let correct: Vec<f64> = correct.iter().flatten().map(|&correct| f64::from(correct)).collect();
            for (metric, sums) in [
                (ExampleMetric::Loss, &losses),
                (ExampleMetric::ExpOfLoss, &losses),
                (ExampleMetric::Correct, &correct),
            ] {
                let noise = ExampleNoise::of(metric, sums, labels, evaluated_hash);
                found.extend(noise.map(|noise| (*step, metric, noise)));
            }
        }
        Self(found)
    }

    /// Noise of the validation sample of a series that had this value after a step. None where the examples of that evaluation were not
    /// recorded or give another value, and where the series is no mean over examples.
    pub fn noise(&self, series: &str, value: f64, step: u64) -> Option<ExampleNoise> {
        let metric = Metric::find(series)?.of_examples?;
        let (.., noise) = self.0.iter().find(|(at, of, noise)| (*at, *of) == (step, metric) && noise.gives(value))?;
        Some(noise.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_evaluation_is_found_by_its_step_and_its_value() {
        let outcomes = |step: u64, correct: Option<Vec<u32>>| {
            let (loss, labels) = (vec![1.0, 2.0, 3.0], vec![2, 2, 2]);
            ExampleOutcomes { step, evaluated_hash: "text".to_owned(), loss, labels, correct }
        };
        let known = RunOutcomes::of([&outcomes(50, Some(vec![2, 1, 0])), &outcomes(100, None)]);
        let is_known = |series: &str, value: f64, step: u64| known.noise(series, value, step).is_some();
        assert!(is_known("validation/loss", 1.0, 50) && is_known("validation/loss", 1.0, 100));
        let exponential = Metric::of_objectives().find(|metric| metric.of_examples == Some(ExampleMetric::ExpOfLoss));
        assert!(is_known(exponential.unwrap().series, std::f64::consts::E, 50));
        assert!(!is_known("validation/loss", 1.0, 75), "another step");
        assert!(!is_known("validation/loss", 1.5, 50), "another value: of an attempt before");
        assert!(is_known("validation/accuracy", 0.5, 50) && !is_known("validation/accuracy", 0.5, 100));
        assert!(!is_known("validation/f1", 0.5, 50));
    }
}
