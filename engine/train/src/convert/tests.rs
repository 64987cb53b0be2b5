//! Whole models against what they were.

use std::{collections::BTreeMap, ops::ControlFlow};

use candle_core::{DType, Device, Tensor};

use super::{
    Conversion, ConvertError, Converted, Lenders, ModelOnText, PairsLeftOut, ToBorrow, ToCollaborative, ToGrouped,
    WithoutKeyBiases, check, convert, price,
};
use crate::{
    attention::{Cell, Draft, HeadAt, HeadPlan, ModelPlan},
    config::{
        AttentionConfig, Biases, Compatibility, Coverage, ModelKind, NormPlacement, NumberWordsSource, Pairwise,
        PartialCoverage, Reuse, RunConfig, Source, Standard,
    },
    model::{ForwardOptions, Initial, Model, ModelInput, ParameterSet, specifications},
    objective::Batch,
    ops::random::{Purpose, Stream},
};

/// The largest difference, relative to the largest number expected, is at most `tolerance`.
pub(super) fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * largest, "{what}[{place}]: {found} instead of {expected}");
    }
}

const VOCABULARY: usize = 19;
const POSITIONS: usize = 9;

pub(super) fn plan(kind: ModelKind, norm: NormPlacement, biases: Biases, reuse: Reuse) -> ModelPlan {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 12, 7);
    config.data.sequence_length = POSITIONS;
    if kind == ModelKind::EncoderDecoder {
        config.data.source = Source::NumberWords(NumberWordsSource::default());
    }
    let compatibility = Compatibility::Standard(Standard { biases });
    config.attention = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// Weights far from their initial values, biases too.
pub(super) fn wide(plan: &ModelPlan, dtype: DType) -> ParameterSet {
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

pub(super) fn logits(plan: &ModelPlan, parameters: &ParameterSet) -> Vec<f64> {
    let mut stream = Stream::new(11, Purpose::Test, 1000);
    let ids: Vec<u32> = (0..2 * POSITIONS).map(|_| stream.below(VOCABULARY as u64) as u32).collect();
    let read = || ModelInput::new(&ids, None, 2, POSITIONS, &Device::Cpu).unwrap();
    let input = if plan.encoder.is_some() { read().with_encoder(read()) } else { read() };
    let model = Model::frozen(plan, parameters).unwrap();
    let output = model.forward(&input, &ForwardOptions::default()).unwrap();
    output.logits.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn shared(d_k: usize) -> ToCollaborative {
    ToCollaborative { d_k, sweeps: 20, ..ToCollaborative::default() }
}

fn to(d_k: usize) -> Conversion {
    Conversion::Collaborative(shared(d_k))
}

/// A text on which these heads are to borrow.
struct Says<'a>(&'a HeadPlan);

impl ModelOnText for Says<'_> {
    fn lenders(&self, _: f64) -> Result<Lenders, ConvertError> {
        Ok(Lenders { heads: self.0.clone(), reuse: Reuse::Custom(self.0.to_custom()), summary: "some".to_owned() })
    }

    fn leave_out(&self, _: &Coverage, _: usize) -> Result<PairsLeftOut, ConvertError> {
        Err(ConvertError::NoText)
    }
}

fn by(plan: &ModelPlan, parameters: &ParameterSet, conversion: &Conversion) -> Converted {
    convert((plan, parameters), conversion, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn borrowed(plan: &ModelPlan, parameters: &ParameterSet, heads: &HeadPlan, merges: bool) -> Converted {
    let conversion = Conversion::Borrow(ToBorrow { merges, ..ToBorrow::default() });
    convert((plan, parameters), &conversion, Some(&Says(heads)), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn grouped(kv_heads: usize) -> Conversion {
    Conversion::Grouped(ToGrouped { kv_heads })
}

fn converted(plan: &ModelPlan, parameters: &ParameterSet, d_k: usize) -> Converted {
    by(plan, parameters, &to(d_k))
}

/// Every architecture, norm placement, choice of biases and schedule: at the whole width the logits are what they were.
#[test]
fn models_of_the_whole_width_compute_what_they_did() {
    let kinds = [ModelKind::Encoder, ModelKind::Decoder, ModelKind::EncoderDecoder];
    for (number, kind) in kinds.into_iter().enumerate() {
        for (biases, reuse) in Biases::ALL.into_iter().flat_map(|biases| {
            let every = Reuse::examples(3, 4);
            let usual = if biases == Biases::All { every } else { vec![Reuse::default()] };
            usual.into_iter().map(move |reuse| (biases, reuse))
        }) {
            if kind == ModelKind::EncoderDecoder && reuse != Reuse::default() {
                continue;
            }
            let plan = plan(kind, NormPlacement::ALL[number % 2], biases, reuse.clone());
            for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
                let before = wide(&plan, dtype);
                let after = converted(&plan, &before, 12);
                let what = format!("{kind:?} {biases:?} {reuse:?} in {dtype:?}");
                close(&logits(&after.plan, &after.parameters), &logits(&plan, &before), tolerance, &what);
                assert!(
                    after.attentions.iter().all(|one| one.relative_error.unwrap() < 1e-14 && one.sweeps == 0),
                    "{what}"
                );
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
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre, Biases::All, Reuse::default());
    let before = wide(&plan, DType::F64);
    let mut last = f64::INFINITY;
    for d_k in [3, 6, 11] {
        let mut names = Vec::new();
        let after = convert((&plan, &before), &to(d_k), None, &mut |progress| {
            assert!(progress.count == 3 && progress.number < 3 && progress.relative_error < 1.0);
            names.push(progress.attention.to_owned());
            ControlFlow::Continue(())
        });
        let after = after.unwrap();
        names.dedup();
        assert_eq!(names, ["decoder.0.self", "decoder.1.self", "decoder.2.self"]);
        let error: f64 = after.attentions.iter().filter_map(|one| one.relative_error).sum::<f64>() / 3.0;
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
    let plan = plan(ModelKind::Encoder, NormPlacement::Post, Biases::All, Reuse::default());
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
    check(&plan, &to(6)).unwrap();
    let twice = converted(&plan, &wide(&plan, DType::F32), 6).plan;
    assert!(told(&twice, 6).contains("collaborative"));
    let left_out = plan.with_coverage(Coverage::Partial(PartialCoverage::default()));
    assert!(told(&left_out, 6).contains("does not score every pair"));
    let before = wide(&plan, DType::F32);
    let stopped = convert((&plan, &before), &to(6), None, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(ConvertError::Stopped)));
}

/// The model with other weights of some names.
pub(super) fn changed(plan: &ModelPlan, from: &ParameterSet, change: impl Fn(&str, Tensor) -> Tensor) -> ParameterSet {
    let tensors = from.tensors().into_iter().map(|(name, tensor)| {
        let new = change(&name, tensor);
        (name, new)
    });
    ParameterSet::from_tensors(plan, tensors.collect()).unwrap()
}

#[test]
fn key_biases_change_nothing() {
    for (number, kind) in ModelKind::ALL.into_iter().enumerate() {
        let plan = plan(kind, NormPlacement::ALL[number % 2], Biases::All, Reuse::default());
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
            let before = wide(&plan, dtype);
            let after = by(&plan, &before, &Conversion::WithoutKeyBiases(WithoutKeyBiases {}));
            close(&logits(&after.plan, &after.parameters), &logits(&plan, &before), tolerance, &format!("{kind:?}"));
            assert!(after.parameters.count() < before.count());
            let error = check(&after.plan, &Conversion::WithoutKeyBiases(WithoutKeyBiases {})).unwrap_err();
            assert!(error.is_refusal() && error.to_string().contains("no key biases"));
        }
    }
}

/// A group of one head each loses nothing; a mean of several is what standard attention computes whose heads all have it.
#[test]
fn groups_have_the_mean_of_their_heads() {
    for (number, kind) in ModelKind::ALL.into_iter().enumerate() {
        let reuses = if kind == ModelKind::EncoderDecoder { vec![Reuse::default()] } else { Reuse::examples(3, 4) };
        for reuse in reuses {
            let what = format!("{kind:?} {reuse:?}");
            let plan = plan(kind, NormPlacement::ALL[number % 2], Biases::All, reuse);
            let before = wide(&plan, DType::F64);
            let exact = by(&plan, &before, &grouped(4));
            close(&logits(&exact.plan, &exact.parameters), &logits(&plan, &before), 1e-12, &what);
            assert!(exact.attentions.iter().all(|one| one.relative_error.unwrap_or(0.0) == 0.0), "{what}");
            let half = by(&plan, &before, &grouped(2));
            assert!(half.parameters.count() < exact.parameters.count());
            let errors: Vec<f64> = half.attentions.iter().filter_map(|one| one.relative_error).collect();
            // Random heads have nothing in common: the mean of two loses about half of each. A layer can compute one head of a
            // group alone.
            assert!(errors.iter().all(|error| (0.0..0.95).contains(error)), "{what}: {errors:?}");
            assert!(errors.iter().any(|error| *error > 0.4), "{what}: {errors:?}");
        }
    }
    let plan = plan(ModelKind::Encoder, NormPlacement::Post, Biases::All, Reuse::default());
    let before = wide(&plan, DType::F64);
    let half = by(&plan, &before, &grouped(2));
    let same = changed(&plan, &before, |name, tensor| {
        if !(name.contains(".self.key.") || name.contains(".self.value.")) {
            return tensor;
        }
        // Columns of heads are rows here: BERT has outputs first.
        let heads: Vec<Tensor> = (0..4).map(|head| tensor.narrow(0, head * 3, 3).unwrap()).collect();
        let mean = |a: usize| ((&heads[a] + &heads[a + 1]).unwrap() / 2.0).unwrap();
        Tensor::cat(&[mean(0), mean(0), mean(2), mean(2)], 0).unwrap()
    });
    close(&logits(&half.plan, &half.parameters), &logits(&plan, &same), 1e-12, "means");
    let error = check(&plan, &grouped(3)).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("divisor of 4"));
}

/// A plan of three layers of four heads in which some of the last two layers borrow.
fn borrowing() -> HeadPlan {
    let computes = vec![Draft::Compute; 4];
    let from = |head: usize| Draft::Borrow { from: HeadAt::new(0, head) };
    let some = vec![Draft::Compute, from(1), Draft::Compute, from(3)];
    let all = vec![from(0), from(1), from(1), from(2)];
    HeadPlan::from_drafts(&[computes, some, all]).unwrap()
}

/// Whose layers leave the stream as it is and have the same norms, so that a head's map follows from its own weights alone.
fn still(plan: &ModelPlan, heads: &HeadPlan) -> ParameterSet {
    let before = wide(plan, DType::F64);
    let all = before.tensors();
    changed(plan, &before, |name, tensor| {
        let of_first = |name: &str| name.replace("decoder.1.", "decoder.0.").replace("decoder.2.", "decoder.0.");
        let in_layers = (0..3).find(|layer| name.starts_with(&format!("decoder.{layer}.")));
        let Some(layer) = in_layers else { return tensor };
        if name.contains(".output.") || name.contains(".out.") {
            return tensor.zeros_like().unwrap();
        }
        if name.contains("norm") {
            return all.get(&of_first(name)).unwrap().clone();
        }
        if !name.contains("query_key_value") {
            return tensor;
        }
        // Columns of queries and keys of a head that is to borrow are its lender's.
        let side = usize::from(name.ends_with("weight"));
        let first = all.get(&of_first(name)).unwrap();
        let block = |from: &Tensor, which: usize, head: usize| from.narrow(side, which * 12 + head * 3, 3).unwrap();
        let blocks: Vec<Tensor> = (0..3)
            .flat_map(|which| (0..4).map(move |head| (which, head)))
            .map(|(which, head)| match heads.origin(HeadAt::new(layer, head)) {
                Some(origin) if which < 2 && origin.layer == 0 => block(first, which, origin.head),
                _ => block(&tensor, which, head),
            })
            .collect();
        Tensor::cat(&blocks, side).unwrap()
    })
}

/// Where borrowers have the maps of their lenders already, nothing changes, merged or not; only what is not needed goes.
#[test]
fn heads_borrow_what_they_had() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre, Biases::All, Reuse::default());
    let heads = borrowing();
    let before = still(&plan, &heads);
    for merges in [false, true] {
        let after = borrowed(&plan, &before, &heads, merges);
        assert_eq!(after.plan.stack.head_plan, heads);
        close(&logits(&after.plan, &after.parameters), &logits(&plan, &before), 1e-9, &format!("merges {merges}"));
        let errors: Vec<Option<f64>> = after.attentions.iter().map(|one| one.relative_error).collect();
        assert!(errors[0].unwrap() < 1e-6 && errors[1].unwrap() < 1e-6 && errors[2].is_none(), "{errors:?}");
        let dims = |name: &str| after.parameters.get(name).map(|tensor| tensor.dims().to_vec());
        assert_eq!(dims("decoder.1.self.query.weight"), Some(vec![12, 6]));
        // Layers in which every head computes are saved as ever.
        assert_eq!(dims("decoder.0.self.query_key_value.weight"), Some(vec![12, 36]));
        if !merges {
            let joined = |set: &ParameterSet| {
                let tensor = set.get("decoder.0.self.query_key_value.weight").unwrap();
                tensor.flatten_all().unwrap().to_vec1::<f64>().unwrap()
            };
            assert_eq!(joined(&before), joined(&after.parameters));
        }
    }
}

/// The maps of a borrower are its lender's, whatever the weights; and a merged lender is nearer to the mean of all than it was.
#[test]
fn lenders_lend_and_merged_ones_are_nearer_to_all() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre, Biases::All, Reuse::default());
    let (heads, before) = (borrowing(), wide(&plan, DType::F64));
    let maps = |converted: &Converted| {
        let ids: Vec<u32> = (0..POSITIONS as u32).collect();
        let input = ModelInput::new(&ids, None, 1, POSITIONS, &Device::Cpu).unwrap();
        let model = Model::frozen(&converted.plan, &converted.parameters).unwrap();
        model.attend(&input, &ForwardOptions { keep_maps: true, ..ForwardOptions::default() }).unwrap().maps
    };
    let map = |maps: &[Tensor], at: HeadAt| {
        maps[at.layer].narrow(1, at.head, 1).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap()
    };
    let [plain, merged] = [false, true].map(|merges| borrowed(&plan, &before, &heads, merges));
    let found = maps(&plain);
    for (at, cell) in heads.iter().filter(|(_, cell)| matches!(cell, Cell::Borrow { .. })) {
        assert_eq!(map(&found, at), map(&found, heads.origin(at).unwrap()), "{at:?} {cell:?}");
    }
    assert!(plain.attentions[0].relative_error.unwrap() == 0.0);
    assert!(merged.attentions[0].relative_error.unwrap() > 0.05);
    // Products of augmented queries and keys: of all heads before, of the lender now.
    let product = |set: &ParameterSet, layer: usize, head: usize| {
        let joined =
            |of: &str| set.get(&format!("decoder.{layer}.self.query_key_value.{of}")).unwrap().as_detached_tensor();
        let (weight, bias) = (joined("weight"), joined("bias").reshape((1, 36)).unwrap());
        let query = Tensor::cat(&[weight.clone(), bias], 0).unwrap().narrow(1, head * 3, 3).unwrap();
        let key = weight.narrow(1, 12 + head * 3, 3).unwrap();
        query.matmul(&key.t().unwrap()).unwrap()
    };
    for lender in 0..4 {
        let users: Vec<HeadAt> = (1..3)
            .flat_map(|layer| (0..4).map(move |head| HeadAt::new(layer, head)))
            .filter(|at| heads.origin(*at) == Some(HeadAt::new(0, lender)))
            .collect();
        let own = product(&before, 0, lender);
        let sum = users.iter().fold(own.clone(), |sum, at| (sum + product(&before, at.layer, at.head)).unwrap());
        let mean = (sum / (users.len() + 1) as f64).unwrap();
        let away = |from: &Tensor| {
            (from - &mean).unwrap().sqr().unwrap().sum_all().unwrap().to_scalar::<f64>().unwrap().sqrt()
        };
        let (was, is) = (away(&own), away(&product(&merged.parameters, 0, lender)));
        assert!(!users.is_empty() && is < 0.999 * was, "{lender}: {is} {was}");
    }
}

#[test]
fn a_price_is_what_maps_and_streams_say() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre, Biases::All, Reuse::default());
    let before = wide(&plan, DType::F64);
    let after = by(&plan, &before, &grouped(1));
    let models = [Model::frozen(&plan, &before).unwrap(), Model::frozen(&after.plan, &after.parameters).unwrap()];
    let batch = |first: u32| Batch {
        input_ids: (0..2 * POSITIONS as u32).map(|n| (n * 7 + first) % 19).collect(),
        labels: vec![0; 2 * POSITIONS],
        key_mask: None,
        batch: 2,
        sequence: POSITIONS,
        sources: None,
        token_types: None,
        answers: None,
        pixels: None,
    };
    let batches = || [batch(0), batch(5)].into_iter();
    let nothing = price([&models[0], &models[0]], batches(), &|| false).unwrap().unwrap();
    assert_eq!((nothing.examples, nothing.tokens), (4, POSITIONS));
    assert!(nothing.layers.iter().all(|layer| layer.output_error == 0.0 && layer.map_distance == Some(0.0)));
    let found = price([&models[0], &models[1]], batches(), &|| false).unwrap().unwrap();
    let options = ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() };
    let (mut distance, mut rows, mut lost, mut all) = (0.0, 0.0, 0.0, 0.0);
    for batch in batches() {
        let [old, new] = [0, 1].map(|n| models[n].attend(&batch.input(&models[n]).unwrap(), &options).unwrap());
        let flat = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let (a, b) = (flat(&old.maps[2]), flat(&new.maps[2]));
        for (a, b) in a.chunks(POSITIONS).zip(b.chunks(POSITIONS)) {
            distance += a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
            rows += 1.0;
        }
        for (a, b) in flat(&old.hidden[3]).iter().zip(flat(&new.hidden[3])) {
            (lost, all) = (lost + (a - b).powi(2), all + a * a);
        }
    }
    let last = found.layers[2];
    close(&[last.map_distance.unwrap()], &[distance / rows], 1e-12, "distance");
    close(&[last.output_error], &[f64::sqrt(lost / all)], 1e-12, "output");
    assert!(price([&models[0], &models[1]], batches(), &|| true).unwrap().is_none());
}

#[test]
fn what_cannot_borrow_is_refused() {
    let told = |kind: ModelKind, similarity: f64| {
        let plan = plan(kind, NormPlacement::Post, Biases::All, Reuse::default());
        check(&plan, &Conversion::Borrow(ToBorrow { similarity, merges: false })).unwrap_err().to_string()
    };
    assert!(told(ModelKind::Encoder, 1.5).contains("similarity of 1.5 is out of range"));
    assert!(told(ModelKind::Encoder, f64::NAN).contains("out of range"));
    assert!(told(ModelKind::EncoderDecoder, 0.9).contains("one stack"));
}
