//! Models of `transformers` as tasks: their losses against slow references from the goldens' logits, and gradients against
//! finite differences.

use std::{cmp::Ordering, collections::HashMap, path::PathBuf};

use candle_core::{DType, Device, Tensor, Var};

use super::{LoadedModel, load_model_dir};
use crate::{
    attention::ModelPlan,
    config::Translation,
    model::{ForwardOptions, Model, ParameterSet},
    objective::{Answers, Batch, IGNORED, Labels, LearnedTask, Objective, Pixels, Sources},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/hf/bert_seqcls")
}

/// The golden's examples, with the answers of an objective.
fn batch(expected: &HashMap<String, Tensor>, objective: Objective) -> Batch {
    let numbers = |name: &str| -> Vec<i64> {
        expected[name].to_dtype(DType::I64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    };
    let whole = |name: &str| -> Vec<u32> { numbers(name).into_iter().map(|id| id as u32).collect() };
    let (batch, sequence) = expected["input_ids"].dims2().unwrap();
    let classes = whole("labels");
    let token_types = expected.contains_key("token_type_ids").then(|| whole("token_type_ids"));
    Batch {
        input_ids: whole("input_ids"),
        labels: vec![IGNORED; batch * sequence],
        key_mask: Some(numbers("attention_mask").into_iter().map(|key| key as u8).collect()),
        token_types,
        batch,
        sequence,
        sources: None,
        answers: Some(match objective {
            Objective::Regression(_) => Answers::Numbers(classes.iter().map(|class| *class as f32 + 0.5).collect()),
            _ => Answers::Classes { classes, weights: None },
        }),
        pixels: None,
    }
}

pub(super) fn value(loss: &Tensor) -> f64 {
    loss.to_dtype(DType::F64).unwrap().to_scalar().unwrap()
}

#[test]
fn loss_and_counts_are_those_of_transformers() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 2e-6)] {
        let LoadedModel { plan, parameters, labels, .. } = load_model_dir(&folder(), dtype, &Device::Cpu).unwrap();
        assert_eq!(labels, Some(Labels::Classes(["LABEL_0", "LABEL_1", "LABEL_2"].map(str::to_owned).to_vec())));
        let batch = batch(&expected, Objective::CLASSIFICATION);
        let task = Objective::CLASSIFICATION;
        let model = Model::trainable(&plan, &parameters).unwrap();
        let loss = task.task().loss(&model, &batch, &ForwardOptions::default()).unwrap();
        let wanted = value(&expected["loss"]);
        assert!((value(&loss.loss) - wanted).abs() < tolerance * wanted.abs(), "{:?} {wanted}", loss.loss);
        let found = task.task().evaluate(&Model::frozen(&plan, &parameters).unwrap(), &batch).unwrap();
        assert!((found.mean_loss() - wanted).abs() < tolerance * wanted.abs());
        // What the logits of the golden say.
        let logits: Vec<Vec<f64>> = expected["logits"].to_dtype(DType::F64).unwrap().to_vec2().unwrap();
        let Some(Answers::Classes { classes, .. }) = &batch.answers else { panic!() };
        let best = |row: &[f64]| row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(class, _)| class);
        let right = logits.iter().zip(classes).filter(|(row, class)| best(row) == Some(**class as usize)).count();
        let accuracy = task.task().metrics()[1].value(&found).unwrap();
        assert!((accuracy - right as f64 / classes.len() as f64).abs() < 1e-12);
    }
}

/// The golden's classifier with the first of its classes alone: a model of a number.
fn of_one_number(dtype: DType) -> (ModelPlan, ParameterSet) {
    let LoadedModel { plan, parameters, .. } = load_model_dir(&folder(), dtype, &Device::Cpu).unwrap();
    let plan = plan.with_outputs(1);
    let mut tensors = parameters.tensors();
    for name in ["head.classes.weight", "head.classes.bias"] {
        let first = tensors[name].narrow(0, 0, 1).unwrap().contiguous().unwrap();
        tensors.insert(name.to_owned(), first);
    }
    let (parameters, fresh) = ParameterSet::init_around(&plan, 1, dtype, &Device::Cpu, &tensors).unwrap();
    assert!(fresh.is_empty(), "{fresh:?}");
    (plan, parameters)
}

#[test]
fn squared_errors_are_those_of_the_logits_of_transformers() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    let logits: Vec<Vec<f64>> = expected["logits"].to_dtype(DType::F64).unwrap().to_vec2().unwrap();
    let (batch, task) = (batch(&expected, Objective::REGRESSION), Objective::REGRESSION);
    let Some(Answers::Numbers(right)) = &batch.answers else { panic!() };
    let squares = logits.iter().zip(right).map(|(row, right)| (row[0] - f64::from(*right)).powi(2));
    let wanted = squares.sum::<f64>() / right.len() as f64;
    for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 2e-6)] {
        let (plan, parameters) = of_one_number(dtype);
        let model = Model::trainable(&plan, &parameters).unwrap();
        let loss = task.task().loss(&model, &batch, &ForwardOptions::default()).unwrap();
        assert!((value(&loss.loss) - wanted).abs() < tolerance * wanted, "{:?} {wanted}", loss.loss);
        assert_eq!(loss.labelled, right.len());
        let found = task.task().evaluate(&Model::frozen(&plan, &parameters).unwrap(), &batch).unwrap();
        assert!((found.mean_loss() - wanted).abs() < tolerance * wanted, "{} {wanted}", found.mean_loss());
    }
}

/// By how much an element is moved.
const STEP: f64 = 1e-5;

/// Of every parameter the element whose gradient is the largest, for both tasks, with dropout and class weights.
#[test]
fn gradients_agree_with_finite_differences() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    for objective in [Objective::CLASSIFICATION, Objective::REGRESSION] {
        let (mut plan, parameters) = if objective == Objective::REGRESSION {
            of_one_number(DType::F64)
        } else {
            let loaded = load_model_dir(&folder(), DType::F64, &Device::Cpu).unwrap();
            (loaded.plan, loaded.parameters)
        };
        plan.stack.dropout = 0.1;
        let mut batch = batch(&expected, objective);
        if let Some(Answers::Classes { classes, weights }) = &mut batch.answers {
            *weights = Some(classes.iter().map(|class| 0.5 + *class as f32).collect());
        }
        check_gradients(objective, &plan, &parameters, &batch);
    }
}

/// A classifier of images, from the golden's pixels: the loss is that of its logits.
#[test]
fn loss_and_gradients_of_images_are_those_of_transformers() {
    let folder = folder().with_file_name("vit");
    let expected = candle_core::safetensors::load(folder.join("io.safetensors"), &Device::Cpu).unwrap();
    let classes = vec![3_u32, 5];
    for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 2e-6)] {
        let LoadedModel { mut plan, parameters, labels, .. } = load_model_dir(&folder, dtype, &Device::Cpu).unwrap();
        assert_eq!(labels.map(|labels| labels.outputs()), Some(7));
        let pixels = expected["pixel_values"].to_dtype(DType::F32).unwrap().flatten_all().unwrap();
        let shape = plan.image_shape().unwrap();
        let batch = Batch {
            input_ids: Vec::new(),
            labels: Vec::new(),
            key_mask: None,
            token_types: None,
            batch: 2,
            sequence: shape.tokens(4),
            sources: None,
            answers: Some(Answers::Classes { classes: classes.clone(), weights: None }),
            pixels: Some(Pixels { values: pixels.to_vec1().unwrap(), shape, images: vec![0, 1] }),
        };
        let logits: Vec<Vec<f64>> = expected["logits"].to_dtype(DType::F64).unwrap().to_vec2().unwrap();
        let of_row = |(row, class): (&Vec<f64>, &u32)| {
            row.iter().map(|logit| logit.exp()).sum::<f64>().ln() - row[*class as usize]
        };
        let wanted = logits.iter().zip(&classes).map(of_row).sum::<f64>() / 2.0;
        let task = Objective::CLASSIFICATION;
        let model = Model::trainable(&plan, &parameters).unwrap();
        let loss = task.task().loss(&model, &batch, &ForwardOptions::default()).unwrap();
        assert!((value(&loss.loss) - wanted).abs() < tolerance * wanted, "{:?} {wanted}", loss.loss);
        let found = task.task().evaluate(&Model::frozen(&plan, &parameters).unwrap(), &batch).unwrap();
        assert!((found.mean_loss() - wanted).abs() < tolerance * wanted);
        if dtype == DType::F64 {
            plan.stack.dropout = 0.1;
            check_gradients(task, &plan, &parameters, &batch);
        }
    }
}

/// The golden's sources and what its decoder read, each token of which is the label of the one before it; the second and the
/// third translation end earlier.
fn translations(expected: &HashMap<String, Tensor>) -> Batch {
    const END: i64 = 2;
    let numbers = |name: &str| -> Vec<i64> { expected[name].flatten_all().unwrap().to_vec1().unwrap() };
    let whole = |name: &str| -> Vec<u32> { numbers(name).into_iter().map(|id| id as u32).collect() };
    let (batch, sequence) = expected["decoder_input_ids"].dims2().unwrap();
    let read = numbers("decoder_input_ids");
    let label = |(row, tokens, at): (usize, usize, usize)| match (at + 1).cmp(&tokens) {
        Ordering::Less => read[row * sequence + at + 1],
        Ordering::Equal => END,
        Ordering::Greater => IGNORED,
    };
    let places = (0..batch).flat_map(|row| (0..sequence).map(move |at| (row, sequence - 2 * row, at)));
    let sources = Sources {
        ids: whole("input_ids"),
        key_mask: Some(numbers("attention_mask").into_iter().map(|key| key as u8).collect()),
        sequence: expected["input_ids"].dims2().unwrap().1,
    };
    Batch {
        input_ids: whole("decoder_input_ids"),
        labels: places.map(label).collect(),
        key_mask: None,
        token_types: None,
        batch,
        sequence,
        sources: Some(sources),
        answers: None,
        pixels: None,
    }
}

/// Mean over the labels of `(1 - s) * -log p(label) + s * mean(-log p)`, and how many labels are the most probable token.
fn slow_translation_loss(logits: &[Vec<f64>], labels: &[i64], smoothing: f64) -> (f64, usize) {
    let (mut sum, mut count, mut right) = (0.0, 0.0, 0);
    for (row, label) in logits.iter().zip(labels).filter(|(_, label)| **label != IGNORED) {
        let own = row[*label as usize];
        let all = row.iter().map(|logit| logit.exp()).sum::<f64>().ln();
        let even = row.iter().map(|logit| all - logit).sum::<f64>() / row.len() as f64;
        sum += (1.0 - smoothing) * (all - own) + smoothing * even;
        count += 1.0;
        right += usize::from(row.iter().all(|logit| *logit <= own));
    }
    (sum / count, right)
}

#[test]
fn losses_of_translations_follow_from_the_logits_of_transformers() {
    let folder = folder().with_file_name("bart");
    let expected = candle_core::safetensors::load(folder.join("io.safetensors"), &Device::Cpu).unwrap();
    let logits: Vec<Vec<f64>> =
        expected["logits"].to_dtype(DType::F64).unwrap().flatten_to(1).unwrap().to_vec2().unwrap();
    let batch = translations(&expected);
    assert_eq!((logits.len(), batch.targets()), (21, 7 + 5 + 3));
    for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 1e-8)] {
        let LoadedModel { plan, parameters, .. } = load_model_dir(&folder, dtype, &Device::Cpu).unwrap();
        for smoothing in [0.0, 0.1] {
            let (wanted, _) = slow_translation_loss(&logits, &batch.labels, smoothing);
            let task = Objective::Translation(Translation { label_smoothing: smoothing });
            let model = Model::trainable(&plan, &parameters).unwrap();
            let loss = task.task().loss(&model, &batch, &ForwardOptions::default()).unwrap();
            assert_eq!(loss.labelled, batch.targets());
            let found = value(&loss.loss);
            assert!((found - wanted).abs() < tolerance * wanted, "{dtype:?} {smoothing}: {found} {wanted}");
            // Evaluations are of the labels alone, however they are smoothed in training.
            let (wanted, right) = slow_translation_loss(&logits, &batch.labels, 0.0);
            let found = task.task().evaluate(&Model::frozen(&plan, &parameters).unwrap(), &batch).unwrap();
            assert!((found.mean_loss() - wanted).abs() < tolerance * wanted, "{} {wanted}", found.mean_loss());
            assert_eq!((found.labelled, found.counts.as_slice()), (batch.targets() as u64, [right as f64].as_slice()));
        }
    }
}

#[test]
fn gradients_of_translations_agree_with_finite_differences() {
    let folder = folder().with_file_name("bart");
    let expected = candle_core::safetensors::load(folder.join("io.safetensors"), &Device::Cpu).unwrap();
    let LoadedModel { mut plan, parameters, .. } = load_model_dir(&folder, DType::F64, &Device::Cpu).unwrap();
    plan.stack.dropout = 0.1;
    plan.encoder.as_deref_mut().unwrap().dropout = 0.1;
    for label_smoothing in [0.0, 0.1] {
        let objective = Objective::Translation(Translation { label_smoothing });
        check_gradients(objective, &plan, &parameters, &translations(&expected));
    }
}

/// Of every parameter the element whose gradient is the largest, against finite differences.
pub(super) fn check_gradients(objective: Objective, plan: &ModelPlan, parameters: &ParameterSet, batch: &Batch) {
    let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
    let loss_now = || {
        let model = Model::trainable(plan, parameters).unwrap();
        value(&objective.task().loss(&model, batch, &options).unwrap().loss)
    };
    let model = Model::trainable(plan, parameters).unwrap();
    let loss = objective.task().loss(&model, batch, &options).unwrap();
    model.backward(&loss).unwrap();
    for (name, variable) in parameters.iter() {
        let gradient = model.gradients().unwrap().get(name).unwrap();
        let gradient: Vec<f64> = gradient.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        let (place, wanted) =
            gradient.iter().copied().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
        let before: Vec<f64> = variable.flatten_all().unwrap().to_vec1().unwrap();
        let shifted = |by: f64| {
            let mut values = before.clone();
            values[place] += by;
            set(variable, values);
            loss_now()
        };
        let found = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
        set(variable, before);
        assert!((found - wanted).abs() < 1e-6 * (1.0 + wanted.abs()), "{objective:?} {name}: {found} {wanted}");
        assert!(wanted != 0.0 || name.contains("key.bias"), "{name}");
    }
}

fn set(variable: &Var, values: Vec<f64>) {
    variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()).unwrap();
}
