use serde::{Deserialize, Serialize};

use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::RunConfig,
    model::{ParameterSet, device_peak_bytes, open_device_of},
    objective::{Batch, LearnedTask},
    ops::{
        profile::{self, OperationTime},
        random::{Purpose, Stream},
    },
    train::{MemoryCheck, Stepper, TrainError, dtype_of},
};

/// The parts of one training step in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Forward, loss, backward, clipping and optimiser.
    pub step_secs: f64,
    /// Of it: forward passes. The head's gradients are computed with its loss and count here.
    pub forward_secs: f64,
    /// Of it: backward passes.
    pub backward_secs: f64,
    /// Of it: gradient norm, clipping and update.
    pub optimiser_secs: f64,
}

/// A model that is trained on random tokens to see how long its steps take.
pub struct StepSpeed {
    config: RunConfig,
    stepper: Stepper,
    cost: Cost,
    parameters: u64,
    vocabulary: usize,
    step: u64,
}

impl StepSpeed {
    /// Builds the model of a config for a vocabulary; its data are never read.
    ///
    /// # Errors
    /// If the config cannot be built, its device is not there, or memory does not suffice, with the numbers.
    pub fn new(config: RunConfig, vocabulary: usize) -> Result<Self, TrainError> {
        let device = &open_device_of(&config)?;
        let plan = ModelPlan::resolve(&config, vocabulary).map_err(TrainError::Config)?;
        let cost = Cost::of(&plan, &Workload::training(&config));
        MemoryCheck::new(&cost, device).require()?;
        let parameters = ParameterSet::init(&plan, config.seed, dtype_of(config.precision), device)?;
        let stepper =
            Stepper::new(&plan, &parameters, &config, device).map_err(|error| error.with_memory(cost.memory_bytes))?;
        let count = parameters.count();
        Ok(Self { config, stepper, cost, parameters: count, vocabulary, step: 0 })
    }

    /// Trains one step.
    ///
    /// # Errors
    /// If the device fails or the loss is not finite.
    pub fn step(&mut self) -> Result<StepTime, TrainError> {
        let Self { config, stepper, vocabulary, step, cost, .. } = self;
        let (accumulation, rate) = (config.train.accumulation as u64, config.train.learning_rate);
        let stepped =
            stepper.step(*step, accumulation, rate, |micro_step| random_batch(config, *vocabulary, micro_step));
        let stepped = stepped.map_err(|error| error.with_memory(cost.memory_bytes))?;
        *step += 1;
        match stepped {
            Ok(stepped) => Ok(StepTime {
                step_secs: stepped.step_secs(),
                forward_secs: stepped.forward_secs,
                backward_secs: stepped.backward_secs,
                optimiser_secs: stepped.optimiser_secs,
            }),
            Err(divergence) => Err(TrainError::State(format!("the measured model diverged in {}", divergence.place))),
        }
    }

    /// Trains one step and tells what each kind of operation took.
    ///
    /// # Errors
    /// As [`StepSpeed::step`].
    pub fn profiled_step(&mut self) -> Result<(StepTime, Vec<OperationTime>), TrainError> {
        let (time, operations) = profile::record(|| self.step());
        Ok((time?, operations))
    }

    /// The most memory of the GPU that tensors of this program took; none on a processor.
    pub fn device_peak_bytes(&self) -> Option<u64> {
        device_peak_bytes(self.stepper.device())
    }

    /// The config.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// What the cost model predicts for a step.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Trainable numbers.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Tokens of a step.
    pub fn tokens(&self) -> u64 {
        let train = &self.config.train;
        (train.batch * train.accumulation * self.config.data.sequence_length) as u64
    }
}

/// Takes `warmup` uncounted steps and then `steps` counted ones of each subject, in turn: A B A B.
///
/// `after` is told after every round of counted steps and ends the measurement when it answers false.
///
/// # Errors
/// If a step fails.
pub fn compare(
    subjects: &mut [StepSpeed],
    warmup: usize,
    steps: usize,
    mut after: impl FnMut(usize) -> bool,
) -> Result<Vec<Vec<StepTime>>, TrainError> {
    let mut times = vec![Vec::with_capacity(steps); subjects.len()];
    for round in 0..warmup + steps {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let time = subject.step()?;
            if round >= warmup {
                times.push(time);
            }
        }
        if round >= warmup && !after(round + 1 - warmup) {
            break;
        }
    }
    Ok(times)
}

/// A batch of the config's objective with tokens drawn evenly from the vocabulary, or with images of noise.
pub(super) fn random_batch(config: &RunConfig, vocabulary: usize, micro_step: u64) -> Batch {
    let sizes = [config.train.batch, config.data.sequence_length];
    if let Some(shape) = config.data.source.image_shape() {
        return config.objective().random_images(
            shape,
            sizes,
            &mut Stream::new(config.seed, Purpose::Test, micro_step),
        );
    }
    config.objective().random_batch(vocabulary, sizes, &mut Stream::new(config.seed, Purpose::Test, micro_step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ModelKind, objective::IGNORED, ops::has_blocks};

    fn config(kind: ModelKind) -> RunConfig {
        let mut config = RunConfig::default();
        config.model.kind = kind;
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 2, 16, 24);
        config.data.sequence_length = 20;
        config.train.batch = 4;
        config.train.learning_rate = 1e-2;
        config
    }

    #[test]
    fn steps_are_taken_in_turn_and_counted() {
        let mut subjects: Vec<StepSpeed> =
            ModelKind::LANGUAGE_MODELS.iter().map(|&kind| StepSpeed::new(config(kind), 50).unwrap()).collect();
        let mut rounds = Vec::new();
        let times = compare(&mut subjects, 2, 3, |round| {
            rounds.push(round);
            true
        })
        .unwrap();
        assert_eq!(rounds, [1, 2, 3]);
        for (subject, times) in subjects.iter().zip(&times) {
            assert_eq!((times.len(), subject.step, subject.tokens()), (3, 5, 80));
            assert_eq!(subject.parameters(), subject.cost().parameters);
            for time in times {
                let parts = time.forward_secs + time.backward_secs + time.optimiser_secs;
                assert!(time.step_secs > 0.0 && (time.step_secs - parts).abs() < 1e-9);
            }
        }
        let stopped = compare(&mut subjects, 0, 100, |round| round < 2).unwrap();
        assert!(stopped.iter().all(|times| times.len() == 2));
    }

    #[test]
    fn a_profile_names_the_operations_and_counts_the_flops_of_the_cost_model() {
        for kind in ModelKind::LANGUAGE_MODELS {
            let mut subject = StepSpeed::new(config(kind), 50).unwrap();
            let tensor = candle_core::Tensor::zeros(1, candle_core::DType::F32, &candle_core::Device::Cpu).unwrap();
            assert!(has_blocks(&tensor));
            let (time, operations) = subject.profiled_step().unwrap();
            let seconds: f64 = operations.iter().map(|operation| operation.seconds).sum();
            assert!(seconds > 0.0, "{operations:?}");
            assert!(time.step_secs > 0.0);
            for part in ["attention: projections", "feed-forward: first map", "head and loss", "optimiser"] {
                assert!(operations.iter().any(|operation| operation.name == part), "{part}: {operations:?}");
            }
        }
    }

    #[test]
    fn a_model_past_all_memory_is_refused_with_the_numbers() {
        let mut config = config(ModelKind::Decoder);
        (config.model.width, config.model.layers) = (65_536, 256);
        config.model.feed_forward = 4 * 65_536;
        let error = StepSpeed::new(config, 50).err().unwrap();
        assert!(matches!(error, TrainError::Memory { .. }), "{error}");
    }

    #[test]
    fn an_encoder_predicts_the_share_that_its_config_hides() {
        let batch = random_batch(&config(ModelKind::Encoder), 50, 0);
        let hidden = batch.labels.iter().filter(|&&label| label != IGNORED).count();
        assert_eq!(hidden, (80.0 * config(ModelKind::Encoder).train.mask_fraction) as usize);
        assert!(batch.input_ids.iter().all(|&id| id < 50));
        assert_ne!(batch, random_batch(&config(ModelKind::Encoder), 50, 1));
    }
}
