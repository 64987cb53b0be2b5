//! Whether a device computes what the processor computes.

use candle_core::{DType, Device, Tensor};
use serde::Serialize;

use super::step::random_batch;
use crate::{
    attention::ModelPlan,
    config::{
        AttentionConfig, Compatibility, Coverage, DeviceChoice, MapMemoryChoice, Modality, ModelKind, PartialCoverage,
        Precision, Restore, Reuse, RunConfig, Source, attention_words, counted,
    },
    model::{Computing, ForwardOptions, Model, ParameterSet, open_device, open_device_of},
    objective::{Batch, IGNORED, LearnedTask},
    ops::{self, FLASH_SIZES, Gradients},
    train::{Stepper, TrainError, dtype_of},
};

/// Entries of the vocabulary of the models.
const VOCABULARY: usize = 211;
/// How far weights are from their initial ones, so that maps are not almost even.
const SPREAD: f64 = 3.0;
/// What the loss is multiplied with before its backward pass in 16 bits, so that small gradients are not lost.
const LOSS_FACTOR: f64 = 256.0;
/// Steps of the model that is trained.
const STEPS: u64 = 3;

/// One small model on a device beside the same model on the processor in double precision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceCheck {
    /// Which model, and what was done with it.
    pub what: String,
    /// What the device computed in.
    pub precision: Precision,
    /// How far the loss is off, as a part of it.
    pub loss_error: f64,
    /// How far the gradients are off: the norm of the difference over the norm, all parameters together.
    pub gradient_error: f64,
    /// How far they may be: what rounding explains.
    pub tolerance: f64,
}

impl DeviceCheck {
    /// Whether loss and gradients are as they should be.
    pub fn passes(&self) -> bool {
        self.loss_error <= self.tolerance && self.gradient_error <= self.tolerance
    }
}

/// Holds a device against the processor in double precision: the loss and all gradients of small models, with dropout, of
/// every way to score a pair and every reuse of maps, in 32 bits and for some of them in 16, on an NVIDIA GPU in TF32 too;
/// models whose heads it attends with in tiles, on texts of several lengths; and some steps of training.
/// Each result is told at once; `told` ends the check when it answers false.
///
/// # Errors
/// If the device is not there or fails.
pub fn check_device(choice: DeviceChoice, mut told: impl FnMut(&DeviceCheck) -> bool) -> Result<(), TrainError> {
    let device = open_device(choice)?;
    let rounding = match choice {
        DeviceChoice::Cuda(_) => {
            Some(open_device_of(&RunConfig { device: choice, precision: Precision::Tf32, ..RunConfig::default() })?)
        }
        DeviceChoice::Cpu | DeviceChoice::Metal(_) => None,
    };
    for config in configs() {
        let precisions: &[Precision] = match (&config.attention.reuse, &rounding) {
            (reuse, _) if *reuse != Reuse::default() => &[Precision::F32],
            (_, Some(_)) => &[Precision::F32, Precision::Tf32, Precision::F16, Precision::Bf16],
            (_, None) => &[Precision::F32, Precision::F16, Precision::Bf16],
        };
        let batch = batch_of(&config, config.data.sequence_length);
        let exact = pass(&config, &batch, Precision::F64, &Device::Cpu)?;
        for &precision in precisions {
            let computing = rounding.as_ref().filter(|_| precision == Precision::Tf32).unwrap_or(&device);
            let found = pass(&config, &batch, precision, computing)?;
            if !told(&compared(words(&config), precision, &found, &exact)) {
                return Ok(());
            }
        }
    }
    for config in in_tiles() {
        let batch = uneven(batch_of(&config, config.data.sequence_length));
        let exact = pass(&config, &batch, Precision::F64, &Device::Cpu)?;
        for precision in [Precision::F16, Precision::Bf16] {
            let found = pass(&config, &batch, precision, &device)?;
            let what = format!("{}, heads of {}", words(&config), config.model.width / config.model.heads);
            if !told(&compared(what, precision, &found, &exact)) {
                return Ok(());
            }
        }
    }
    let pairs = PartialCoverage { k: 20, restore: Restore::Common, ..PartialCoverage::default() };
    let some = AttentionConfig { coverage: Coverage::Partial(pairs), ..AttentionConfig::default() };
    let paired = config(ModelKind::Decoder, some);
    // A text that is shorter than the pairs of a query has nothing to restore.
    for tokens in [paired.data.sequence_length, 12] {
        let batch = batch_of(&paired, tokens);
        let found = pass(&paired, &batch, Precision::F32, &device)?;
        let exact = pass(&paired, &batch, Precision::F64, &Device::Cpu)?;
        let what = format!("{}, {}", words(&paired), counted(tokens, "token"));
        if !told(&compared(what, Precision::F32, &found, &exact)) {
            return Ok(());
        }
    }
    for kind in ModelKind::LANGUAGE_MODELS {
        let config = config(kind, AttentionConfig::default());
        let (found, exact) = (train(&config, Precision::F32, &device)?, train(&config, Precision::F64, &Device::Cpu)?);
        if !told(&compared(format!("{}, {STEPS} steps of training", kind.name()), Precision::F32, &found, &exact)) {
            return Ok(());
        }
    }
    Ok(())
}

/// The models: every way to score, every reuse, in both architectures by turns.
fn configs() -> Vec<RunConfig> {
    let ways = Compatibility::examples(4, 64).into_iter().flat_map(|compatibility| {
        ModelKind::LANGUAGE_MODELS.map(|kind| {
            config(kind, AttentionConfig { compatibility: compatibility.clone(), ..AttentionConfig::default() })
        })
    });
    let reuses = Reuse::examples(3, 4).into_iter().filter(|reuse| *reuse != Reuse::default()).flat_map(|reuse| {
        ModelKind::LANGUAGE_MODELS
            .map(|kind| config(kind, AttentionConfig { reuse: reuse.clone(), ..AttentionConfig::default() }))
    });
    let mut configs: Vec<RunConfig> = ways.chain(reuses).collect();
    for (number, config) in configs.iter_mut().enumerate() {
        // The encoder of one way, the decoder of the next.
        if (number / 2 + number) % 2 == 1 {
            config.train.map_memory = MapMemoryChoice::Recompute;
        }
    }
    configs
}

/// Models whose heads have the sizes for which a GPU attends in tiles in 16 bits; one in three attends to another text.
fn in_tiles() -> impl Iterator<Item = RunConfig> {
    let of = |size: usize| {
        ModelKind::ALL.map(|kind| {
            let mut config = config(kind, AttentionConfig::default());
            (config.model.layers, config.model.heads, config.model.width) = (2, 2, 2 * size);
            config.data.sequence_length = 150;
            config
        })
    };
    FLASH_SIZES.into_iter().flat_map(of)
}

fn config(kind: ModelKind, attention: AttentionConfig) -> RunConfig {
    let mut config = RunConfig::default();
    config.model.kind = kind;
    // It learns from no plain text.
    if !ModelKind::LANGUAGE_MODELS.contains(&kind) {
        config.data.source = Source::generated(Modality::Pairs).unwrap_or_default();
    }
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 64, 96);
    config.model.dropout = 0.1;
    (config.data.sequence_length, config.train.batch) = (70, 3);
    (config.train.mask_fraction, config.train.learning_rate) = (0.3, 1e-3);
    config.attention = attention;
    config
}

fn words(config: &RunConfig) -> String {
    let memory = match config.train.map_memory {
        MapMemoryChoice::Recompute => ", maps computed again",
        MapMemoryChoice::Auto | MapMemoryChoice::Keep => "",
    };
    format!("{}, {}{memory}", config.model.kind.name(), attention_words(&config.attention))
}

/// Numbers that two devices should share: a loss, and others whose norm is compared.
struct Found {
    loss: f64,
    others: Vec<f64>,
}

fn compared(what: String, precision: Precision, found: &Found, exact: &Found) -> DeviceCheck {
    let norm = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut found.others.iter().zip(&exact.others).map(|(a, b)| a - b));
    DeviceCheck {
        what,
        precision,
        loss_error: (found.loss / exact.loss - 1.0).abs(),
        gradient_error: difference / norm(&mut exact.others.iter().copied()),
        tolerance: match precision {
            Precision::F64 => 1e-9,
            Precision::F32 => 1e-5,
            Precision::Tf32 | Precision::F16 => 1e-2,
            Precision::Bf16 => 8e-2,
        },
    }
}

/// Weights that every device gets alike, in the type that they are trained in.
fn weights(plan: &ModelPlan, precision: Precision, device: &Device) -> Result<ParameterSet, TrainError> {
    let tensors = ParameterSet::init(plan, 1, DType::F32, &Device::Cpu)?.tensors();
    let spread = |(name, tensor): (String, Tensor)| {
        let tensor = match (tensor.dtype(), tensor.rank()) {
            // The keys of pairs.
            (dtype, _) if dtype.is_int() => tensor,
            (_, 0 | 1) => tensor.to_dtype(dtype_of(precision))?,
            _ => (tensor * SPREAD)?.to_dtype(dtype_of(precision))?,
        };
        Ok::<_, TrainError>((name, tensor.to_device(device)?))
    };
    Ok(ParameterSet::from_tensors(plan, tensors.into_iter().map(spread).collect::<Result<_, _>>()?)?)
}

/// Texts of so many tokens each.
fn batch_of(config: &RunConfig, tokens: usize) -> Batch {
    let mut texts = config.clone();
    texts.data.sequence_length = tokens;
    random_batch(&texts, VOCABULARY, 0)
}

/// The batch with texts that end at three quarters and at half of the first one's length, and half of each source.
fn uneven(mut batch: Batch) -> Batch {
    let mask = |rows: usize, length: usize| -> Vec<u8> {
        (0..rows * length).map(|i| u8::from(i % length < length - (i / length) * (length / 4))).collect()
    };
    let kept = mask(batch.batch, batch.sequence);
    for (label, &is_kept) in batch.labels.iter_mut().zip(&kept) {
        if is_kept == 0 {
            *label = IGNORED;
        }
    }
    batch.key_mask = Some(kept);
    if let Some(sources) = &mut batch.sources {
        let length = sources.sequence / 2;
        sources.ids =
            sources.ids.chunks(sources.sequence).flat_map(|source| source.iter().take(length).copied()).collect();
        sources.key_mask = Some(mask(batch.batch, length));
        sources.sequence = length;
    }
    batch
}

/// The loss and the gradients of a batch.
fn pass(config: &RunConfig, batch: &Batch, precision: Precision, device: &Device) -> Result<Found, TrainError> {
    let plan = ModelPlan::resolve(config, VOCABULARY).map_err(TrainError::Config)?;
    let parameters = weights(&plan, precision, device)?;
    let gradients = Gradients::new(&parameters.optimiser_parameters())?;
    let model = Model::trainable_in(&plan, &parameters, Computing::of(precision, &parameters), &gradients)?;
    let map_memory = config.train.map_memory;
    let options = ForwardOptions { dropout: Some((1, 0)), map_memory, ..ForwardOptions::default() };
    let mut loss = config.objective().task().loss(&model, batch, &options)?;
    let value = loss.loss.to_dtype(DType::F64)?.to_scalar()?;
    if precision.is_half() {
        loss.loss = ops::scaled(&loss.loss, LOSS_FACTOR)?;
    }
    model.backward(&loss)?;
    if precision.is_half() {
        gradients.scale(1.0 / LOSS_FACTOR);
    }
    let mut others = Vec::new();
    for (_, gradient) in gradients.iter() {
        let gradient = gradient.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        others.extend(gradient.flatten_all()?.to_vec1::<f64>()?);
    }
    Ok(Found { loss: value, others })
}

/// The loss of the last of some steps, and the gradients' norms of all of them.
fn train(config: &RunConfig, precision: Precision, device: &Device) -> Result<Found, TrainError> {
    let plan = ModelPlan::resolve(config, VOCABULARY).map_err(TrainError::Config)?;
    let parameters = weights(&plan, precision, device)?;
    let run = RunConfig { precision, ..config.clone() };
    let mut stepper = Stepper::new(&plan, &parameters, &run, device)?;
    let mut found = Found { loss: f64::NAN, others: Vec::new() };
    for step in 0..STEPS {
        let rate = config.train.learning_rate;
        let stepped = stepper.step(step, 1, rate, |micro_step| random_batch(config, VOCABULARY, micro_step))?;
        match stepped {
            Ok(stepped) => {
                found.loss = stepped.loss;
                found.others.push(stepped.grad_norm);
            }
            Err(divergence) => {
                return Err(TrainError::State(format!("the checked model diverged in {}", divergence.place)));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::emulating;

    fn all() -> Vec<DeviceCheck> {
        let mut checks = Vec::new();
        check_device(DeviceChoice::Cpu, |check| {
            checks.push(check.clone());
            true
        })
        .unwrap();
        checks
    }

    #[test]
    fn the_processor_passes_in_every_precision() {
        let checks = all();
        for check in &checks {
            assert!(check.passes() && check.gradient_error > 0.0, "{check:?}");
        }
        let of = |precision| checks.iter().filter(|check| check.precision == precision).count();
        assert_eq!(of(Precision::F16), of(Precision::Bf16));
        assert!(of(Precision::F32) > of(Precision::F16) && of(Precision::F16) > 10);
        let mut names: Vec<_> = checks.iter().map(|check| (&check.what, check.precision.name())).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), checks.len(), "{names:?}");
    }

    #[test]
    fn the_kernels_of_a_gpu_pass_emulated() {
        // The first model of each architecture: the others are held against the processor where models are tested.
        let mut checks = Vec::new();
        emulating(|| {
            check_device(DeviceChoice::Cpu, |check| {
                checks.push(check.clone());
                checks.len() < 4
            })
        })
        .unwrap();
        assert!(checks.iter().all(DeviceCheck::passes), "{checks:?}");
        assert_eq!(checks.len(), 4);
    }

    #[test]
    fn tiles_pass_emulated_for_texts_of_several_lengths_and_their_sources() {
        for mut config in in_tiles().filter(|config| config.model.width == 2 * FLASH_SIZES[0]) {
            config.data.sequence_length = 70;
            let batch = uneven(batch_of(&config, 70));
            let lengths = |mask: &[u8]| mask.iter().map(|&is_kept| usize::from(is_kept)).sum::<usize>();
            assert_eq!(batch.key_mask.as_deref().map(lengths), Some(70 + 53 + 36));
            if let Some(sources) = &batch.sources {
                assert_eq!((sources.sequence, sources.key_mask.as_deref().map(lengths)), (35, Some(35 + 27 + 19)));
            }
            let exact = pass(&config, &batch, Precision::F64, &Device::Cpu).unwrap();
            let found = emulating(|| pass(&config, &batch, Precision::Bf16, &Device::Cpu)).unwrap();
            let check = compared(words(&config), Precision::Bf16, &found, &exact);
            assert!(check.passes() && check.gradient_error > 1e-4, "{check:?}");
        }
    }

    #[test]
    fn an_error_that_rounding_does_not_explain_fails() {
        let exact = Found { loss: 5.0, others: vec![3.0, 4.0] };
        let check = |loss: f64, second: f64, precision| {
            compared(String::new(), precision, &Found { loss, others: vec![3.0, second] }, &exact)
        };
        assert!(check(5.0, 4.0, Precision::F32).passes());
        assert!(!check(5.001, 4.0, Precision::F32).passes());
        assert!(!check(5.0, 4.01, Precision::F32).passes());
        assert!(check(5.0, 4.01, Precision::F16).passes());
        assert!(!check(f64::NAN, 4.0, Precision::Bf16).passes());
        assert!(!check(5.0, f64::NAN, Precision::Bf16).passes());
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        assert!(check_device(DeviceChoice::Cuda(99), |_| true).is_err());
    }
}
