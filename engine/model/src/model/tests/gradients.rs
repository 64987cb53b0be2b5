use candle_core::{DType, Tensor};

use super::*;
use crate::model::ForwardOptions;

/// The part of a bias that adds the same to all scores of a row, which softmax ignores: the key bias.
fn key_bias(plan: &ModelPlan, name: &str, gradient: &Tensor) -> Option<Tensor> {
    let d = plan.stack.width;
    if name.ends_with(".self.key.bias") {
        Some(gradient.clone())
    } else if name.ends_with(".self.query_key_value.bias") {
        Some(gradient.narrow(0, d, d).unwrap())
    } else {
        None
    }
}

/// Candle's own layer norm and softmax once cut gradients here without a word.
#[test]
fn every_variable_has_a_finite_gradient_other_than_zero() {
    for plan in plans().into_iter().chain(family_plans()) {
        for dtype in [DType::F32, DType::F64] {
            let parameters = ParameterSet::init(&plan, 5, dtype, &Device::Cpu).unwrap();
            let model = Model::trainable(&plan, &parameters).unwrap();
            let (b, t) = (2, POSITIONS);
            let loss = model.loss(&input(&tokens(b, t), b, t), &labels(b, t), &ForwardOptions::default()).unwrap();
            assert_eq!(loss.labelled, b * t / 2);
            model.backward(&loss).unwrap();
            let store = model.gradients().unwrap();
            let what = |name: &str| {
                let StackPlan { name: stack, norm, compatibility, head_plan, .. } = &plan.stack;
                format!("{name} of {stack:?}, norm {norm:?}, {dtype:?}, {compatibility:?}, {head_plan:?}")
            };
            for (name, _) in parameters.iter() {
                let gradient = &store.get(name).unwrap_or_else(|| panic!("no gradient for {}", what(name)));
                let values = numbers(gradient);
                assert!(values.iter().all(|x| x.is_finite()), "{}", what(name));
                let largest = values.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
                if let Some(key_bias) = key_bias(&plan, name, gradient) {
                    // Zero but for rounding; the other parts of a fused bias are not.
                    let rounding = if dtype == DType::F32 { 1e-7 } else { 1e-15 };
                    assert!(numbers(&key_bias).iter().all(|x| x.abs() < rounding), "{}", what(name));
                    if name.ends_with(".key.bias") {
                        continue;
                    }
                }
                assert!(largest > 0.0, "the gradient is zero for {}", what(name));
            }
            // Every token that was read and every position has a gradient of its own.
            for row in numbers(&store.get("input.tokens.weight").unwrap().abs().unwrap().sum(1).unwrap()) {
                assert!(row > 0.0, "{}", what("a row of the words"));
            }
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (b, t) = (2, 5);
    for mut plan in plans().into_iter().chain(mixed_plans()) {
        // A generous epsilon, so that differences are taken where the function is smooth.
        plan.stack.norm_epsilon = 1e-3;
        plan.stack.dropout = 0.2;
        let parameters = wide(&plan, DType::F64);
        let mut input = input(&tokens(b, t), b, t);
        let mask: Vec<u8> = (0..b * t).map(|i| u8::from(i != b * t - 1)).collect();
        input.key_mask = Some(Tensor::from_vec(mask, (b, t), &Device::Cpu).unwrap());
        let labels = labels(b, t);
        let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
        let model = Model::trainable(&plan, &parameters).unwrap();
        model.backward(&model.loss(&input, &labels, &options).unwrap()).unwrap();
        let store = model.gradients().unwrap();
        let frozen = frozen(&plan, &parameters);
        let loss = || frozen.loss(&input, &labels, &options).unwrap().loss.to_scalar::<f64>().unwrap();
        for (name, variable) in parameters.iter() {
            let gradient = numbers(&store.get(name).unwrap());
            let values = numbers(variable);
            // Some ten numbers of each parameter, the last one among them.
            for i in (0..values.len()).rev().step_by(values.len().div_ceil(10)) {
                let moved = |by: f64| {
                    let mut values = values.clone();
                    values[i] += by;
                    variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()).unwrap();
                    loss()
                };
                let step = 1e-5;
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                moved(0.0);
                // A central difference is off by step² times the third derivative, and by rounding / step.
                assert!(
                    (difference - gradient[i]).abs() < 1e-8 + 1e-6 * difference.abs(),
                    "{name}[{i}] of {:?}, norm {:?}: {} by backward, {difference} by difference",
                    plan.stack.name,
                    plan.stack.norm,
                    gradient[i],
                );
            }
        }
    }
}

#[test]
fn a_batch_without_labels_has_loss_zero_and_gradients_of_zero() {
    for plan in plans() {
        let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
        let model = Model::trainable(&plan, &parameters).unwrap();
        let input = input(&tokens(1, 4), 1, 4);
        let loss = model.loss(&input, &[super::super::IGNORED_LABEL; 4], &ForwardOptions::default()).unwrap();
        assert_eq!((loss.labelled, numbers(&loss.loss)), (0, vec![0.0]));
        model.backward(&loss).unwrap();
        let store = model.gradients().unwrap();
        for (name, _) in parameters.iter() {
            assert!(numbers(&store.get(name).unwrap()).iter().all(|x| *x == 0.0), "{name}");
        }
    }
}

#[test]
fn a_frozen_model_builds_no_graph_and_sees_updates() {
    for plan in plans() {
        let parameters = wide(&plan, DType::F32);
        let model = frozen(&plan, &parameters);
        let input = input(&tokens(1, 4), 1, 4);
        let before = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
        assert!(!before.track_op());
        let bias = parameters.iter().find(|(name, _)| name.ends_with("feed_forward.in.bias"));
        let (_, bias) = bias.unwrap();
        bias.set(&bias.affine(2.0, 0.0).unwrap().detach()).unwrap();
        let after = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
        assert!(largest_difference(&before, &after) > 1e-3);
    }
}
