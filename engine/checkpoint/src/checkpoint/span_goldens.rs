//! A model of `transformers` that answers questions as a task: its loss against a slow reference from the golden's logits, and
//! gradients against finite differences.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use candle_core::{DType, Device, Tensor};

use super::{
    LoadedModel, load_model_dir,
    task_goldens::{check_gradients, value},
};
use crate::{
    model::{ForwardOptions, Model},
    objective::{
        Answers, Batch, IGNORED, Labels, LearnedTask, Objective, Paragraph, Question, Questions, Spans, Window,
    },
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/hf/bert_span")
}

/// Where the answers of the three rows begin and end; the second has none.
const TARGETS: [[usize; 2]; 3] = [[6, 8], [0, 0], [2, 2]];

/// The golden's rows of 10, 7 and 4 tokens.
fn batch(expected: &HashMap<String, Tensor>) -> Batch {
    let numbers = |name: &str| -> Vec<i64> {
        expected[name].to_dtype(DType::I64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    };
    let whole = |name: &str| -> Vec<u32> { numbers(name).into_iter().map(|id| id as u32).collect() };
    let (batch, sequence) = expected["input_ids"].dims2().unwrap();
    let paragraph = Paragraph { text: "abcde".to_owned(), offsets: (0..5).map(|at| [at, at + 1]).collect() };
    let question = |place: Option<[u32; 2]>| Question { place, ..Question::default() };
    let questions = Questions {
        paragraphs: vec![paragraph],
        all: vec![question(Some([1, 4])), question(None), question(Some([0, 1]))],
        may_lack_answers: true,
    };
    let window = |question, before, tokens| Window { question, before, first: 0, tokens };
    let windows = vec![window(0, 5, 5), window(1, 5, 2), window(2, 2, 2)];
    let spans = Spans { questions: Arc::new(questions), windows };
    assert_eq!(spans.targets(), TARGETS);
    Batch {
        input_ids: whole("input_ids"),
        labels: vec![IGNORED; batch * sequence],
        key_mask: Some(numbers("attention_mask").into_iter().map(|key| key as u8).collect()),
        token_types: Some(whole("token_type_ids")),
        batch,
        sequence,
        sources: None,
        answers: Some(Answers::Spans(spans)),
        pixels: None,
    }
}

/// Half the cross-entropy of the start plus half that of the end, of each row over its own tokens.
fn slow_loss(logits: &[Vec<Vec<f64>>], batch: &Batch) -> f64 {
    let mut sum = 0.0;
    for (row, positions) in logits.iter().enumerate() {
        let tokens = batch.tokens_of(row);
        for side in 0..2 {
            let all: f64 = positions[..tokens].iter().map(|pair| pair[side].exp()).sum();
            sum += 0.5 * (all.ln() - positions[TARGETS[row][side]][side]);
        }
    }
    sum / logits.len() as f64
}

#[test]
fn loss_and_answers_follow_from_the_logits_of_transformers() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    let logits: Vec<Vec<Vec<f64>>> = expected["logits"].to_dtype(DType::F64).unwrap().to_vec3().unwrap();
    for (dtype, tolerance) in [(DType::F32, 2e-5), (DType::F64, 2e-6)] {
        let LoadedModel { plan, parameters, labels, .. } = load_model_dir(&folder(), dtype, &Device::Cpu).unwrap();
        assert_eq!(labels, Some(Labels::Span { may_lack_answers: false }));
        let (batch, task) = (batch(&expected), Objective::SPAN);
        let wanted = slow_loss(&logits, &batch);
        let model = Model::trainable(&plan, &parameters).unwrap();
        let loss = task.task().loss(&model, &batch, &ForwardOptions::default()).unwrap();
        assert!((value(&loss.loss) - wanted).abs() < tolerance * wanted, "{:?} {wanted}", loss.loss);
        let found = task.task().evaluate(&Model::frozen(&plan, &parameters).unwrap(), &batch).unwrap();
        assert!((found.mean_loss() - wanted).abs() < tolerance * wanted);
        for (guess, (row, positions)) in found.guesses.windows.iter().zip(logits.iter().enumerate()) {
            let Some(Answers::Spans(spans)) = &batch.answers else { panic!() };
            let Window { before, tokens, .. } = spans.windows[row];
            let score = |first: usize, last: usize| positions[before + first][0] + positions[before + last][1];
            let pairs = (0..tokens).flat_map(|first| (first..tokens).map(move |last| [first, last]));
            let best = pairs.max_by(|a, b| score(a[0], a[1]).total_cmp(&score(b[0], b[1]))).unwrap();
            assert_eq!(guess.best.unwrap().tokens, best);
            assert!((guess.no_answer - positions[0][0] - positions[0][1]).abs() < tolerance * 10.0);
        }
    }
}

#[test]
fn padding_does_not_change_the_loss() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    let LoadedModel { plan, parameters, .. } = load_model_dir(&folder(), DType::F64, &Device::Cpu).unwrap();
    let model = Model::frozen(&plan, &parameters).unwrap();
    let whole = batch(&expected);
    let task = Objective::SPAN;
    let together = task.task().evaluate(&model, &whole).unwrap();
    let mut apart = 0.0;
    for row in 0..3 {
        let tokens = whole.tokens_of(row);
        let cut = |ids: &[u32]| ids[row * whole.sequence..][..tokens].to_vec();
        let alone = Batch {
            input_ids: cut(&whole.input_ids),
            labels: vec![IGNORED; tokens],
            key_mask: None,
            token_types: whole.token_types.as_deref().map(cut),
            batch: 1,
            sequence: tokens,
            sources: None,
            answers: whole.answers.as_ref().map(|answers| answers.of_rows(&[row])),
            pixels: None,
        };
        apart += task.task().evaluate(&model, &alone).unwrap().loss;
    }
    assert!((together.loss - apart).abs() < 1e-12 * apart, "{} {apart}", together.loss);
}

#[test]
fn gradients_agree_with_finite_differences() {
    let expected = candle_core::safetensors::load(folder().join("io.safetensors"), &Device::Cpu).unwrap();
    let LoadedModel { mut plan, parameters, .. } = load_model_dir(&folder(), DType::F64, &Device::Cpu).unwrap();
    plan.stack.dropout = 0.1;
    check_gradients(Objective::SPAN, &plan, &parameters, &batch(&expected));
}
