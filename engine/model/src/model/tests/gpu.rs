//! Models on the kernels of a GPU, emulated, beside the same models on the processor.

use std::collections::BTreeMap;

use super::*;
use crate::{
    config::{MapMemoryChoice, Symmetric},
    model::ForwardOptions,
    ops::{AdamW, AdamWConfig, Flows, Gradients, emulating, profile},
};

/// The loss and all gradients of one pass with dropout and padding.
fn pass(plan: &ModelPlan, dtype: DType, map_memory: MapMemoryChoice) -> (f64, BTreeMap<String, Tensor>) {
    let parameters = wide(plan, dtype);
    let (b, t) = (2, POSITIONS);
    let mut input = input(&tokens(b, t), b, t);
    let mask: Vec<u8> = (0..b * t).map(|i| u8::from(i != b * t - 1)).collect();
    input.key_mask = Some(Tensor::from_vec(mask, (b, t), &Device::Cpu).unwrap());
    let options = ForwardOptions { dropout: Some((3, 4)), map_memory, ..ForwardOptions::default() };
    let model = Model::trainable(plan, &parameters).unwrap();
    let loss = model.loss(&input, &labels(b, t), &options).unwrap();
    model.backward(&loss).unwrap();
    let gradients = model.gradients().unwrap().iter().map(|(name, gradient)| (name.to_owned(), gradient)).collect();
    (numbers(&loss.loss)[0], gradients)
}

#[test]
fn every_family_and_schedule_has_the_loss_and_the_gradients_of_the_processor() {
    const BOTH: [MapMemoryChoice; 2] = [MapMemoryChoice::Keep, MapMemoryChoice::Recompute];
    // Every second one: all families and schedules, each of them in one of the architectures.
    let alternating = family_plans().into_iter().enumerate().filter(|(number, _)| (number / 2 + number) % 2 == 0);
    let alternating = alternating.map(|(number, plan)| (plan, &BOTH[number / 2 % 2..=number / 2 % 2]));
    let others = plans().into_iter().chain(mixed_plans()).map(|plan| (plan, BOTH.as_slice()));
    for (mut plan, memories) in alternating.chain(others) {
        plan.stack.norm_epsilon = 1e-3;
        plan.stack.dropout = 0.2;
        let (loss, gradients) = pass(&plan, DType::F64, MapMemoryChoice::Keep);
        for &memory in memories {
            let what = |name: &str| {
                format!("{name} of {:?}, {:?}, {memory:?}", plan.stack.compatibility, plan.stack.head_plan)
            };
            let (gpu_loss, gpu_gradients) = emulating(|| pass(&plan, DType::F64, memory));
            assert!((loss - gpu_loss).abs() < 1e-11, "{}: {gpu_loss} instead of {loss}", what("the loss"));
            assert!(gradients.keys().eq(gpu_gradients.keys()));
            for (name, gradient) in &gradients {
                let largest = numbers(gradient).iter().fold(1e-3, |a: f64, x| a.max(x.abs()));
                let difference = largest_difference(gradient, &gpu_gradients[name]);
                assert!(difference < 1e-9 * largest, "{}: {difference} of {largest}", what(name));
            }
        }
    }
}

#[test]
fn gradients_of_standard_models_never_go_through_the_pass_of_candle() {
    for dtype in [DType::F32, DType::BF16] {
        for plan in plans() {
            let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
            let gradients = Gradients::new(&parameters.optimiser_parameters()).unwrap();
            let (b, t) = (2, POSITIONS);
            let is_known = |labels: &[i64]| {
                let model = Model::trainable_in(&plan, &parameters, dtype, &gradients).unwrap();
                let loss = model.loss(&input(&tokens(b, t), b, t), labels, &ForwardOptions::default()).unwrap();
                Flows::of(&loss.loss).is_some()
            };
            // On the processor rows that are picked are candle's.
            if dtype == DType::F32 && plan.stack.is_causal && plan.encoder.is_none() {
                let all: Vec<i64> = (0..b * t).map(|place| (place % VOCABULARY) as i64).collect();
                assert!(is_known(&all), "{:?}, on the processor", plan.stack.norm);
            }
            assert!(emulating(|| is_known(&labels(b, t))), "{:?}, {dtype:?}", plan.stack.norm);
        }
    }
}

#[test]
fn queries_keys_and_values_of_standard_heads_are_one_product() {
    let mut config = RunConfig::default();
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 2, 64, 40);
    config.data.sequence_length = POSITIONS;
    for kind in ModelKind::LANGUAGE_MODELS {
        config.model.kind = kind;
        for compatibility in [Compatibility::default(), Compatibility::Symmetric(Symmetric::default())] {
            config.attention.compatibility = compatibility.clone();
            let plan = ModelPlan::resolve(&config, VOCABULARY).unwrap();
            let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
            let (b, t) = (2, POSITIONS);
            let run = |dtype| {
                let gradients = Gradients::new(&parameters.optimiser_parameters()).unwrap();
                let model = Model::trainable_in(&plan, &parameters, dtype, &gradients).unwrap();
                let mut input = input(&tokens(b, t), b, t);
                let mask: Vec<u8> = (0..b * t).map(|i| u8::from(i != b * t - 1)).collect();
                input.key_mask = Some(Tensor::from_vec(mask, (b, t), &Device::Cpu).unwrap());
                let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
                let loss = model.loss(&input, &labels(b, t), &options).unwrap();
                let is_known = Flows::of(&loss.loss).is_some();
                assert!(is_known || dtype == DType::F32, "{kind:?}");
                model.backward(&loss).unwrap();
                let all: Vec<(String, Vec<f64>)> =
                    gradients.iter().map(|(name, gradient)| (name.to_owned(), numbers(&gradient))).collect();
                (numbers(&loss.loss)[0], all)
            };
            let exact = run(DType::F32);
            let (found, operations) = profile::record(|| emulating(|| run(DType::BF16)));
            let is_joint = operations.iter().any(|of| of.name == "attention: queries, keys and values");
            assert_eq!(is_joint, compatibility == Compatibility::default(), "{compatibility:?}");
            assert!((exact.0 / found.0 - 1.0).abs() < 1e-2, "{} instead of {}", found.0, exact.0);
            for ((name, exact), (_, found)) in exact.1.iter().zip(&found.1) {
                let largest = exact.iter().fold(1e-4, |largest: f64, x| largest.max(x.abs()));
                let apart = exact.iter().zip(found).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
                assert!(apart < 0.1 * largest, "{name} of {compatibility:?}: {apart} of {largest}");
            }
        }
    }
}

#[test]
fn three_steps_of_training_move_the_weights_as_on_the_processor() {
    for plan in plans() {
        let train = || {
            let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
            let model = Model::trainable(&plan, &parameters).unwrap();
            let mut optimiser = AdamW::new(parameters.optimiser_parameters(), AdamWConfig::default()).unwrap();
            let (b, t) = (2, POSITIONS);
            let mut losses = Vec::new();
            for step in 0..3 {
                losses.push(pass_of_step(&model, step));
                let gradients = model.gradients().unwrap();
                gradients.clip(1.0).unwrap();
                optimiser.step(gradients, 1e-2).unwrap();
            }
            let evaluation = frozen(&plan, &parameters).evaluate(&input(&tokens(b, t), b, t), &labels(b, t)).unwrap();
            losses.push(evaluation.loss_sum);
            losses
        };
        let (processor, gpu) = (train(), emulating(train));
        for (processor, gpu) in processor.iter().zip(&gpu) {
            // A gradient close to zero may move a weight the other way by the learning rate.
            assert!((processor / gpu - 1.0).abs() < 1e-3, "{gpu} instead of {processor}");
        }
        assert!(gpu[2] < gpu[0]);
    }
}

#[test]
fn a_profile_names_the_operations() {
    let plan = plan(ModelKind::Encoder, NormPlacement::Post);
    let ((_, gradients), operations) =
        profile::record(|| emulating(|| pass(&plan, DType::F32, MapMemoryChoice::Recompute)));
    assert!(!gradients.is_empty());
    for part in [
        "embeddings",
        "linear map",
        "linear map, gradient of weights",
        "attention: scores",
        "attention: softmax",
        "attention: products, gradient",
        "layer norm, gradient",
        "GELU",
        "loss, gradient",
    ] {
        let found = operations.iter().find(|operation| operation.name == part);
        assert!(found.is_some_and(|found| found.calls > 0 && found.bytes > 0), "{part}: {operations:?}");
    }
}

#[test]
fn maps_that_somebody_asks_for_are_there() {
    for plan in mixed_plans() {
        let parameters = wide(&plan, DType::F32);
        let (b, t) = (2, 6);
        let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
        let run = || frozen(&plan, &parameters).forward(&input(&tokens(b, t), b, t), &options).unwrap();
        let (processor, gpu) = (run(), emulating(run));
        assert_eq!(gpu.maps.len(), plan.stack.layers);
        for (processor, gpu) in processor.maps.iter().zip(&gpu.maps) {
            assert!(largest_difference(processor, gpu) < 1e-5, "{:?}", plan.stack.compatibility);
        }
        assert!(largest_difference(&processor.logits, &gpu.logits) < 1e-3, "{:?}", plan.stack.compatibility);
    }
}

#[test]
fn models_of_16_bits_train() {
    for dtype in [DType::F16, DType::BF16] {
        for plan in plans() {
            let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
            let (b, t) = (2, POSITIONS);
            for smoothing in [0.0, 0.1] {
                let run = || {
                    let gradients = Gradients::new(&parameters.optimiser_parameters()).unwrap();
                    let model = Model::trainable_in(&plan, &parameters, dtype, &gradients).unwrap();
                    let (input, options) = (input(&tokens(b, t), b, t), ForwardOptions::default());
                    let loss = model.smoothed_loss(&input, &labels(b, t), smoothing, &options).unwrap();
                    model.backward(&loss).unwrap();
                    (numbers(&loss.loss)[0], gradients.global_norm().unwrap())
                };
                let ((loss, norm), (gpu_loss, gpu_norm)) = (run(), emulating(run));
                assert!((loss / gpu_loss - 1.0).abs() < 2e-2, "{gpu_loss} instead of {loss}");
                assert!((norm / gpu_norm - 1.0).abs() < 1e-1, "{gpu_norm} instead of {norm}");
            }
        }
    }
}
