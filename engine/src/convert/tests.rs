//! Whole models against what they were.

use std::{collections::BTreeMap, ops::ControlFlow};

use candle_core::{DType, Device, Tensor};

use super::{Conversion, ConvertError, Converted, ToCollaborative, check, convert};
use crate::{
    attention::ModelPlan,
    config::{
        Architecture, AttentionConfig, Biases, Compatibility, Coverage, NormPlacement, NumberWordsSource, Pairwise,
        PartialCoverage, Reuse, RunConfig, Source, Standard,
    },
    model::{ForwardOptions, Initial, Model, ModelInput, ParameterSet, specifications},
    ops::random::{Purpose, Stream},
};

/// The largest difference, relative to the largest number expected, is at most `tolerance`.
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * largest, "{what}[{place}]: {found} instead of {expected}");
    }
}

const VOCABULARY: usize = 19;
const POSITIONS: usize = 9;

fn plan(kind: Architecture, norm: NormPlacement, biases: Biases, reuse: Reuse) -> ModelPlan {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 12, 7);
    config.data.sequence_length = POSITIONS;
    if kind == Architecture::EncoderDecoder {
        config.data.source = Source::NumberWords(NumberWordsSource::default());
    }
    let compatibility = Compatibility::Standard(Standard { biases });
    config.attention = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// Weights far from their initial values, biases too.
fn wide(plan: &ModelPlan, dtype: DType) -> ParameterSet {
    let mut tensors = BTreeMap::new();
    for (number, specification) in specifications(plan).into_iter().enumerate() {
        let mut stream = Stream::new(7, Purpose::Test, number as u64);
        let middle = if specification.initial == Initial::Ones { 1.0 } else { 0.0 };
        let count: usize = specification.shape.iter().product();
        let values: Vec<f64> = (0..count).map(|_| middle + 0.4 * stream.normal()).collect();
        let tensor = Tensor::from_vec(values, specification.shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap();
        tensors.insert(specification.name, tensor);
    }
    ParameterSet::from_tensors(plan, tensors).unwrap()
}

fn logits(plan: &ModelPlan, parameters: &ParameterSet) -> Vec<f64> {
    let mut stream = Stream::new(11, Purpose::Test, 1000);
    let ids: Vec<u32> = (0..2 * POSITIONS).map(|_| stream.below(VOCABULARY as u64) as u32).collect();
    let read = || ModelInput::new(&ids, None, 2, POSITIONS, &Device::Cpu).unwrap();
    let input = if plan.encoder.is_some() { read().with_encoder(read()) } else { read() };
    let model = Model::frozen(plan, parameters).unwrap();
    let output = model.forward(&input, &ForwardOptions::default()).unwrap();
    output.logits.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn to(d_k: usize) -> Conversion {
    Conversion::Collaborative(ToCollaborative { d_k, sweeps: 20, ..ToCollaborative::default() })
}

fn converted(plan: &ModelPlan, parameters: &ParameterSet, d_k: usize) -> Converted {
    convert(plan, parameters, &to(d_k), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Every architecture, norm placement, choice of biases and schedule: at the whole width the logits are what they were.
#[test]
fn models_of_the_whole_width_compute_what_they_did() {
    let kinds = [Architecture::Encoder, Architecture::Decoder, Architecture::EncoderDecoder];
    for (number, kind) in kinds.into_iter().enumerate() {
        for (biases, reuse) in Biases::ALL.into_iter().flat_map(|biases| {
            let every = Reuse::examples(3, 4);
            let usual = if biases == Biases::All { every } else { vec![Reuse::default()] };
            usual.into_iter().map(move |reuse| (biases, reuse))
        }) {
            if kind == Architecture::EncoderDecoder && reuse != Reuse::default() {
                continue;
            }
            let plan = plan(kind, NormPlacement::ALL[number % 2], biases, reuse.clone());
            for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
                let before = wide(&plan, dtype);
                let after = converted(&plan, &before, 12);
                let what = format!("{kind:?} {biases:?} {reuse:?} in {dtype:?}");
                close(&logits(&after.plan, &after.parameters), &logits(&plan, &before), tolerance, &what);
                assert!(after.attentions.iter().all(|one| one.relative_error < 1e-14 && one.sweeps == 0), "{what}");
                // Another model, not the same one with other names.
                assert!(after.plan != plan);
                let output = after.parameters.get(&format!("{}.0.self.output.weight", plan.stack.name.word()));
                assert_eq!(output.unwrap().dtype(), dtype);
            }
        }
    }
}

#[test]
fn narrower_models_have_the_error_that_is_told() {
    let plan = plan(Architecture::Decoder, NormPlacement::Pre, Biases::All, Reuse::default());
    let before = wide(&plan, DType::F64);
    let mut last = f64::INFINITY;
    for d_k in [3, 6, 11] {
        let mut names = Vec::new();
        let after = convert(&plan, &before, &to(d_k), &mut |progress| {
            assert!(progress.count == 3 && progress.number < 3 && progress.relative_error < 1.0);
            names.push(progress.attention.to_owned());
            ControlFlow::Continue(())
        });
        let after = after.unwrap();
        names.dedup();
        assert_eq!(names, ["decoder.0.self", "decoder.1.self", "decoder.2.self"]);
        let error: f64 = after.attentions.iter().map(|one| one.relative_error).sum::<f64>() / 3.0;
        assert!(error > 1e-3 && error < last, "{error} at {d_k}");
        last = error;
        assert_eq!(after.parameters.get("decoder.0.self.query.weight").unwrap().dims(), [12, d_k]);
        // Everything but queries and keys stayed.
        for name in ["decoder.1.self.output.weight", "input.tokens.weight"] {
            let [own, other] = [&before, &after.parameters]
                .map(|set| set.get(name).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap());
            assert_eq!(own, other, "{name}");
        }
        assert!(logits(&after.plan, &after.parameters).iter().all(|logit| logit.is_finite()));
    }
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let plan = plan(Architecture::Encoder, NormPlacement::Post, Biases::All, Reuse::default());
    let told = |plan: &ModelPlan, d_k: usize| {
        let error = check(plan, &to(d_k)).unwrap_err();
        assert!(error.is_refusal());
        error.to_string()
    };
    assert!(told(&plan, 0).contains("at least 1 and at most 12"));
    assert!(told(&plan, 13).starts_with("A shared width of 13"));
    let mut other = plan.clone();
    other.stack.compatibility = Compatibility::Pairwise(Pairwise {});
    let words = told(&other, 6);
    assert!(words.contains("encoder.0.self") && words.contains("\"pairwise\""), "{words}");
    let twice = check(&plan, &to(6)).unwrap();
    assert!(told(&twice, 6).contains("collaborative"));
    let left_out = plan.with_coverage(Coverage::Partial(PartialCoverage::default()));
    assert!(told(&left_out, 6).contains("does not score every pair"));
    let before = wide(&plan, DType::F32);
    let stopped = convert(&plan, &before, &to(6), &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(ConvertError::Stopped)));
}
