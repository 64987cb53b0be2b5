//! Models of an encoder and a decoder that attends to it.

use candle_core::DType;

use super::*;
use crate::{
    config::{OtherAnswers, from_toml},
    model::{IGNORED_LABEL, layer_of},
};

/// A model of three layers of four heads of three numbers, with these answers in all of its attentions, or in
/// cross-attention alone.
fn crossed(norm: NormPlacement, compatibility: Compatibility, reuse: Reuse, everywhere: bool) -> ModelPlan {
    let mut config = from_toml("format = 1\ndata.kind = \"number_words\"\nmodel.kind = \"encoder_decoder\"").unwrap();
    config.model.norm = norm;
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 12, 7);
    config.data.sequence_length = POSITIONS;
    config.attention = if everywhere {
        AttentionConfig { reuse, compatibility, ..AttentionConfig::default() }
    } else {
        let cross = OtherAnswers { reuse: Some(reuse), compatibility: Some(compatibility) };
        AttentionConfig { cross: Some(cross), ..AttentionConfig::default() }
    };
    // What cannot be with norms first is taken with norms last.
    ModelPlan::resolve(&config, VOCABULARY).unwrap_or_else(|_| {
        config.model.norm = NormPlacement::Post;
        ModelPlan::resolve(&config, VOCABULARY).unwrap()
    })
}

fn plain() -> Vec<ModelPlan> {
    NormPlacement::ALL.map(|norm| crossed(norm, Compatibility::default(), Reuse::default(), true)).into()
}

/// Every way to score a pair and every schedule, in all attentions and in that to the encoder alone.
fn all() -> Vec<ModelPlan> {
    let mut plans = Vec::new();
    let custom = || Reuse::examples(3, 4).pop().unwrap();
    for (number, compatibility) in Compatibility::examples(4, 12).into_iter().enumerate() {
        for everywhere in [false, true] {
            plans.push(crossed(NormPlacement::ALL[number % 2], compatibility.clone(), custom(), everywhere));
        }
    }
    for (number, reuse) in Reuse::examples(3, 4).into_iter().enumerate() {
        for everywhere in [false, true] {
            plans.push(crossed(NormPlacement::ALL[number % 2], Compatibility::default(), reuse.clone(), everywhere));
        }
    }
    plans
}

fn with_dropout(mut plan: ModelPlan) -> ModelPlan {
    (plan.stack.dropout, plan.stack.norm_epsilon) = (0.2, 1e-3);
    if let Some(encoder) = plan.encoder.as_deref_mut() {
        (encoder.dropout, encoder.norm_epsilon) = (0.2, 1e-3);
    }
    plan
}

/// `b` texts of `m` tokens, of which the last one is shorter, and `t` tokens of each translation.
fn pairs(b: usize, m: usize, t: usize) -> ModelInput {
    let mut stream = Stream::new(13, Purpose::Test, 1);
    let mut ids = |count: usize| -> Vec<u32> { (0..count).map(|_| stream.below(VOCABULARY as u64) as u32).collect() };
    let mask: Vec<u8> = (0..b * m).map(|i| u8::from(i / m + 1 < b || i % m + 2 < m)).collect();
    let source = ModelInput::new(&ids(b * m), Some(&mask), b, m, &Device::Cpu).unwrap();
    input(&ids(b * t), b, t).with_encoder(source)
}

fn found(model: &Model, input: &ModelInput, labels: &[i64], keep: bool) -> Vec<(String, Tensor)> {
    let options =
        ForwardOptions { dropout: Some((3, 4)), keep_maps: keep, keep_hidden: keep, ..ForwardOptions::default() };
    let loss = model.smoothed_loss(input, labels, 0.1, &options).unwrap();
    model.backward(&loss).unwrap();
    let gradients = model.gradients().unwrap();
    let mut all: Vec<_> = gradients.iter().map(|(name, gradient)| (name.to_owned(), gradient)).collect();
    all.push(("loss".to_owned(), loss.loss.clone()));
    all.extend(loss.maps.iter().enumerate().map(|(layer, maps)| (format!("maps of layer {layer}"), maps.clone())));
    all.extend(loss.hidden.iter().enumerate().map(|(layer, hidden)| (format!("hidden {layer}"), hidden.clone())));
    all
}

#[test]
fn single_operations_give_what_small_ones_give() {
    for plan in plain().into_iter().chain(all()).map(with_dropout) {
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 3e-5)] {
            let parameters = wide(&plan, dtype);
            let (b, m, t) = (2, POSITIONS, 6);
            let (input, labels) = (pairs(b, m, t), labels(b, t));
            for keep in [false, true] {
                let model = || Model::trainable(&plan, &parameters).unwrap();
                let ours = found(&model(), &input, &labels, keep);
                let reference = found(&model().composed(), &input, &labels, keep);
                assert_eq!(ours.len(), reference.len());
                for ((name, ours), (_, reference)) in ours.iter().zip(&reference) {
                    let scale = numbers(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    let difference = largest_difference(ours, reference);
                    assert!(
                        difference <= tolerance * scale,
                        "{name}, norm {:?}, cross {:?}: off by {difference} of {scale}",
                        plan.stack.norm,
                        plan.stack.cross
                    );
                }
            }
            let (ours, composed) = (frozen(&plan, &parameters), frozen(&plan, &parameters).composed());
            let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
            let maps = [&ours, &composed].map(|model| model.forward(&input, &options).unwrap().cross_maps);
            assert_eq!(maps[0].len(), plan.stack.layers);
            for (layer, (ours, reference)) in maps[0].iter().zip(&maps[1]).enumerate() {
                let difference = largest_difference(ours, reference);
                assert!(difference <= tolerance, "maps of cross-attention {layer} are off by {difference}");
            }
            let [ours, reference] = [ours, composed].map(|model| model.evaluate(&input, &labels).unwrap());
            assert!((ours.loss_sum - reference.loss_sum).abs() <= tolerance * reference.loss_sum.abs());
            assert_eq!((ours.labelled, ours.correct), (reference.labelled, reference.correct));
        }
    }
}

/// Several tiles of queries, more and fewer of them than keys, maps that are kept and maps that are computed again.
#[test]
fn single_operations_give_the_same_for_sequences_of_several_tiles() {
    for mut plan in plain().into_iter().map(with_dropout) {
        for (m, t) in [(530, 150), (150, 530)] {
            plan.stack.positions = t;
            plan.encoder.as_deref_mut().unwrap().positions = m;
            let parameters = wide(&plan, DType::F64);
            let (input, labels) = (pairs(2, m, t), labels(2, t));
            let model = || Model::trainable(&plan, &parameters).unwrap();
            let ours = found(&model(), &input, &labels, false);
            let reference = found(&model().composed(), &input, &labels, false);
            for ((name, ours), (_, reference)) in ours.iter().zip(&reference) {
                let scale = numbers(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                let difference = largest_difference(ours, reference);
                assert!(difference <= 1e-11 * scale, "{name}, {m} and {t}: off by {difference} of {scale}");
            }
        }
    }
}

#[test]
fn every_variable_has_a_gradient_that_agrees_with_finite_differences() {
    for plan in plain().into_iter().chain(all()).map(with_dropout) {
        let parameters = wide(&plan, DType::F64);
        let (b, m, t) = (2, 7, 5);
        let (input, labels) = (pairs(b, m, t), labels(b, t));
        let model = Model::trainable(&plan, &parameters).unwrap();
        let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
        model.backward(&model.smoothed_loss(&input, &labels, 0.1, &options).unwrap()).unwrap();
        let store = model.gradients().unwrap();
        let other = frozen(&plan, &parameters);
        let loss = || numbers(&other.smoothed_loss(&input, &labels, 0.1, &options).unwrap().loss)[0];
        for (name, variable) in parameters.iter() {
            let gradient = numbers(&store.get(name).unwrap());
            let largest = gradient.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            // Softmax ignores what is the same for all keys.
            assert!(largest > 0.0 || name.ends_with(".key.bias"), "the gradient of {name} is zero");
            let values = numbers(variable);
            for i in (0..values.len()).rev().step_by(values.len().div_ceil(4)) {
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
                    "{name}[{i}], norm {:?}: {} by backward, {difference} by difference",
                    plan.stack.norm,
                    gradient[i],
                );
            }
        }
        assert!(parameters.iter().any(|(name, _)| name.contains(".cross.") && layer_of(name).is_some()));
    }
}

#[test]
fn what_is_hidden_changes_nothing() {
    for plan in plain() {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let (b, m, t) = (2, 7, 5);
        let logits = |input: &ModelInput| model.forward(input, &ForwardOptions::default()).unwrap();
        let base = pairs(b, m, t);
        let before = logits(&base);
        assert_eq!(before.cross_maps.len(), 0);
        let changed = |of_source: bool, place: usize| {
            let mut input = base.clone();
            let side = if of_source { input.encoder.as_deref_mut().unwrap() } else { &mut input };
            let InputData::Tokens { ids, .. } = &mut side.data else { unreachable!() };
            let mut tokens = ids.flatten_all().unwrap().to_vec1::<u32>().unwrap();
            tokens[place] = (tokens[place] + 1) % VOCABULARY as u32;
            *ids = Tensor::from_vec(tokens, ids.shape(), &Device::Cpu).unwrap();
            logits(&input).logits
        };
        // The padding of the last source; the last token of the first translation.
        assert_eq!(largest_difference(&changed(true, b * m - 1), &before.logits), 0.0);
        let after = changed(false, t - 1);
        let rows = |logits: &Tensor, first: usize, count: usize| {
            logits.narrow(0, 0, 1).unwrap().narrow(1, first, count).unwrap()
        };
        assert_eq!(largest_difference(&rows(&after, 0, t - 1), &rows(&before.logits, 0, t - 1)), 0.0);
        assert!(largest_difference(&rows(&after, t - 1, 1), &rows(&before.logits, t - 1, 1)) > 1e-3);
        // A token of the source reaches every position of its own translation, and of no other.
        let after = changed(true, 0);
        assert!(largest_difference(&rows(&after, 0, 1), &rows(&before.logits, 0, 1)) > 1e-6);
        let other = |logits: &Tensor| logits.narrow(0, 1, 1).unwrap();
        assert_eq!(largest_difference(&other(&after), &other(&before.logits)), 0.0);
    }
}

#[test]
fn smoothed_labels_are_spread_over_the_vocabulary() {
    let plan = plain().remove(0);
    let parameters = wide(&plan, DType::F64);
    let (b, m, t) = (2, 6, 4);
    let (input, labels) = (pairs(b, m, t), labels(b, t));
    let model = frozen(&plan, &parameters);
    let logits =
        model.forward(&input, &ForwardOptions::default()).unwrap().logits.reshape((b * t, VOCABULARY)).unwrap();
    let (mut plain, mut even, mut count) = (0.0, 0.0, 0.0);
    for (row, label) in logits.to_vec2::<f64>().unwrap().iter().zip(&labels) {
        let sum = row.iter().map(|x| x.exp()).sum::<f64>().ln();
        if *label != IGNORED_LABEL {
            plain += sum - row[*label as usize];
            even += row.iter().map(|x| sum - x).sum::<f64>() / VOCABULARY as f64;
            count += 1.0;
        }
    }
    for smoothing in [0.0, 0.1, 0.9] {
        let expected = ((1.0 - smoothing) * plain + smoothing * even) / count;
        for model in [model.clone(), model.clone().composed()] {
            let found = model.smoothed_loss(&input, &labels, smoothing, &ForwardOptions::default()).unwrap();
            assert!((numbers(&found.loss)[0] - expected).abs() < 1e-12 * expected);
        }
    }
    assert!((model.evaluate(&input, &labels).unwrap().loss() - plain / count).abs() < 1e-12 * plain);
    assert!(model.smoothed_loss(&input, &labels, 1.0, &ForwardOptions::default()).is_err());
}
