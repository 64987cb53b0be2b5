use super::TrainError;
use crate::{
    model::Model,
    objective::{Batch, Measurements, Objective, Sums},
};

/// What an evaluation counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Mean loss, nats per labelled token; every labelled token counts the same.
    pub loss: f64,
    /// The objective's other metrics.
    pub metrics: Measurements,
    /// Labelled tokens.
    pub tokens: u64,
    /// How often each class was predicted where each is right, where examples are classified.
    pub class_counts: Option<Vec<Vec<u64>>>,
    /// Questions, and how many of them have an answer, where questions are answered.
    pub questions: Option<[u64; 2]>,
}

/// Measures a model with frozen weights on batches of its objective; `None` when `should_stop` cut it short.
pub fn evaluate(
    model: &Model,
    objective: &Objective,
    batches: impl Iterator<Item = Batch>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Found>, TrainError> {
    let task = objective.task();
    let mut sums = Sums::default();
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        sums.add(&task.evaluate(model, &batch)?);
    }
    let others = task.metrics_of(&sums).split_first().map_or(&[][..], |(_, others)| others);
    Ok(Some(Found {
        loss: sums.mean_loss(),
        metrics: Measurements::of(others, &sums),
        tokens: sums.labelled,
        class_counts: task.class_counts(&sums),
        questions: sums.guesses.counts(),
    }))
}
