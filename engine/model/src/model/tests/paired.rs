//! Models whose matrix products are of bf16 pairs, beside the same models in double precision.

use super::*;
use crate::{
    config::{MapMemoryChoice, Precision},
    model::{Computing, ForwardOptions},
    ops::{Gradients, Products, multiplies_pairs},
};

/// Sides of at least eight, so that no product goes another way.
fn sized(kind: ModelKind, norm: NormPlacement, compatibility: Compatibility, reuse: Reuse) -> ModelPlan {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 48, 72);
    config.data.sequence_length = 12;
    config.attention = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    ModelPlan::resolve(&config, VOCABULARY).unwrap()
}

/// The loss and every gradient of one pass, and the loss of an evaluation.
fn pass(model: &Model, [b, t]: [usize; 2], memory: MapMemoryChoice) -> (f64, Vec<(String, Vec<f64>)>, f64) {
    let input = input(&tokens(b, t), b, t);
    let options = ForwardOptions { dropout: Some((1, 2)), map_memory: memory, ..ForwardOptions::default() };
    let loss = model.loss(&input, &labels(b, t), &options).unwrap();
    model.backward(&loss).unwrap();
    let gradients = model.gradients().unwrap().iter().map(|(name, gradient)| (name.to_owned(), numbers(&gradient)));
    let gradients = gradients.collect();
    (numbers(&loss.loss)[0], gradients, model.evaluate(&input, &labels(b, t)).unwrap().loss_sum)
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|x| x * x).sum::<f64>().sqrt()
}

fn in_pairs(plan: &ModelPlan, parameters: &ParameterSet) -> Model {
    let computing = Computing::of(Precision::Bf16, parameters);
    assert_eq!(computing, Computing { dtype: DType::F32, products: Products::Pairs });
    let gradients = Gradients::new(&parameters.optimiser_parameters()).unwrap();
    Model::trainable_in(plan, parameters, computing, &gradients).unwrap()
}

/// 8 bits of precision are half a per cent of a factor; whole gradients are within some per cent.
#[test]
fn every_family_and_schedule_in_pairs_follows_double_precision() {
    let (mut furthest, mut is_other) = ((0.0, String::new()), false);
    for compatibility in Compatibility::examples(4, 48) {
        for (number, reuse) in Reuse::examples(3, 4).into_iter().enumerate() {
            let (kind, placement) = (ModelKind::LANGUAGE_MODELS[number % 2], NormPlacement::ALL[number / 2 % 2]);
            let mut plan = sized(kind, placement, compatibility.clone(), reuse.clone());
            plan.stack.dropout = 0.1;
            let memory = MapMemoryChoice::ALL[number % MapMemoryChoice::ALL.len()];
            let exact = ParameterSet::init(&plan, 3, DType::F64, &Device::Cpu).unwrap();
            let single = ParameterSet::init(&plan, 3, DType::F32, &Device::Cpu).unwrap();
            let (loss, gradients, evaluated) = pass(&Model::trainable(&plan, &exact).unwrap(), [4, 12], memory);
            let (pair_loss, pair_gradients, pair_evaluated) = pass(&in_pairs(&plan, &single), [4, 12], memory);
            let (single_loss, ..) = pass(&Model::trainable(&plan, &single).unwrap(), [4, 12], memory);
            is_other |= single_loss.to_bits() != pair_loss.to_bits();
            let what = format!("{kind:?}, {placement:?}, {compatibility:?}, {reuse:?}");
            for (loss, pairs) in [(loss, pair_loss), (evaluated, pair_evaluated)] {
                assert!((pairs / loss - 1.0).abs() < 3e-3, "{what}: {pairs} instead of {loss}");
            }
            let whole = norm(gradients.iter().flat_map(|(_, gradient)| gradient.iter().copied()));
            assert_eq!(gradients.len(), pair_gradients.len());
            for ((name, gradient), (_, pairs)) in gradients.iter().zip(&pair_gradients) {
                let off = norm(gradient.iter().zip(pairs).map(|(x, y)| x - y));
                let far = off / norm(gradient.iter().copied()).max(0.02 * whole);
                if far > furthest.0 {
                    furthest = (far, format!("{name} of {what}"));
                }
            }
        }
    }
    assert!(furthest.0 < 0.04, "{furthest:?}");
    assert_eq!(is_other, multiplies_pairs(), "pairs are multiplied where the processor does so");
}

#[test]
fn any_number_of_threads_gives_the_same_bits_in_pairs() {
    let mut config = RunConfig::default();
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 4, 64, 256);
    config.data.sequence_length = 64;
    let mut plan = ModelPlan::resolve(&config, 700).unwrap();
    plan.stack.dropout = 0.1;
    let parameters = ParameterSet::init(&plan, 3, DType::F32, &Device::Cpu).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (loss, gradients, evaluated) =
            pool.install(|| pass(&in_pairs(&plan, &parameters), [9, 64], MapMemoryChoice::default()));
        let all = gradients.into_iter().flat_map(|(_, gradient)| gradient).chain([loss, evaluated]);
        all.map(f64::to_bits).collect::<Vec<_>>()
    };
    let one = run(1);
    for threads in [2, 3, 5] {
        assert!(one == run(threads), "{threads} threads give other bits than one");
    }
}
