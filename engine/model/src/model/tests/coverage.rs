//! Models that do not use every score.

use candle_core::DType;

use super::*;
use crate::{
    attention::{Cost, Workload},
    config::{Coverage, EigenCoverage, PartialCoverage, Precision, Restore},
    model::{CoverageState, ForwardOptions, ModelError},
    ops::{AdamW, AdamWConfig, PairSets},
};

const K: usize = 3;

fn partial(plan: &ModelPlan, restore: Restore) -> ModelPlan {
    let coverage = Coverage::Partial(PartialCoverage { k: K, restore, ..PartialCoverage::default() });
    plan.with_coverage(coverage)
}

/// Every way to score a pair with some schedules and each way to train R.
fn partial_plans() -> Vec<ModelPlan> {
    let schedules = |plan: &ModelPlan| plan.stack.head_plan.computed(0) > 0;
    let numbered = family_plans().into_iter().filter(schedules).chain(mixed_plans()).enumerate();
    numbered.map(|(number, plan)| partial(&plan, Restore::ALL[number % 3])).collect()
}

/// Weights far from their initial values, with pairs of its own for every query.
fn weights(plan: &ModelPlan, dtype: DType) -> ParameterSet {
    let mut tensors = wide(&plan.exact(), dtype).tensors();
    for (name, tensor) in ParameterSet::init(plan, 3, dtype, &Device::Cpu).unwrap().tensors() {
        tensors.entry(name).or_insert(tensor);
    }
    ParameterSet::from_tensors(plan, tensors).unwrap()
}

#[test]
fn every_legal_combination_trains_and_every_variable_has_a_gradient() {
    for plan in partial_plans() {
        let StackPlan { name, compatibility, head_plan, coverage, .. } = &plan.stack;
        let what = format!("{name:?} {compatibility:?} {head_plan:?} {coverage:?}");
        let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
        let cost = Cost::of(&plan, &Workload::inference(1, POSITIONS, Precision::F32));
        assert_eq!(cost.parameters, parameters.count(), "{what}");
        let fixed = parameters.state().clone();
        let model = Model::trainable(&plan, &parameters).unwrap();
        let mut optimiser = AdamW::new(parameters.optimiser_parameters(), AdamWConfig::default()).unwrap();
        let mut losses = Vec::new();
        for step in 0..3 {
            losses.push(pass_of_step(&model, step));
            let gradients = model.gradients().unwrap();
            assert_eq!(gradients.first_non_finite().unwrap(), None, "{what}");
            for (name, gradient) in gradients.iter() {
                // A key bias does nothing in the last layer, which scores every pair.
                let is_zero = numbers(&gradient).iter().all(|x| *x == 0.0);
                assert!(!is_zero || name.ends_with("key.bias"), "{name} of {what}");
            }
            optimiser.step(gradients, 1e-2).unwrap();
        }
        assert!(losses[2] < losses[0] && losses[2].is_finite(), "{what}: {losses:?}");
        for (name, tensor) in parameters.state() {
            assert_eq!(largest_difference(tensor, &fixed[name]), 0.0, "{name} was changed");
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (b, t) = (2, POSITIONS);
    for (number, plan) in plans().into_iter().chain(mixed_plans()).enumerate() {
        let mut plan = partial(&plan, Restore::ALL[1 + number % 2]);
        plan.stack.norm_epsilon = 1e-3;
        let parameters = weights(&plan, DType::F64);
        let (input, labels, options) = (input(&tokens(b, t), b, t), labels(b, t), ForwardOptions::default());
        let model = Model::trainable(&plan, &parameters).unwrap();
        model.backward(&model.loss(&input, &labels, &options).unwrap()).unwrap();
        let store = model.gradients().unwrap();
        let frozen = frozen(&plan, &parameters);
        let loss = || frozen.loss(&input, &labels, &options).unwrap().loss.to_scalar::<f64>().unwrap();
        for (name, variable) in parameters.iter() {
            let (gradient, values) = (numbers(&store.get(name).unwrap()), numbers(variable));
            for i in (0..values.len()).rev().step_by(values.len().div_ceil(6)) {
                let moved = |by: f64| {
                    let mut values = values.clone();
                    values[i] += by;
                    variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()).unwrap();
                    loss()
                };
                let step = 1e-5;
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                moved(0.0);
                assert!(
                    (difference - gradient[i]).abs() < 1e-8 + 1e-6 * difference.abs(),
                    "{name}[{i}] of {:?}: {} by backward, {difference} by difference",
                    plan.stack.compatibility,
                    gradient[i],
                );
            }
        }
    }
}

/// The same numbers through the composed operations of other devices, whose rounding is that of half precision.
#[test]
fn half_precision_follows_single_precision() {
    for plan in plans() {
        let plan = partial(&plan, Restore::PerLayer);
        let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
        let (input, labels) = (input(&tokens(2, POSITIONS), 2, POSITIONS), labels(2, POSITIONS));
        let loss = |model: &Model| model.evaluate(&input, &labels).unwrap().loss();
        let single = loss(&frozen(&plan, &parameters));
        let half = loss(&Model::frozen_in(&plan, &parameters, DType::F16).unwrap());
        assert!((single - half).abs() < 5e-3 * single, "{single} {half}");
        let gradients = crate::ops::Gradients::new(&parameters.optimiser_parameters()).unwrap();
        let model = Model::trainable_in(&plan, &parameters, DType::F16, &gradients).unwrap();
        model.backward(&model.loss(&input, &labels, &ForwardOptions::default()).unwrap()).unwrap();
        assert_eq!(gradients.first_non_finite().unwrap(), None);
    }
}

#[test]
fn a_decoder_never_looks_ahead_and_reads_shorter_texts() {
    for plan in partial_plans().into_iter().filter(|plan| plan.stack.is_causal).step_by(5) {
        let model = frozen(&plan, &weights(&plan, DType::F64));
        let ids = tokens(1, POSITIONS);
        let logits = |ids: &[u32]| model.forward(&input(ids, 1, ids.len()), &ForwardOptions::default()).unwrap().logits;
        let before = logits(&ids);
        for changed in 1..POSITIONS {
            let mut other = ids.clone();
            other[changed] = (other[changed] + 1) % VOCABULARY as u32;
            let part = |logits: &Tensor| logits.narrow(1, 0, changed).unwrap();
            assert_eq!(largest_difference(&part(&before), &part(&logits(&other))), 0.0, "token {changed}");
            let short = logits(&ids[..changed]);
            assert!(largest_difference(&part(&before), &short) < 1e-12, "{changed} tokens");
        }
    }
}

#[test]
fn an_encoder_pads_shorter_texts_to_its_length() {
    for plan in partial_plans().into_iter().filter(|plan| !plan.stack.is_causal).step_by(7) {
        let model = frozen(&plan, &weights(&plan, DType::F64));
        let (b, length) = (2, 5);
        let options = ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() };
        let short = model.forward(&input(&tokens(b, length), b, length), &options).unwrap();
        let mut padded = Vec::new();
        for row in tokens(b, length).chunks(length) {
            padded.extend(row.iter().copied().chain([0; POSITIONS - 5]));
        }
        let mask: Vec<u8> = (0..b * POSITIONS).map(|i| u8::from(i % POSITIONS < length)).collect();
        let whole = ModelInput::new(&padded, Some(&mask), b, POSITIONS, &Device::Cpu).unwrap();
        let whole = model.forward(&whole, &options).unwrap();
        let cut = |tensor: &Tensor| tensor.narrow(1, 0, length).unwrap();
        // Products over fewer rows are cut otherwise: rounding.
        assert!(largest_difference(&short.logits, &cut(&whole.logits)) < 1e-12);
        assert!(largest_difference(&short.hidden[1], &cut(&whole.hidden[1])) < 1e-12);
        assert!(short.maps.iter().all(|maps| maps.dims() == [b, plan.stack.heads, length, length]));
        let loss = model.evaluate(&input(&tokens(b, length), b, length), &labels(b, length)).unwrap();
        assert!(loss.loss().is_finite());
        assert_eq!(loss.labelled, (b * length).div_ceil(2));
    }
}

/// A model with more positions than the sequences that its pairs are for computes what one without the rest computes, and
/// reads no longer ones.
#[test]
fn positions_beyond_the_pairs_change_nothing() {
    for short in partial_plans().into_iter().step_by(5) {
        let mut long = short.clone();
        (long.stack.positions, long.stack.coverage_tokens) = (POSITIONS + 5, Some(POSITIONS));
        let parameters = weights(&long, DType::F64);
        let cut = parameters.with_positions(&long, POSITIONS).unwrap();
        assert_eq!(parameters.count() - cut.count(), 5 * long.stack.width as u64);
        let cost = Cost::of(&long, &Workload::inference(1, POSITIONS, Precision::F32));
        assert_eq!(cost.parameters, parameters.count());
        for t in [POSITIONS - 2, POSITIONS] {
            let input = input(&tokens(2, t), 2, t);
            let logits = |plan: &ModelPlan, set: &ParameterSet| {
                frozen(plan, set).forward(&input, &ForwardOptions::default()).unwrap().logits
            };
            assert_eq!(largest_difference(&logits(&long, &parameters), &logits(&short, &cut)), 0.0);
        }
        let more = input(&tokens(1, POSITIONS + 1), 1, POSITIONS + 1);
        let error = frozen(&long, &parameters).forward(&more, &ForwardOptions::default()).unwrap_err();
        assert_eq!(error, ModelError::TooLong { sequence: POSITIONS + 1, positions: POSITIONS });
    }
}

#[test]
fn what_was_found_becomes_parameters_or_stays_as_it_is() {
    for kind in ModelKind::LANGUAGE_MODELS {
        let exact = plan(kind, NormPlacement::Pre);
        let pairs = PairSets::even(POSITIONS, K, exact.stack.is_causal).unwrap();
        let restore: Vec<f64> = (0..pairs.restored() * K).map(|i| i as f64 / 100.0).collect();
        let found = CoverageState::Partial { pairs: pairs.clone(), restore: restore.clone() };
        let parameters = wide(&exact, DType::F32);
        for (restore_choice, added) in Restore::ALL.into_iter().zip([0, 1, 1]) {
            let plan = partial(&exact, restore_choice);
            let covering = parameters.covering(&plan, &found).unwrap();
            assert!(covering.has_coverage() && !parameters.has_coverage());
            assert_eq!(covering.iter().count(), parameters.iter().count() + added);
            // As it is saved and read, to the last bit.
            let saved = covering.tensors();
            let read = ParameterSet::from_tensors(&plan, saved.clone()).unwrap();
            let input = input(&tokens(2, POSITIONS), 2, POSITIONS);
            let logits =
                |set: &ParameterSet| frozen(&plan, set).forward(&input, &ForwardOptions::default()).unwrap().logits;
            assert_eq!(largest_difference(&logits(&covering), &logits(&read)), 0.0);
            let (_, tensor) = saved.iter().find(|(name, _)| name.ends_with("restore.weight")).unwrap();
            let wanted: Vec<f64> = restore.iter().map(|x| f64::from(*x as f32)).collect();
            assert_eq!(numbers(tensor), wanted);
            // The weights are the same ones.
            let (name, variable) = parameters.iter().next().unwrap();
            assert_eq!(variable.id(), covering.get(name).unwrap().id());
            for name in saved.keys().filter(|name| name.contains("coverage") || name.contains("restore")) {
                let mut without = saved.clone();
                without.remove(name);
                assert!(ParameterSet::from_tensors(&plan, without).unwrap_err().to_string().contains(name));
            }
        }
        let mut other = partial(&exact, Restore::Common);
        other.stack.positions = POSITIONS + 1;
        assert!(parameters.covering(&other, &found).unwrap_err().to_string().contains("10 tokens"));
        assert!(parameters.covering(&exact, &found).is_err());
    }
}

/// All directions of a row together are the row.
#[test]
fn projection_on_all_directions_changes_nothing() {
    for exact in plans() {
        let coverage = Coverage::Eigen(EigenCoverage { k: POSITIONS });
        let plan = exact.with_coverage(coverage);
        let mut basis = vec![0.0; POSITIONS * POSITIONS * POSITIONS];
        basis.chunks_mut(POSITIONS).enumerate().for_each(|(row, vector)| vector[row % POSITIONS] = 1.0);
        let parameters = wide(&exact, DType::F64);
        let covering = parameters.covering(&plan, &CoverageState::Eigen { basis }).unwrap();
        let input = input(&tokens(2, POSITIONS), 2, POSITIONS);
        let logits = |model: Model| model.forward(&input, &ForwardOptions::default()).unwrap().logits;
        let (found, wanted) = (logits(frozen(&plan, &covering)), logits(frozen(&exact, &parameters)));
        assert!(largest_difference(&found, &wanted) < 1e-12);
    }
}
