//! Every architecture with every norm placement.

mod blocks;
mod gradients;
mod invariance;
mod parameters;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{Model, ModelInput, ParameterSet, specifications};
use crate::{
    attention::ModelPlan,
    config::{Architecture, NormPlacement, RunConfig},
    ops::random::{Purpose, Stream},
};

const VOCABULARY: usize = 19;
const POSITIONS: usize = 9;

fn plan(kind: Architecture, norm: NormPlacement) -> ModelPlan {
    let mut config = RunConfig::default();
    config.model.kind = kind;
    config.model.norm = norm;
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 3, 15, 11);
    config.data.sequence_length = POSITIONS;
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// Every plan that the conformance tests go through.
fn plans() -> Vec<ModelPlan> {
    Architecture::ALL.iter().flat_map(|&kind| NormPlacement::ALL.map(|norm| plan(kind, norm))).collect()
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
