use candle_core::Device;

use super::{TrainError, look};
use crate::{
    config::Architecture,
    data::Batch,
    model::{Evaluation, Model},
};

/// What an evaluation counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Mean loss, nats per labelled token; every labelled token counts the same.
    pub loss: f64,
    /// Share of labelled tokens guessed right, 0..=1 (encoder).
    pub masked_accuracy: Option<f64>,
    /// Labelled tokens.
    pub tokens: u64,
}

/// Measures a model with frozen weights on batches; `None` when `should_stop` cut it short.
pub fn evaluate(
    model: &Model,
    batches: impl Iterator<Item = Batch>,
    device: &Device,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Found>, TrainError> {
    let mut sum = Evaluation::default();
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        sum.add(model.evaluate(&look::input(&batch, device)?, &batch.labels)?);
    }
    let is_encoder = model.plan().architecture == Architecture::Encoder;
    Ok(Some(Found {
        loss: sum.loss(),
        masked_accuracy: is_encoder.then(|| sum.accuracy()),
        tokens: sum.labelled as u64,
    }))
}
