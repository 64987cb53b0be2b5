//! A classifier of `transformers` as a task: its loss, and gradients against finite differences.

use std::{collections::HashMap, path::PathBuf};

use candle_core::{DType, Device, Tensor, Var};

use super::{LoadedModel, load_model_dir};
use crate::{
    attention::ModelPlan,
    model::{ForwardOptions, Model, ParameterSet},
    objective::{Answers, Batch, IGNORED, Labels, Objective, Pixels},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/hf/bert_seqcls")
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

/// By how much an element is moved.
const STEP: f64 = 1e-5;

/// Of every parameter the element whose gradient is the largest, for both tasks, with dropout and class weights.
#[test]
fn gradients_agree_with_finite_differences() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    for objective in [Objective::CLASSIFICATION, Objective::REGRESSION] {
        let LoadedModel { mut plan, parameters, .. } = load_model_dir(&folder(), DType::F64, &Device::Cpu).unwrap();
        let mut tensors = parameters.tensors();
        if objective == Objective::REGRESSION {
            plan = plan.with_outputs(1);
            for name in ["head.classes.weight", "head.classes.bias"] {
                let first = tensors[name].narrow(0, 0, 1).unwrap().contiguous().unwrap();
                tensors.insert(name.to_owned(), first);
            }
        }
        plan.stack.dropout = 0.1;
        let (parameters, fresh) = ParameterSet::init_around(&plan, 1, DType::F64, &Device::Cpu, &tensors).unwrap();
        assert!(fresh.is_empty(), "{fresh:?}");
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
