use candle_core::Device;

use super::{TrainError, look};
use crate::{
    config::Architecture,
    data::{Batch, metrics},
    model::{ForwardOptions, Model},
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
    architecture: Architecture,
    batches: impl Iterator<Item = Batch>,
    device: &Device,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Found>, TrainError> {
    let mut mean = metrics::TokenMean::new();
    let mut right = 0.0;
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        let targets = batch.targets();
        if targets == 0 {
            continue;
        }
        let input = look::input(&batch, device)?;
        let labels = look::labels(&batch, device)?;
        let options = ForwardOptions::default();
        let (loss, predictions) = match architecture {
            Architecture::Decoder => (model.loss(&input, &labels, &options)?, None),
            Architecture::Encoder => {
                let (loss, predictions) = model.loss_and_predictions(&input, &labels, &options)?;
                (loss, Some(predictions))
            }
        };
        mean.add(loss.to_dtype(candle_core::DType::F64)?.to_scalar::<f64>()?, targets);
        if let Some(predictions) = predictions {
            let labelled: Vec<i64> = batch.labels.iter().copied().filter(|label| *label >= 0).collect();
            right += metrics::masked_accuracy(&predictions, &labelled).0 * targets as f64;
        }
    }
    Ok(Some(Found {
        loss: mean.mean().unwrap_or(f64::NAN),
        masked_accuracy: (architecture == Architecture::Encoder).then(|| right / mean.tokens() as f64),
        tokens: mean.tokens(),
    }))
}
