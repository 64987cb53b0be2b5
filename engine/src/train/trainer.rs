use std::{collections::BTreeMap, time::Instant};

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Divergence, EvaluationReport, StepReport, TrainError, error::first_line, evaluate::evaluate, look};
use crate::{
    attention::ModelPlan,
    config::{DEFAULT_STEPS, Precision, RunConfig},
    data::{Batcher, Corpus, metrics},
    model::{ForwardOptions, Model, ModelInput, NonFinite, ParameterSet},
    ops::{AdamW, AdamWConfig, Gradients, Parameter},
};

/// How far a run has come: with parameters and moments, all that a continued run needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Optimiser steps done.
    pub step: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// Time spent in steps, pauses and evaluations left out.
    pub train_secs: f64,
    /// Lowest validation loss so far.
    pub best_validation_loss: Option<f64>,
    /// Its step.
    pub best_step: Option<u64>,
    /// The evaluation and the probe after this step have not been done yet.
    pub is_look_due: bool,
}

/// A state to go on from.
pub struct Resume {
    /// Weights.
    pub parameters: ParameterSet,
    /// The optimiser's state, by [`AdamW::state`]'s names.
    pub moments: BTreeMap<String, Tensor>,
    /// How far the run had come.
    pub progress: Progress,
}

/// Model, optimiser and batches of a run; does single steps.
pub struct Trainer {
    config: RunConfig,
    plan: ModelPlan,
    corpus: Corpus,
    batcher: Batcher,
    parameters: ParameterSet,
    model: Model,
    frozen: Model,
    optimiser: AdamW,
    variables: Vec<Parameter>,
    device: Device,
    progress: Progress,
    steps: u64,
    probe: look::Probe,
}

/// The element type of a precision.
pub fn dtype_of(precision: Precision) -> DType {
    match precision {
        Precision::F32 => DType::F32,
        Precision::F64 => DType::F64,
    }
}

/// Optimiser steps of a run: as written, or as many as the passes over the text take (rounded up).
pub fn steps_of(config: &RunConfig, batches_per_epoch: u64) -> u64 {
    let train = &config.train;
    match (train.steps, train.epochs) {
        (Some(steps), _) => steps,
        (None, Some(epochs)) => {
            let micro_steps = epochs * batches_per_epoch as f64;
            ((micro_steps / train.accumulation as f64).ceil() as u64).max(1)
        }
        (None, None) => DEFAULT_STEPS,
    }
}

impl Trainer {
    /// Builds everything for a checked plan whose vocabulary is the corpus's.
    pub fn new(
        config: RunConfig,
        plan: ModelPlan,
        corpus: Corpus,
        device: &Device,
        resume: Option<Resume>,
    ) -> Result<Self, TrainError> {
        let train = &config.train;
        let batcher = Batcher::new(&corpus, train.batch, config.data.sequence_length, config.seed)?
            .with_mask_fraction(train.mask_fraction);
        let dtype = dtype_of(config.precision);
        let (parameters, moments, progress) = match resume {
            Some(resume) => (resume.parameters, Some(resume.moments), resume.progress),
            None => (ParameterSet::init(&plan, config.seed, dtype, device)?, None, Progress::default()),
        };
        let variables = parameters.optimiser_parameters();
        let mut optimiser = AdamW::new(
            variables.clone(),
            AdamWConfig {
                beta1: train.beta1,
                beta2: train.beta2,
                epsilon: train.epsilon,
                weight_decay: train.weight_decay,
            },
        )?;
        if let Some(moments) = moments {
            optimiser.load_state(&moments).map_err(|error| TrainError::State(first_line(&error)))?;
        }
        let model = Model::trainable(&plan, &parameters)?;
        let frozen = Model::frozen(&plan, &parameters)?;
        let steps = steps_of(&config, batcher.steps_per_epoch());
        let probe = look::Probe::new(&config, &batcher);
        let device = device.clone();
        Ok(Self {
            config,
            plan,
            corpus,
            batcher,
            parameters,
            model,
            frozen,
            optimiser,
            variables,
            device,
            progress,
            steps,
            probe,
        })
    }

    /// One optimiser step. The inner error is a loss or gradient that is not finite; weights are then unchanged.
    pub fn step(&mut self) -> Result<Result<StepReport, Divergence>, TrainError> {
        let start = Instant::now();
        let train = &self.config.train;
        let accumulation = train.accumulation as u64;
        let step = self.progress.step;
        let mut sum: Option<Gradients> = None;
        let mut loss_sum = 0.0;
        let mut tokens = 0;
        let (mut forward_secs, mut backward_secs) = (0.0, 0.0);
        for micro in 0..accumulation {
            let micro_step = step * accumulation + micro;
            let forward_start = Instant::now();
            let batch = self.batcher.train_batch(micro_step);
            tokens += batch.input_ids.len() as u64;
            let input = look::input(&batch, &self.device)?;
            let dropout = (self.plan.dropout > 0.0).then_some((self.config.seed, micro_step));
            let options = ForwardOptions { dropout, ..ForwardOptions::default() };
            let loss = self.model.loss(&input, &batch.labels, &options)?.loss;
            let value = loss.to_dtype(DType::F64)?.to_scalar::<f64>()?;
            if !value.is_finite() {
                return Ok(Err(self.diagnose(&input, dropout, step + 1)?));
            }
            loss_sum += value;
            forward_secs += forward_start.elapsed().as_secs_f64();
            let backward_start = Instant::now();
            let gradients = Gradients::collect(loss.backward()?, &self.variables)?;
            match &mut sum {
                None => sum = Some(gradients),
                Some(sum) => sum.accumulate(&gradients)?,
            }
            backward_secs += backward_start.elapsed().as_secs_f64();
        }
        let Some(mut gradients) = sum else {
            return Err(TrainError::State("the config has no forward pass in a step".to_owned()));
        };
        if accumulation > 1 {
            gradients.scale(1.0 / accumulation as f64)?;
        }
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
        if train.clip_norm > 0.0 && grad_norm > train.clip_norm {
            gradients.scale(train.clip_norm / grad_norm)?;
        }
        let learning_rate = train.learning_rate * train.schedule.factor(step, self.steps);
        self.optimiser.step(&gradients, learning_rate)?;
        let step_secs = start.elapsed().as_secs_f64();
        self.progress.step += 1;
        self.progress.tokens += tokens;
        self.progress.train_secs += step_secs;
        self.progress.is_look_due = true;
        Ok(Ok(StepReport {
            step: self.progress.step,
            loss: loss_sum / accumulation as f64,
            learning_rate,
            grad_norm,
            tokens: self.progress.tokens,
            step_secs,
            forward_secs,
            backward_secs,
            optimiser_secs: (step_secs - forward_secs - backward_secs).max(0.0),
            tokens_per_sec: tokens as f64 / step_secs,
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

    /// The loss on held-out text; `None` when `should_stop` cut it short.
    pub fn evaluate(&mut self, should_stop: &dyn Fn() -> bool) -> Result<Option<EvaluationReport>, TrainError> {
        let batches = self.batcher.validation_batches(self.config.train.evaluate_batches);
        let Some(found) = evaluate(&self.frozen, batches, &self.device, should_stop)? else {
            return Ok(None);
        };
        let best = found.loss.is_finite() && self.progress.best_validation_loss.is_none_or(|best| found.loss < best);
        if best {
            self.progress.best_validation_loss = Some(found.loss);
            self.progress.best_step = Some(self.progress.step);
        }
        Ok(Some(EvaluationReport {
            step: self.progress.step,
            loss: found.loss,
            perplexity: found.masked_accuracy.is_none().then(|| metrics::perplexity(found.loss)),
            masked_accuracy: found.masked_accuracy,
            tokens: found.tokens,
            best,
        }))
    }

    /// What the model can do, as text; `None` when `should_stop` cut it short.
    pub fn sample(&self, should_stop: &dyn Fn() -> bool) -> Result<Option<String>, TrainError> {
        self.probe.sample(&self.frozen, &self.plan, &self.corpus, should_stop)
    }

    /// Notes that evaluation and probe after the current step are done.
    pub(super) fn look_is_done(&mut self) {
        self.progress.is_look_due = false;
    }

    /// The config as written.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The model's plan.
    pub fn plan(&self) -> &ModelPlan {
        &self.plan
    }

    /// The text.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// The weights, changed in place by each step.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// Trainable numbers.
    pub fn parameter_count(&self) -> u64 {
        self.parameters.count()
    }

    /// A copy of the optimiser's state by name.
    pub fn moments(&self) -> Result<BTreeMap<String, Tensor>, TrainError> {
        Ok(self.optimiser.state()?)
    }

    /// How far the run has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Optimiser steps in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// The layer, from 1, that a parameter belongs to: the number in its Hugging Face name.
fn layer_of(name: &str) -> Option<usize> {
    name.split('.').find_map(|part| part.parse::<usize>().ok()).map(|layer| layer + 1)
}
