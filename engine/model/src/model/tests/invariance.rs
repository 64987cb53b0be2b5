use candle_core::DType;

use super::*;
use crate::model::{Evaluation, ForwardOptions, ModelError, NonFinite};

fn all() -> ForwardOptions {
    ForwardOptions { dropout: None, keep_maps: true, keep_hidden: true, ..ForwardOptions::default() }
}

#[test]
fn shapes_are_as_documented() {
    for plan in plans() {
        let model = frozen(&plan, &wide(&plan, DType::F32));
        let (b, t) = (2, 7);
        let output = model.forward(&input(&tokens(b, t), b, t), &all()).unwrap();
        assert_eq!(output.logits.dims(), [b, t, VOCABULARY]);
        assert_eq!(output.maps.len(), plan.stack.layers);
        assert_eq!(output.hidden.len(), plan.stack.layers + 1);
        assert!(output.maps.iter().all(|map| map.dims() == [b, plan.stack.heads, t, t]));
        assert!(output.hidden.iter().all(|hidden| hidden.dims() == [b, t, plan.stack.width]));
        let lean = model.forward(&input(&tokens(b, t), b, t), &ForwardOptions::default()).unwrap();
        assert!(lean.maps.is_empty() && lean.hidden.is_empty());
        assert_eq!(largest_difference(&lean.logits, &output.logits), 0.0);
    }
}

/// Changing token t+1 never changes outputs up to t; in an encoder it does.
#[test]
fn a_decoder_never_looks_ahead() {
    for plan in plans() {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let ids = tokens(1, POSITIONS);
        let before = model.forward(&input(&ids, 1, POSITIONS), &all()).unwrap();
        for changed in 1..POSITIONS {
            let mut other = ids.clone();
            other[changed] = (other[changed] + 1) % VOCABULARY as u32;
            let after = model.forward(&input(&other, 1, POSITIONS), &all()).unwrap();
            let difference = |upto: usize| {
                let part = |logits: &Tensor| logits.narrow(1, 0, upto).unwrap();
                largest_difference(&part(&before.logits), &part(&after.logits))
            };
            if plan.stack.is_causal {
                assert_eq!(difference(changed), 0.0, "token {changed}");
            } else {
                assert!(difference(changed) > 1e-6, "token {changed}");
            }
            assert!(difference(changed + 1) > 1e-6, "token {changed}");
        }
    }
}

#[test]
fn what_stands_in_padding_does_not_matter() {
    for plan in plans() {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let (length, t) = (5, POSITIONS);
        let ids = tokens(1, t);
        let short = model.forward(&input(&ids[..length], 1, length), &ForwardOptions::default()).unwrap().logits;
        let mask: Vec<u8> = (0..t).map(|i| u8::from(i < length)).collect();
        for filler in [0, 3] {
            let mut padded = ids.clone();
            padded[length..].fill(filler);
            let padded = ModelInput::new(&padded, Some(&mask), 1, t, &Device::Cpu).unwrap();
            let long = model.forward(&padded, &ForwardOptions::default()).unwrap().logits;
            let difference = largest_difference(&short, &long.narrow(1, 0, length).unwrap());
            // Sums over more keys are cut otherwise: rounding.
            assert!(difference < 1e-12, "{difference}");
        }
    }
}

#[test]
fn an_encoder_without_token_types_reads_segment_0() {
    let plan = plan(ModelKind::Encoder, NormPlacement::Post);
    let model = frozen(&plan, &wide(&plan, DType::F64));
    let input = input(&tokens(1, 4), 1, 4);
    let without = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
    let with = |segment: u32| {
        let input = input.clone().with_token_types(&[segment; 4]).unwrap();
        largest_difference(&without, &model.forward(&input, &ForwardOptions::default()).unwrap().logits)
    };
    assert_eq!(with(0), 0.0);
    assert!(with(1) > 1e-3);
}

#[test]
fn dropout_is_a_function_of_seed_and_step() {
    for mut plan in plans() {
        plan.stack.dropout = 0.3;
        let model = frozen(&plan, &wide(&plan, DType::F32));
        let input = input(&tokens(2, 6), 2, 6);
        let logits =
            |dropout| model.forward(&input, &ForwardOptions { dropout, ..ForwardOptions::default() }).unwrap().logits;
        assert_eq!(largest_difference(&logits(Some((1, 1))), &logits(Some((1, 1)))), 0.0);
        for other in [Some((1, 2)), Some((2, 1)), None] {
            assert!(largest_difference(&logits(Some((1, 1))), &logits(other)) > 1e-3);
        }
        plan.stack.dropout = 0.0;
        let plain = frozen(&plan, &wide(&plan, DType::F32));
        let options = ForwardOptions { dropout: Some((1, 1)), ..ForwardOptions::default() };
        assert_eq!(largest_difference(&plain.forward(&input, &options).unwrap().logits, &logits(None)), 0.0);
    }
}

#[test]
fn losses_and_gradients_are_bitwise_the_same_for_one_and_two_threads() {
    for mut plan in plans() {
        plan.stack.dropout = 0.1;
        let parameters = wide(&plan, DType::F32);
        let (b, t) = (8, POSITIONS);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let options = ForwardOptions { dropout: Some((1, 2)), ..ForwardOptions::default() };
                let model = Model::trainable(&plan, &parameters).unwrap();
                let loss = model.loss(&input(&tokens(b, t), b, t), &labels(b, t), &options).unwrap();
                model.backward(&loss).unwrap();
                let store = model.gradients().unwrap();
                let mut all = numbers(&loss.loss);
                for (name, _) in parameters.iter() {
                    all.extend(numbers(&store.get(name).unwrap()));
                }
                all.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            })
        };
        assert_eq!(run(1), run(2));
    }
}

#[test]
fn evaluation_agrees_with_the_loss_and_with_the_logits() {
    for plan in plans() {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let (b, t) = (3, 6);
        let (input, labels) = (input(&tokens(b, t), b, t), labels(b, t));
        let evaluation = model.evaluate(&input, &labels).unwrap();
        let loss = numbers(&model.loss(&input, &labels, &ForwardOptions::default()).unwrap().loss)[0];
        assert!((evaluation.loss() - loss).abs() < 1e-12);
        let logits = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
        let logits = logits.reshape((b * t, VOCABULARY)).unwrap().to_vec2::<f64>().unwrap();
        let (mut sum, mut correct, mut labelled) = (0.0, 0, 0);
        for (row, &label) in logits.iter().zip(&labels).filter(|(_, label)| **label >= 0) {
            let total: f64 = row.iter().map(|x| x.exp()).sum();
            sum += total.ln() - row[label as usize];
            correct += usize::from(row.iter().all(|x| *x <= row[label as usize]));
            labelled += 1;
        }
        assert!((evaluation.loss_sum - sum).abs() < 1e-10, "{} instead of {sum}", evaluation.loss_sum);
        assert_eq!((evaluation.correct, evaluation.labelled), (correct, labelled));
        let sums = evaluation
            .labels
            .iter()
            .fold((0.0, 0), |(loss, correct), label| (loss + label.loss, correct + usize::from(label.is_correct)));
        assert!((sums.0 - sum).abs() < 1e-10 && sums.1 == correct && evaluation.labels.len() == labelled, "{sums:?}");
        let mut twice = evaluation.clone();
        twice.add(&evaluation);
        assert!((twice.loss() - evaluation.loss()).abs() < 1e-12);
        assert!(Evaluation::default().loss().is_nan() && Evaluation::default().accuracy().is_nan());
    }
}

#[test]
fn the_first_place_that_is_not_finite_is_named() {
    for plan in plans() {
        let find = |poison: Option<&str>, at: usize| {
            let parameters = wide(&plan, DType::F32);
            if let Some(poison) = poison {
                let (_, variable) = parameters.iter().find(|(name, _)| name.ends_with(poison)).unwrap();
                let mut values: Vec<f32> = variable.flatten_all().unwrap().to_vec1().unwrap();
                values[at] = f32::NAN;
                variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()).unwrap();
                assert!(parameters.first_non_finite().unwrap().unwrap().ends_with(poison));
            } else {
                assert_eq!(parameters.first_non_finite().unwrap(), None);
            }
            frozen(&plan, &parameters).first_non_finite(&input(&[1, 2, 3], 1, 3), None).unwrap()
        };
        assert_eq!(find(None, 0), None);
        let d_k = plan.stack.head_size;
        match plan.stack.name {
            StackName::Encoder => {
                assert_eq!(find(Some("encoder.positions.weight"), 0), Some(NonFinite::Embeddings));
                let query = Some(NonFinite::Layer { layer: 1, head: Some(2) });
                assert_eq!(find(Some("encoder.1.self.query.bias"), 2 * d_k), query);
                let after = Some(NonFinite::Layer { layer: 0, head: None });
                assert_eq!(find(Some("encoder.0.feed_forward.in.bias"), 0), after);
                assert_eq!(find(Some("head.bias"), 0), Some(NonFinite::Logits));
            }
            StackName::Decoder => {
                assert_eq!(find(Some("decoder.positions.weight"), 0), Some(NonFinite::Embeddings));
                let query = Some(NonFinite::Layer { layer: 1, head: Some(2) });
                assert_eq!(find(Some("decoder.1.self.query_key_value.bias"), 2 * d_k), query);
                let value = Some(NonFinite::Layer { layer: 0, head: None });
                assert_eq!(find(Some("decoder.0.self.query_key_value.bias"), 2 * plan.stack.width), value);
            }
        }
    }
}

#[test]
fn input_that_does_not_fit_is_refused_with_the_numbers() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre);
    let model = frozen(&plan, &wide(&plan, DType::F32));
    let long = input(&tokens(1, POSITIONS + 1), 1, POSITIONS + 1);
    let error = model.forward(&long, &ForwardOptions::default()).unwrap_err();
    assert_eq!(error, ModelError::TooLong { sequence: POSITIONS + 1, positions: POSITIONS });
    assert!(ModelInput::new(&[1, 2, 3], None, 2, 2, &Device::Cpu).is_err());
    assert!(ModelInput::new(&[1, 2, 3, 4], Some(&[1]), 2, 2, &Device::Cpu).is_err());
    assert!(model.evaluate(&input(&[1, 2], 1, 2), &[1]).is_err());
    let unknown = model.forward(&input(&[VOCABULARY as u32], 1, 1), &ForwardOptions::default()).unwrap_err();
    assert!(matches!(unknown, ModelError::Tensor(_)), "{unknown}");
}
