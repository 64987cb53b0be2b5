//! Parts of a model as single operations against the same ones composed of small operations.

use candle_core::DType;

use super::*;
use crate::{
    attention::HeadPlan,
    config::{AttentionConfig, Compatibility, Reuse},
    model::ForwardOptions,
};

/// Loss, maps and hidden states, then every gradient, by name.
fn everything(model: &Model, input: &ModelInput, labels: &[i64], options: &ForwardOptions) -> Vec<(String, Tensor)> {
    let loss = model.loss(input, labels, options).unwrap();
    model.backward(&loss).unwrap();
    let mut all = vec![("loss".to_owned(), loss.loss.clone())];
    all.extend(loss.maps.iter().enumerate().map(|(layer, maps)| (format!("maps of layer {layer}"), maps.clone())));
    all.extend(loss.hidden.iter().enumerate().map(|(layer, hidden)| (format!("hidden {layer}"), hidden.clone())));
    let gradients = model.gradients().unwrap();
    all.extend(gradients.iter().map(|(name, gradient)| (name.to_owned(), gradient)));
    all
}

fn compare(plan: &ModelPlan, b: usize, t: usize, dtype: DType, tolerance: f64) {
    let parameters = wide(plan, dtype);
    let mut input = input(&tokens(b, t), b, t);
    let mask: Vec<u8> = (0..b * t).map(|i| u8::from(i % t < t - 1 - i / t)).collect();
    input.key_mask = Some(Tensor::from_vec(mask, (b, t), &Device::Cpu).unwrap());
    if plan.token_types() > 0 {
        let types: Vec<u32> = (0..b * t).map(|i| u32::from(i % t > t / 2)).collect();
        input = input.with_token_types(&types).unwrap();
    }
    let labels = labels(b, t);
    for keep in [false, true] {
        let options =
            ForwardOptions { dropout: Some((3, 4)), keep_maps: keep, keep_hidden: keep, ..ForwardOptions::default() };
        let blocks = Model::trainable(plan, &parameters).unwrap();
        let composed = Model::trainable(plan, &parameters).unwrap().composed();
        let ours = everything(&blocks, &input, &labels, &options);
        let reference = everything(&composed, &input, &labels, &options);
        assert_eq!(ours.len(), reference.len());
        for ((name, ours), (_, reference)) in ours.iter().zip(&reference) {
            let scale = numbers(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            let difference = largest_difference(ours, reference);
            assert!(
                difference <= tolerance * scale,
                "{name} of {:?}, norm {:?}, {t} tokens is off by {difference} of {scale}",
                plan.stack.name,
                plan.stack.norm
            );
        }
    }
    let (blocks, composed) = (frozen(plan, &parameters), frozen(plan, &parameters).composed());
    let [ours, reference] = [&blocks, &composed].map(|model| model.evaluate(&input, &labels).unwrap());
    assert!((ours.loss_sum - reference.loss_sum).abs() <= tolerance * reference.loss_sum.abs());
    assert_eq!((ours.labelled, ours.correct), (reference.labelled, reference.correct));
}

#[test]
fn blocks_give_what_small_operations_give() {
    for mut plan in plans() {
        plan.stack.dropout = 0.2;
        plan.stack.norm_epsilon = 1e-3;
        compare(&plan, 2, POSITIONS, DType::F64, 1e-12);
        compare(&plan, 2, POSITIONS, DType::F32, 2e-5);
    }
}

#[test]
fn blocks_give_what_small_operations_give_in_every_family_and_schedule() {
    for mut plan in plans().into_iter().take(2) {
        (plan.stack.dropout, plan.stack.norm_epsilon) = (0.2, 1e-3);
        for compatibility in Compatibility::examples(plan.stack.heads, plan.stack.width) {
            for reuse in Reuse::examples(plan.stack.layers, plan.stack.heads) {
                let attention = AttentionConfig { reuse, compatibility: compatibility.clone(), ..Default::default() };
                plan.stack.head_plan = HeadPlan::derive(&attention, plan.stack.layers, plan.stack.heads).unwrap();
                plan.stack.compatibility = compatibility.clone();
                compare(&plan, 2, POSITIONS, DType::F64, 1e-12);
            }
        }
    }
}

/// Several tiles of queries, several chunks of the head, maps that are kept and maps that are computed again.
#[test]
fn blocks_give_the_same_for_sequences_of_several_tiles() {
    for mut plan in plans() {
        plan.stack.dropout = 0.2;
        plan.stack.norm_epsilon = 1e-3;
        for (b, t) in [(2, 150), (3, 530)] {
            plan.stack.positions = t;
            compare(&plan, b, t, DType::F64, 1e-11);
        }
    }
}

#[test]
fn a_loss_goes_backward_once() {
    for plan in plans() {
        let model = Model::trainable(&plan, &wide(&plan, DType::F32)).unwrap();
        let loss = model.loss(&input(&tokens(1, 4), 1, 4), &labels(1, 4), &ForwardOptions::default()).unwrap();
        model.backward(&loss).unwrap();
        let error = model.backward(&loss).unwrap_err().to_string();
        assert!(error.contains("once"), "{error}");
        let error = frozen(&plan, &wide(&plan, DType::F32)).backward(&loss).unwrap_err().to_string();
        assert!(error.contains("frozen"), "{error}");
    }
}
