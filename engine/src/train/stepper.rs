use std::time::Instant;

use candle_core::{DType, Device};

use super::{Divergence, TrainError, look};
use crate::{
    attention::ModelPlan,
    config::TrainConfig,
    data::Batch,
    model::{ForwardOptions, Model, ModelInput, NonFinite, ParameterSet},
    ops::{AdamW, AdamWConfig},
};

/// A model with its optimiser: forward, backward, clipping and update, from batches that it is given.
pub struct Stepper {
    model: Model,
    frozen: Model,
    optimiser: AdamW,
    device: Device,
    clip_norm: f64,
    dropout: f64,
    seed: u64,
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// Mean loss over the batches, nats per labelled token.
    pub loss: f64,
    /// Global gradient norm before clipping.
    pub grad_norm: f64,
    /// Tokens that were read.
    pub tokens: u64,
    /// Time of batches and forward passes. The head's gradients are computed with its loss and count here.
    pub forward_secs: f64,
    /// Time of backward passes.
    pub backward_secs: f64,
    /// Time of norm, clipping and update.
    pub optimiser_secs: f64,
}

impl Stepped {
    /// Time of the whole step.
    pub fn step_secs(&self) -> f64 {
        self.forward_secs + self.backward_secs + self.optimiser_secs
    }
}

impl Stepper {
    /// A fresh optimiser around `parameters`.
    pub fn new(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        train: &TrainConfig,
        seed: u64,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let config = AdamWConfig {
            beta1: train.beta1,
            beta2: train.beta2,
            epsilon: train.epsilon,
            weight_decay: train.weight_decay,
        };
        Ok(Self {
            model: Model::trainable(plan, parameters)?,
            frozen: Model::frozen(plan, parameters)?,
            optimiser: AdamW::new(parameters.optimiser_parameters(), config)?,
            device: device.clone(),
            clip_norm: train.clip_norm,
            dropout: plan.dropout,
            seed,
        })
    }

    /// One optimiser step, number `step` from 0, on `accumulation` batches. `batch` is asked for each by its number
    /// among all batches of the run. The inner error is a loss or gradient that is not finite; weights are then
    /// unchanged.
    pub fn step(
        &mut self,
        step: u64,
        accumulation: u64,
        learning_rate: f64,
        batch: impl Fn(u64) -> Batch,
    ) -> Result<Result<Stepped, Divergence>, TrainError> {
        let gradients = self.model.gradients().ok_or_else(|| TrainError::State("the model is frozen".to_owned()))?;
        gradients.reset();
        let (mut loss_sum, mut tokens) = (0.0, 0);
        let (mut forward_secs, mut backward_secs) = (0.0, 0.0);
        for micro in 0..accumulation {
            let micro_step = step * accumulation + micro;
            let start = Instant::now();
            let batch = batch(micro_step);
            tokens += batch.input_ids.len() as u64;
            let input = look::input(&batch, &self.device)?;
            let dropout = (self.dropout > 0.0).then_some((self.seed, micro_step));
            let options = ForwardOptions { dropout, ..ForwardOptions::default() };
            let loss = self.model.loss(&input, &batch.labels, &options)?;
            let value = loss.loss.to_dtype(DType::F64)?.to_scalar::<f64>()?;
            if !value.is_finite() {
                return Ok(Err(self.diagnose(&input, dropout, step + 1)?));
            }
            loss_sum += value;
            forward_secs += start.elapsed().as_secs_f64();
            let start = Instant::now();
            self.model.backward(&loss)?;
            drop(loss);
            backward_secs += start.elapsed().as_secs_f64();
        }
        let start = Instant::now();
        gradients.scale(1.0 / accumulation as f64);
        let grad_norm = gradients.global_norm()?;
        if !grad_norm.is_finite() {
            let name = gradients.first_non_finite()?.unwrap_or_else(|| "the gradient norm".to_owned());
            let layer = layer_of(&name);
            let place = match layer {
                Some(layer) => format!("the gradient of layer {layer} ({name})"),
                None => format!("the gradient of {name}"),
            };
            return Ok(Err(Divergence { step: step + 1, place, layer }));
        }
        if self.clip_norm > 0.0 && grad_norm > self.clip_norm {
            gradients.scale(self.clip_norm / grad_norm);
        }
        self.optimiser.step(gradients, learning_rate)?;
        Ok(Ok(Stepped {
            loss: loss_sum / accumulation as f64,
            grad_norm,
            tokens,
            forward_secs,
            backward_secs,
            optimiser_secs: start.elapsed().as_secs_f64(),
        }))
    }

    /// Finds the first place where the forward pass is not finite.
    fn diagnose(&self, input: &ModelInput, dropout: Option<(u64, u64)>, step: u64) -> Result<Divergence, TrainError> {
        let (place, layer) = match self.frozen.first_non_finite(input, dropout)? {
            Some(NonFinite::Embeddings) => ("the embeddings".to_owned(), None),
            Some(NonFinite::Layer { layer, head: Some(head) }) => {
                (format!("head {} of layer {}", head + 1, layer + 1), Some(layer + 1))
            }
            Some(NonFinite::Layer { layer, head: None }) => (format!("layer {}", layer + 1), Some(layer + 1)),
            Some(NonFinite::Logits) => ("the logits".to_owned(), None),
            None => ("the loss".to_owned(), None),
        };
        Ok(Divergence { step, place, layer })
    }

    /// The weights without a graph, for evaluation.
    pub fn frozen(&self) -> &Model {
        &self.frozen
    }

    /// The optimiser.
    pub fn optimiser(&self) -> &AdamW {
        &self.optimiser
    }

    /// The optimiser, to give it a saved state.
    pub fn optimiser_mut(&mut self) -> &mut AdamW {
        &mut self.optimiser
    }
}

/// The layer, from 1, that a parameter belongs to: the number in its Hugging Face name.
fn layer_of(name: &str) -> Option<usize> {
    name.split('.').find_map(|part| part.parse::<usize>().ok()).map(|layer| layer + 1)
}
