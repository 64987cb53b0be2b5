//! Every architecture with every norm placement.

mod blocks;
mod coverage;
mod decoding;
mod designs;
mod encoder_decoder;
mod families;
mod gpu;
mod gradients;
mod images;
mod invariance;
mod paired;
mod parameters;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{ForwardOptions, InputData, Model, ModelInput, ParameterSet, specifications};
use crate::{
    attention::{ModelPlan, StackName, StackPlan},
    config::{AttentionConfig, Compatibility, ModelKind, NormPlacement, Reuse, RunConfig},
    ops::random::{Purpose, Stream},
};

const VOCABULARY: usize = 19;
const POSITIONS: usize = 9;

fn plan(kind: ModelKind, norm: NormPlacement) -> ModelPlan {
    let mut config = RunConfig::default();
    config.model.kind = kind;
    config.model.norm = norm;
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 3, 15, 11);
    config.data.sequence_length = POSITIONS;
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// Every plan that the conformance tests go through.
fn plans() -> Vec<ModelPlan> {
    ModelKind::LANGUAGE_MODELS.iter().flat_map(|&kind| NormPlacement::ALL.map(|norm| plan(kind, norm))).collect()
}

/// A model of three layers of four heads of three numbers with these answers.
fn family_plan(kind: ModelKind, norm: NormPlacement, compatibility: Compatibility, reuse: Reuse) -> ModelPlan {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 12, 7);
    config.data.sequence_length = POSITIONS;
    config.attention = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// Every way to score a pair with every schedule, in the usual norm placement of both architectures.
fn family_plans() -> Vec<ModelPlan> {
    let mut plans = Vec::new();
    for compatibility in Compatibility::examples(4, 12) {
        for reuse in Reuse::examples(3, 4) {
            for (kind, norm) in [(ModelKind::Encoder, NormPlacement::Post), (ModelKind::Decoder, NormPlacement::Pre)] {
                plans.push(family_plan(kind, norm, compatibility.clone(), reuse.clone()));
            }
        }
    }
    plans
}

/// Every way to score a pair with heads that compute, borrow over two layers and are not there.
fn mixed_plans() -> Vec<ModelPlan> {
    let custom = || Reuse::examples(3, 4).pop().unwrap();
    let of = |(number, compatibility): (usize, Compatibility)| {
        let kind = ModelKind::LANGUAGE_MODELS[number % 2];
        family_plan(kind, NormPlacement::ALL[number / 2 % 2], compatibility, custom())
    };
    Compatibility::examples(4, 12).into_iter().enumerate().map(of).collect()
}

/// Weights far from their initial values, so that no gradient hides behind a zero or a symmetry.
fn wide(plan: &ModelPlan, dtype: DType) -> ParameterSet {
    let mut tensors = BTreeMap::new();
    for (i, specification) in specifications(plan).into_iter().enumerate() {
        let mut stream = Stream::new(7, Purpose::Test, i as u64);
        let middle = if specification.initial == super::Initial::Ones { 1.0 } else { 0.0 };
        let values: Vec<f64> =
            (0..specification.shape.iter().product()).map(|_| middle + 0.4 * stream.normal()).collect();
        let tensor = Tensor::from_vec(values, specification.shape, &Device::Cpu).unwrap();
        tensors.insert(specification.name, tensor.to_dtype(dtype).unwrap());
    }
    ParameterSet::from_tensors(plan, tensors).unwrap()
}

/// `b` rows of `t` random tokens.
fn tokens(b: usize, t: usize) -> Vec<u32> {
    let mut stream = Stream::new(11, Purpose::Test, 1000);
    (0..b * t).map(|_| stream.below(VOCABULARY as u64) as u32).collect()
}

fn input(ids: &[u32], b: usize, t: usize) -> ModelInput {
    ModelInput::new(ids, None, b, t, &Device::Cpu).unwrap()
}

/// A label at every second position.
fn labels(b: usize, t: usize) -> Vec<i64> {
    (0..b * t).map(|i| if i % 2 == 0 { (i * 5 % VOCABULARY) as i64 } else { super::IGNORED_LABEL }).collect()
}

/// One pass with the dropout of a step: its loss, with the gradients in the model's set.
fn pass_of_step(model: &Model, step: u64) -> f64 {
    let (b, t) = (2, POSITIONS);
    let options = ForwardOptions { dropout: Some((1, step)), ..ForwardOptions::default() };
    let loss = model.loss(&input(&tokens(b, t), b, t), &labels(b, t), &options).unwrap();
    model.gradients().unwrap().reset();
    model.backward(&loss).unwrap();
    numbers(&loss.loss)[0]
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.dims(), b.dims());
    numbers(a).iter().zip(numbers(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn frozen(plan: &ModelPlan, parameters: &ParameterSet) -> Model {
    Model::frozen(plan, parameters).unwrap()
}
