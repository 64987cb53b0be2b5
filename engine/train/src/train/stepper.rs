use std::time::Instant;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{Divergence, Numerics, TrainError, accumulation::Shares, error::first_line, loss_scale::LossScale};
use crate::{
    attention::ModelPlan,
    config::{MapMemoryChoice, Precision, RunConfig},
    model::{self, Computing, CopiedModel, ForwardOptions, Model, NonFinite, ParameterSet},
    objective::{Batch, LearnedTask, Objective},
    ops::{self, AdamW, AdamWConfig, Gradients},
};

/// A model with its optimiser: forward, backward, clipping and update, from batches that it is given.
pub struct Stepper {
    arithmetic: Arithmetic,
    objective: Objective,
    gradients: Gradients,
    optimiser: AdamW,
    device: Device,
    clip_norm: f64,
    dropout: f64,
    map_memory: MapMemoryChoice,
    seed: u64,
    numerics: Numerics,
}

/// How the model computes.
enum Arithmetic {
    /// In the format of the weights.
    Own { model: Box<Model>, frozen: Box<Model> },
    /// In half precision, with copies of the weights that are made anew for each step.
    Half {
        plan: Box<ModelPlan>,
        parameters: ParameterSet,
        model: Box<CopiedModel>,
        dtype: DType,
        scale: Option<LossScale>,
    },
}

impl Arithmetic {
    /// The model for one step.
    fn model(&self) -> Result<&Model, TrainError> {
        Ok(match self {
            Self::Own { model, .. } => model,
            Self::Half { model, .. } => model.refreshed()?,
        })
    }

    fn scale_mut(&mut self) -> Option<&mut LossScale> {
        match self {
            Self::Half { scale, .. } => scale.as_mut(),
            Self::Own { .. } => None,
        }
    }

    /// What the loss is multiplied with.
    fn loss_factor(&self) -> f64 {
        match self {
            Self::Half { scale: Some(scale), .. } => scale.factor(),
            _ => 1.0,
        }
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stepped {
    /// Mean loss over all labels of the step, nats per labelled token.
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
    /// A fresh optimiser around `parameters`, as `run` asks for it.
    pub fn new(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        run: &RunConfig,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let (train, precision) = (&run.train, run.precision);
        let config = AdamWConfig {
            beta1: train.beta1,
            beta2: train.beta2,
            epsilon: train.epsilon,
            weight_decay: train.weight_decay,
        };
        let computing = Computing::of(precision, parameters);
        let (arithmetic, gradients) = if computing.dtype == dtype_of(precision) {
            let own = |model: Model| Box::new(model.with_products(computing.products));
            let model = own(Model::trainable(plan, parameters)?);
            let gradients = model.gradients().cloned();
            let gradients = gradients.ok_or_else(|| TrainError::State("the model is frozen".to_owned()))?;
            (Arithmetic::Own { model, frozen: own(Model::frozen(plan, parameters)?) }, gradients)
        } else {
            let gradients = Gradients::new(&parameters.optimiser_parameters())?;
            let half = Arithmetic::Half {
                plan: Box::new(plan.clone()),
                parameters: parameters.clone(),
                model: Box::new(CopiedModel::new(plan, parameters, computing, &gradients)?),
                dtype: computing.dtype,
                scale: (precision == Precision::F16).then(LossScale::default),
            };
            (half, gradients)
        };
        Ok(Self {
            arithmetic,
            objective: run.objective(),
            gradients,
            optimiser: AdamW::new(parameters.optimiser_parameters(), config)?,
            device: device.clone(),
            clip_norm: train.clip_norm,
            dropout: plan.stack.dropout,
            map_memory: train.map_memory,
            seed: run.seed,
            numerics: Numerics::CURRENT,
        })
    }

    /// Combines micro-batches by the rule of an earlier version.
    #[must_use]
    pub fn with_numerics(self, numerics: Numerics) -> Self {
        Self { numerics, ..self }
    }

    /// Where it computes.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// One optimiser step, number `step` from 0, on `accumulation` micro-batches: it learns what one batch of all of their
    /// examples would teach, `sum(n[i] * loss[i]) / sum(n[i])` with `n[i]` the labels of a micro-batch ([`Task::loss_weight`]).
    /// `batch` is asked for each by its number among all batches of the run, twice where there are several: their labels are
    /// counted first. The inner error is a loss or gradient that is not finite; weights are then unchanged.
    ///
    /// [`Task::loss_weight`]: crate::objective::Task::loss_weight
    pub fn step(
        &mut self,
        step: u64,
        accumulation: u64,
        learning_rate: f64,
        batch: impl Fn(u64) -> Batch,
    ) -> Result<Result<Stepped, Divergence>, TrainError> {
        let mut spent = Stepped::default();
        let start = Instant::now();
        let shares = self.shares(step, accumulation, &batch);
        spent.forward_secs += start.elapsed().as_secs_f64();
        let grad_norm = loop {
            // What was spent on a backward pass that overflowed counts too.
            let before = spent;
            if let Err(divergence) = self.passes(step, &shares, &batch, &mut spent)? {
                return Ok(Err(divergence));
            }
            let start = Instant::now();
            self.gradients.scale(1.0 / (shares.divisor * self.arithmetic.loss_factor()));
            let grad_norm = self.gradients.global_norm()?;
            spent.optimiser_secs += start.elapsed().as_secs_f64();
            if grad_norm.is_finite() {
                break grad_norm;
            }
            if !self.arithmetic.scale_mut().is_some_and(LossScale::shrink) {
                return Ok(Err(self.divergence(step)?));
            }
            (spent.loss, spent.tokens) = (before.loss, before.tokens);
        };
        let start = Instant::now();
        if self.clip_norm > 0.0 && grad_norm > self.clip_norm {
            self.gradients.scale(self.clip_norm / grad_norm);
        }
        self.optimiser.step(&self.gradients, learning_rate)?;
        if let Some(scale) = self.arithmetic.scale_mut() {
            scale.succeed();
        }
        self.device.synchronize()?;
        spent.optimiser_secs += start.elapsed().as_secs_f64();
        Ok(Ok(Stepped { loss: spent.loss / shares.divisor, grad_norm, ..spent }))
    }

    /// The shares of the micro-batches of a step in its loss.
    fn shares(&self, step: u64, accumulation: u64, batch: &impl Fn(u64) -> Batch) -> Shares {
        if accumulation <= 1 || !self.numerics.weights_micro_batches() {
            return Shares::equal(accumulation);
        }
        let (first, task) = (step * accumulation, self.objective.task());
        let weights: Vec<f64> = (first..first + accumulation).map(|number| task.loss_weight(&batch(number))).collect();
        Shares::of(&weights)
    }

    /// Forward and backward over all micro-batches of a step: the gradients' sum, with losses, tokens and time in `spent`.
    fn passes(
        &self,
        step: u64,
        shares: &Shares,
        batch: &impl Fn(u64) -> Batch,
        spent: &mut Stepped,
    ) -> Result<Result<(), Divergence>, TrainError> {
        self.gradients.reset();
        let start = Instant::now();
        let model = self.arithmetic.model()?;
        spent.forward_secs += start.elapsed().as_secs_f64();
        let factor = self.arithmetic.loss_factor();
        let accumulation = shares.each.len() as u64;
        for (micro, share) in (0..).zip(&shares.each) {
            let micro_step = step * accumulation + micro;
            let start = Instant::now();
            let batch = batch(micro_step);
            spent.tokens += batch.tokens() as u64;
            if *share == 0.0 {
                // It has no label, or no example at all.
                continue;
            }
            let dropout = (self.dropout > 0.0).then_some((self.seed, micro_step));
            let options = ForwardOptions { dropout, map_memory: self.map_memory, ..ForwardOptions::default() };
            let mut loss = self.objective.task().loss(model, &batch, &options)?;
            let value = loss.loss.to_dtype(DType::F64)?.to_scalar::<f64>()?;
            if !value.is_finite() {
                return Ok(Err(self.diagnose(&batch, dropout, step + 1)?));
            }
            spent.loss += value * share;
            spent.forward_secs += start.elapsed().as_secs_f64();
            let start = Instant::now();
            if factor * share != 1.0 {
                loss.loss = ops::scaled(&loss.loss, factor * share)?;
            }
            model.backward(&loss)?;
            drop(loss);
            // A GPU is done later than it is told.
            self.device.synchronize()?;
            spent.backward_secs += start.elapsed().as_secs_f64();
        }
        Ok(Ok(()))
    }

    /// Says which gradient is not finite.
    fn divergence(&self, step: u64) -> Result<Divergence, TrainError> {
        let name = self.gradients.first_non_finite()?.unwrap_or_else(|| "the gradient norm".to_owned());
        let layer = model::layer_of(&name).map(|layer| layer + 1);
        let place = match layer {
            Some(layer) => format!("the gradient of layer {layer} ({name})"),
            None => format!("the gradient of {name}"),
        };
        Ok(Divergence { step: step + 1, place, layer })
    }

    /// Finds the first place where the forward pass is not finite.
    fn diagnose(&self, batch: &Batch, dropout: Option<(u64, u64)>, step: u64) -> Result<Divergence, TrainError> {
        let model = self.frozen()?;
        let (place, layer) = match model.first_non_finite(&batch.input(&model)?, dropout)? {
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

    /// The model without a graph, for evaluation.
    pub fn frozen(&self) -> Result<Model, TrainError> {
        Ok(match &self.arithmetic {
            Arithmetic::Own { frozen, .. } => Model::clone(frozen),
            Arithmetic::Half { plan, parameters, dtype, .. } => Model::frozen_in(plan, parameters, *dtype)?,
        })
    }

    /// A copy of the optimiser's state by name, with the loss scale where there is one.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>, TrainError> {
        let mut state = self.optimiser.state()?;
        if let Arithmetic::Half { scale: Some(scale), .. } = &self.arithmetic {
            scale.save(&mut state)?;
        }
        Ok(state)
    }

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// If it belongs to another model, or another precision; nothing has changed then.
    pub fn load_state(&mut self, mut state: BTreeMap<String, Tensor>) -> Result<(), TrainError> {
        let scale = match self.arithmetic.scale_mut() {
            Some(_) => Some(LossScale::load(&mut state)?),
            None => None,
        };
        self.optimiser.load_state(&state).map_err(|error| TrainError::State(first_line(&error)))?;
        if let (Some(own), Some(scale)) = (self.arithmetic.scale_mut(), scale) {
            *own = scale;
        }
        Ok(())
    }
}

/// The element type of weights, gradients and moments.
pub fn dtype_of(precision: Precision) -> DType {
    match precision {
        Precision::F32 | Precision::Tf32 | Precision::F16 | Precision::Bf16 => DType::F32,
        Precision::F64 => DType::F64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ModelKind, Reuse, RunConfig};

    const VOCABULARY: usize = 50;

    fn config(kind: ModelKind) -> RunConfig {
        let mut config = RunConfig::default();
        (config.model.kind, config.model.layers, config.model.width, config.model.heads) = (kind, 2, 16, 2);
        (config.model.feed_forward, config.data.sequence_length, config.train.batch) = (24, 12, 4);
        config
    }

    /// The same few tokens in every batch, each followed by the next of the vocabulary.
    fn batch(config: &RunConfig) -> Batch {
        let (batch, sequence) = (config.train.batch, config.data.sequence_length);
        let token = |at: usize| (at % sequence + 3 * (at / sequence)) as u32 % VOCABULARY as u32;
        let input_ids: Vec<u32> = (0..batch * sequence).map(token).collect();
        let labels = input_ids.iter().map(|id| i64::from((id + 1) % VOCABULARY as u32)).collect();
        Batch {
            input_ids,
            labels,
            key_mask: None,
            batch,
            sequence,
            sources: None,
            token_types: None,
            answers: None,
            pixels: None,
        }
    }

    fn stepper(config: &RunConfig, precision: Precision) -> (ParameterSet, Stepper) {
        let plan = ModelPlan::resolve(config, VOCABULARY).unwrap();
        let parameters = ParameterSet::init(&plan, 1, dtype_of(precision), &Device::Cpu).unwrap();
        let run = RunConfig { precision, ..config.clone() };
        let stepper = Stepper::new(&plan, &parameters, &run, &Device::Cpu).unwrap();
        (parameters, stepper)
    }

    fn losses(config: &RunConfig, stepper: &mut Stepper, steps: std::ops::Range<u64>) -> Vec<f64> {
        steps.map(|step| stepper.step(step, 2, 3e-3, |_| batch(config)).unwrap().unwrap().loss).collect()
    }

    #[test]
    fn half_precision_learns_what_single_precision_learns_with_weights_in_32_bits() {
        for kind in ModelKind::LANGUAGE_MODELS {
            let config = config(kind);
            let single = losses(&config, &mut stepper(&config, Precision::F32).1, 0..20);
            assert!(single[19] < 0.8 * single[0]);
            for (precision, tolerance) in [(Precision::F16, 0.01), (Precision::Bf16, 0.06)] {
                let (parameters, mut stepper) = stepper(&config, precision);
                let half = losses(&config, &mut stepper, 0..20);
                for (step, (half, single)) in half.iter().zip(&single).enumerate() {
                    assert!((half - single).abs() < tolerance * single, "{precision:?} step {step}: {half} {single}");
                }
                // Where pairs are not multiplied, products are those of single precision.
                let is_other = precision == Precision::F16 || ops::multiplies_pairs();
                assert_eq!(half != single, is_other, "{precision:?}");
                assert!(parameters.iter().all(|(_, variable)| variable.dtype() == DType::F32));
                assert!(stepper.state().unwrap().values().all(|tensor| tensor.dtype() != DType::F16));
                let kept = model::dtype(precision.kept_on(config.device));
                assert_eq!(stepper.frozen().unwrap().dtype(), kept);
            }
        }
    }

    #[test]
    fn what_is_kept_of_maps_changes_no_bit() {
        for reuse in Reuse::examples(2, 2).into_iter().take(3) {
            let found = MapMemoryChoice::ALL.map(|choice| {
                let mut config = config(ModelKind::Decoder);
                (config.train.map_memory, config.attention.reuse) = (choice, reuse.clone());
                losses(&config, &mut stepper(&config, Precision::F32).1, 0..4)
            });
            assert!(found[0] == found[1] && found[1] == found[2], "{reuse:?}");
        }
    }

    #[test]
    fn a_scale_that_overflows_halves_until_the_step_can_be_taken() {
        let config = config(ModelKind::Decoder);
        let (_, mut stepper) = stepper(&config, Precision::F16);
        let Arithmetic::Half { scale, .. } = &mut stepper.arithmetic else { unreachable!() };
        let mut state = BTreeMap::new();
        state.insert("optimizer.loss_scale".to_owned(), Tensor::new(&[16_777_216.0_f64, 0.0], &Device::Cpu).unwrap());
        *scale = Some(LossScale::load(&mut state).unwrap());
        let stepped = stepper.step(0, 1, 1e-3, |_| batch(&config)).unwrap().unwrap();
        let factor = stepper.arithmetic.loss_factor();
        assert!((1.0..16_777_216.0).contains(&factor), "{factor}");
        assert_eq!(stepped.tokens, 48, "tokens of passes that were thrown away do not count");
        let (_, mut plain) = self::stepper(&config, Precision::F32);
        let expected = plain.step(0, 1, 1e-3, |_| batch(&config)).unwrap().unwrap();
        assert!((stepped.grad_norm - expected.grad_norm).abs() < 0.01 * expected.grad_norm);
        assert!((stepped.loss - expected.loss).abs() < 0.01);
    }

    #[test]
    fn a_half_precision_run_goes_on_along_the_same_curve() {
        let config = config(ModelKind::Encoder);
        for precision in [Precision::F16, Precision::Bf16] {
            let (_, mut whole) = stepper(&config, precision);
            let expected = losses(&config, &mut whole, 0..8);
            let (parameters, mut first) = stepper(&config, precision);
            losses(&config, &mut first, 0..5);
            let (weights, state) = (parameters.snapshot().unwrap(), first.state().unwrap());
            let (parameters, mut second) = stepper(&config, precision);
            parameters.assign(&weights).unwrap();
            second.load_state(state.clone()).unwrap();
            assert_eq!(losses(&config, &mut second, 5..8), expected[5..]);
            let (_, mut other) = stepper(&config, Precision::F32);
            assert_eq!(other.load_state(state).is_err(), precision == Precision::F16);
        }
    }

    #[test]
    fn memory_that_a_device_refuses_is_told_from_other_faults() {
        for text in ["DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")", "Out of memory on the device"] {
            let error = TrainError::Model(model::ModelError::Tensor(text.to_owned())).with_memory(3 << 30);
            assert!(matches!(error, TrainError::OutOfMemory { .. }));
            assert!(error.to_string().contains("3.0 GiB"), "{error}");
        }
        let other = TrainError::Tensor("shapes differ".to_owned()).with_memory(1);
        assert!(matches!(other, TrainError::Tensor(_)));
    }
}
