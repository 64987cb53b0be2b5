//! Tiny Hugging Face models with the outputs that an independent float64 implementation gives for them.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use headroom_engine::{
    attention::OutputPlan,
    checkpoint::{LoadedModel, ModelDirectory, load_model_dir, save_model_dir},
    config::{Cache, DeviceChoice, Precision},
    convert::{self, Conversion, ToCollaborative},
    generate::{Ending, Progress, Sampling, Search, continue_text, generate},
    model::{ForwardOptions, Model, ModelInput, dtype, open_device},
    ops::Activation,
};
use safetensors::{Dtype, SafeTensors};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join("hf").join(name)
}

/// Inputs and expected outputs of a golden.
struct Expected(Vec<u8>);

impl Expected {
    fn read(name: &str) -> Self {
        Self(std::fs::read(golden(name).join("io.safetensors")).unwrap())
    }

    /// The shape and the numbers of a tensor, whole numbers widened.
    fn get(&self, name: &str) -> (Vec<usize>, Vec<f64>) {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let tensor = file.tensor(name).unwrap();
        let bytes = tensor.data().chunks_exact(8).map(|eight| eight.try_into().unwrap());
        let numbers = match tensor.dtype() {
            Dtype::F64 => bytes.map(f64::from_le_bytes).collect(),
            Dtype::I64 => bytes.map(|eight| i64::from_le_bytes(eight) as f64).collect(),
            other => panic!("{name} has type {other:?}"),
        };
        (tensor.shape().to_vec(), numbers)
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        self.get(name).1.into_iter().map(|id| id as u32).collect()
    }
}

fn load(name: &str, precision: Precision) -> (LoadedModel, Model) {
    let device = open_device(DeviceChoice::Cpu).unwrap();
    let loaded = load_model_dir(&golden(name), dtype(precision), &device).unwrap();
    let model = Model::frozen(&loaded.plan, &loaded.parameters).unwrap();
    (loaded, model)
}

fn everything() -> ForwardOptions {
    ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() }
}

/// The numbers of some tensors one after the other. A macro, because tests name no tensor type.
macro_rules! numbers {
    ($tensors:expr) => {{
        let tensors = &$tensors;
        let wide = tensors.iter().map(|tensor| tensor.to_dtype(dtype(Precision::F64)).unwrap().flatten_all().unwrap());
        wide.flat_map(|tensor| tensor.to_vec1::<f64>().unwrap()).collect::<Vec<f64>>()
    }};
}

/// Errors are relative to the largest number expected. Rounding of 32-bit sums was measured at 8e-7.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 2e-5,
        Precision::F64 => 1e-9,
        Precision::F16 | Precision::Tf32 => 1e-2,
        Precision::Bf16 => 6e-2,
    }
}

fn check(what: &str, got: &[f64], expected: &[f64], precision: Precision) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    let error = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0_f64, |a, x| {
        assert!(!x.is_nan(), "{what} has numbers that are not finite");
        a.max(x)
    });
    assert!(error <= tolerance(precision) * largest, "{what} in {}: {:e}", precision.name(), error / largest);
}

#[test]
fn logits_maps_and_hidden_states_are_those_of_transformers() {
    for (name, precision) in ["bert_mlm", "gpt2"].into_iter().flat_map(|name| Precision::FORMATS.map(|p| (name, p))) {
        let expected = Expected::read(name);
        let (_, model) = load(name, precision);
        let (shape, _) = expected.get("input_ids");
        let mask: Vec<u8> = expected.ids("attention_mask").into_iter().map(|keep| keep as u8).collect();
        let device = open_device(DeviceChoice::Cpu).unwrap();
        let mut input = ModelInput::new(&expected.ids("input_ids"), Some(&mask), shape[0], shape[1], &device).unwrap();
        if name == "bert_mlm" {
            input = input.with_token_types(&expected.ids("token_type_ids")).unwrap();
        }
        let output = model.forward(&input, &everything()).unwrap();
        check("logits", &numbers!([output.logits]), &expected.get("logits").1, precision);
        check("maps", &numbers!(output.maps), &expected.get("attentions").1, precision);
        check("hidden states", &numbers!(output.hidden), &expected.get("hidden_states").1, precision);
        if name == "bert_mlm" {
            let labels: Vec<i64> = expected.get("labels").1.into_iter().map(|label| label as i64).collect();
            let loss = model.loss(&input, &labels, &ForwardOptions::default()).unwrap();
            let (_, expected_loss) = expected.get("loss");
            check("loss", &numbers!([loss.loss]), &expected_loss, precision);
            let evaluation = model.evaluate(&input, &labels).unwrap();
            check("evaluated loss", &[evaluation.loss()], &expected_loss, precision);
        }
    }
}

/// A classifier of texts, whose logits come from BERT's pooler, and a model that marks where an answer starts and ends.
#[test]
fn classes_and_spans_of_texts_are_those_of_transformers() {
    let cases = [
        (
            "bert_seqcls",
            OutputPlan::Classes { classes: 3, pooler: Some(Activation::Tanh), distils: false },
            "This model ends in classes.",
        ),
        ("bert_span", OutputPlan::Span, "This model ends in spans."),
    ];
    for ((name, head, refusal), precision) in
        cases.iter().flat_map(|case| [Precision::F32, Precision::F64].map(|precision| (case, precision)))
    {
        let expected = Expected::read(name);
        let (loaded, model) = load(name, precision);
        assert_eq!(loaded.plan.head, *head);
        let (shape, _) = expected.get("input_ids");
        let mask: Vec<u8> = expected.ids("attention_mask").into_iter().map(|keep| keep as u8).collect();
        let device = open_device(DeviceChoice::Cpu).unwrap();
        let input = ModelInput::new(&expected.ids("input_ids"), Some(&mask), shape[0], shape[1], &device).unwrap();
        let input = input.with_token_types(&expected.ids("token_type_ids")).unwrap();
        let output = model.forward(&input, &everything()).unwrap();
        check("logits", &numbers!([output.logits]), &expected.get("logits").1, precision);
        check("maps", &numbers!(output.maps), &expected.get("attentions").1, precision);
        check("hidden states", &numbers!(output.hidden), &expected.get("hidden_states").1, precision);
        let labels = vec![0; shape[0] * shape[1]];
        let error = model.loss(&input, &labels, &ForwardOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(refusal), "{error}");
    }
}

/// A classifier of images: patches, a class token before them, and a norm after the last layer, whose output
/// `transformers` does not count among the hidden states.
#[test]
fn classes_of_images_are_those_of_transformers() {
    for precision in [Precision::F32, Precision::F64] {
        let expected = Expected::read("vit");
        let (_, model) = load("vit", precision);
        let (shape, pixels) = expected.get("pixel_values");
        let pixels: Vec<f32> = pixels.into_iter().map(|pixel| pixel as f32).collect();
        let device = open_device(DeviceChoice::Cpu).unwrap();
        let input = ModelInput::images(&pixels, [shape[0], shape[1], shape[2]], &device).unwrap();
        let output = model.forward(&input, &everything()).unwrap();
        check("logits", &numbers!([output.logits]), &expected.get("logits").1, precision);
        check("maps", &numbers!(output.maps), &expected.get("attentions").1, precision);
        let before_norm = &output.hidden[..output.hidden.len() - 1];
        let (shape, states) = expected.get("hidden_states");
        let states = &states[..states.len() / shape[0] * (shape[0] - 1)];
        check("hidden states", &numbers!(before_norm), states, precision);
    }
}

/// An encoder and a decoder that attends to it: positions that begin at row 2, and a bias over the vocabulary.
#[test]
fn an_encoder_decoder_gives_what_transformers_gives() {
    for precision in [Precision::F32, Precision::F64] {
        let expected = Expected::read("bart");
        let (loaded, model) = load("bart", precision);
        assert_eq!(loaded.plan.stacks().count(), 2);
        let device = open_device(DeviceChoice::Cpu).unwrap();
        let read = |name: &str, mask: Option<&[u8]>| {
            let (shape, _) = expected.get(name);
            ModelInput::new(&expected.ids(name), mask, shape[0], shape[1], &device).unwrap()
        };
        let mask: Vec<u8> = expected.ids("attention_mask").into_iter().map(|keep| keep as u8).collect();
        let input = read("decoder_input_ids", None).with_encoder(read("input_ids", Some(&mask)));
        let output = model.forward(&input, &everything()).unwrap();
        let encoder = output.encoder.unwrap();
        check("logits", &numbers!([output.logits]), &expected.get("logits").1, precision);
        check("the encoder's maps", &numbers!(encoder.maps), &expected.get("encoder_attentions").1, precision);
        check("the decoder's maps", &numbers!(output.maps), &expected.get("decoder_attentions").1, precision);
        check("cross maps", &numbers!(output.cross_maps), &expected.get("cross_attentions").1, precision);
        check("hidden states", &numbers!(output.hidden), &expected.get("decoder_hidden_states").1, precision);
        let last = encoder.hidden.last().unwrap();
        check("encoder states", &numbers!([last]), &expected.get("encoder_last_hidden_state").1, precision);
        let alone = model.forward(&read("decoder_input_ids", None), &ForwardOptions::default()).unwrap_err();
        assert!(alone.to_string().contains("whose encoder reads nothing"), "{alone}");
    }
}

/// Models of every family go to disk and back: names, shapes and settings.
#[test]
fn models_of_every_family_are_saved_as_they_came() {
    for name in ["bert_mlm", "gpt2", "bert_seqcls", "bert_span", "vit", "bart"] {
        let (loaded, _) = load(name, Precision::F32);
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("model");
        let tensors = loaded.parameters.tensors();
        let contents = ModelDirectory::of(&loaded.plan, &tensors);
        let _ = save_model_dir(&dir, &contents).unwrap();
        let file = |dir: &Path| {
            let bytes = std::fs::read(dir.join("model.safetensors")).unwrap();
            let file = SafeTensors::deserialize(&bytes).unwrap();
            let tensors = file.tensors().into_iter();
            tensors
                .map(|(name, tensor)| (name, (tensor.shape().to_vec(), tensor.data().to_vec())))
                .collect::<BTreeMap<_, _>>()
        };
        assert!(file(&dir) == file(&golden(name)), "{name}");
        let class = |dir: &Path| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(dir.join("config.json")).unwrap()).unwrap()
        };
        assert_eq!(class(&dir)["architectures"], class(&golden(name))["architectures"]);
        let device = open_device(DeviceChoice::Cpu).unwrap();
        assert_eq!(load_model_dir(&dir, dtype(Precision::F32), &device).unwrap().plan, loaded.plan, "{name}");
    }
}

fn after(loaded: &LoadedModel, to: &Conversion) -> convert::Converted {
    let model = (&loaded.plan, &loaded.parameters);
    convert::convert(model, to, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// One map for queries and keys: every family comes back from a directory as it was made.
#[test]
fn models_of_every_family_are_given_one_map() {
    let device = open_device(DeviceChoice::Cpu).unwrap();
    for name in ["bert_mlm", "gpt2", "bert_seqcls", "bert_span", "vit", "bart"] {
        for one_map in ["symmetric", "pairwise", "shared-weight"] {
            let (loaded, _) = load(name, Precision::F32);
            let conversion = Conversion::examples().into_iter().find(|one| one.info().flag == one_map).unwrap();
            convert::check(&loaded.plan, &conversion).unwrap();
            let converted = after(&loaded, &conversion);
            assert!(converted.parameters.count() < loaded.parameters.count(), "{name}");
            for one in &converted.attentions {
                assert!((0.0..1.0).contains(&one.relative_error.unwrap()), "{name} {one_map}: {one:?}");
            }
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path().join("model");
            let tensors = converted.parameters.tensors();
            let _ = save_model_dir(&dir, &ModelDirectory::of(&converted.plan, &tensors)).unwrap();
            let again = load_model_dir(&dir, dtype(Precision::F32), &device).unwrap();
            assert_eq!(again.plan, converted.plan, "{name} {one_map}");
            let again = again.parameters.tensors();
            for (tensor, was) in &tensors {
                let [is, was] = [&again[tensor], was].map(|one| one.flatten_all().unwrap().to_vec1::<f32>().unwrap());
                assert_eq!(is, was, "{name} {one_map}: {tensor}");
            }
        }
    }
}

/// Collaborative heads of the whole width are the standard ones: every family, every end, through a directory.
#[test]
fn models_of_every_family_are_converted_and_compute_the_same() {
    for name in ["bert_mlm", "gpt2", "bert_seqcls", "bert_span", "vit", "bart"] {
        let (loaded, _) = load(name, Precision::F32);
        let to = ToCollaborative { d_k: loaded.plan.stack.width, ..ToCollaborative::default() };
        let to = Conversion::Collaborative(to);
        convert::check(&loaded.plan, &to).unwrap();
        let converted = after(&loaded, &to);
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("model");
        let tensors = converted.parameters.tensors();
        let _ = save_model_dir(&dir, &ModelDirectory::of(&converted.plan, &tensors)).unwrap();
        let device = open_device(DeviceChoice::Cpu).unwrap();
        let again = load_model_dir(&dir, dtype(Precision::F32), &device).unwrap();
        assert_eq!(again.plan, converted.plan, "{name}");
        let model = Model::frozen(&again.plan, &again.parameters).unwrap();
        let expected = Expected::read(name);
        let read = |ids: &str, mask: bool| {
            let (shape, _) = expected.get(ids);
            let mask: Option<Vec<u8>> =
                mask.then(|| expected.ids("attention_mask").into_iter().map(|keep| keep as u8).collect());
            ModelInput::new(&expected.ids(ids), mask.as_deref(), shape[0], shape[1], &device).unwrap()
        };
        let input = match name {
            "vit" => {
                let (shape, pixels) = expected.get("pixel_values");
                let pixels: Vec<f32> = pixels.into_iter().map(|pixel| pixel as f32).collect();
                ModelInput::images(&pixels, [shape[0], shape[1], shape[2]], &device).unwrap()
            }
            "bart" => read("decoder_input_ids", false).with_encoder(read("input_ids", true)),
            "gpt2" => read("input_ids", true),
            _ => read("input_ids", true).with_token_types(&expected.ids("token_type_ids")).unwrap(),
        };
        let output = model.forward(&input, &everything()).unwrap();
        check(name, &numbers!([output.logits]), &expected.get("logits").1, Precision::F32);
        if name == "bert_mlm" {
            check("maps", &numbers!(output.maps), &expected.get("attentions").1, Precision::F32);
        }
    }
}

#[test]
fn greedy_text_is_that_of_transformers() {
    let expected = Expected::read("gpt2");
    let text = std::fs::read_to_string(golden("gpt2").join("generation.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (shape, _) = expected.get("prompts");
    let prompts = expected.ids("prompts");
    let end_token = cases["eos_token_id"].as_u64().map(|id| id as u32);
    let mut checked = 0;
    for (case, precision) in
        cases["cases"].as_array().unwrap().iter().flat_map(|case| [Precision::F32, Precision::F64].map(|p| (case, p)))
    {
        if case["num_beams"] != 1 {
            continue;
        }
        let (_, model) = load("gpt2", precision);
        let prompt = prompts.chunks(shape[1]).nth(case["prompt_index"].as_u64().unwrap() as usize).unwrap();
        let generated: Vec<u32> =
            case["generated"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
        let max_new_tokens = case["max_new_tokens"].as_u64().unwrap() as usize;
        let greedy = Sampling { max_new_tokens, temperature: 0.0, end_token, ..Sampling::default() };
        let found = continue_text(&model, prompt, &greedy, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(found.ids(), generated, "prompt {}", case["prompt_index"]);
        let ended = generated.last().copied() == end_token;
        assert_eq!(found.ending, if ended { Ending::EndToken } else { Ending::Length });
        checked += 1;
    }
    assert!(checked >= 4, "only {checked} cases were checked");
}

/// Greedy and beam search of both kinds of models, with every cache: the ids, the scores, and why texts ended.
#[test]
fn every_cache_gives_the_text_of_transformers() {
    let mut checked = 0;
    for name in ["gpt2", "bart"] {
        let expected = Expected::read(name);
        let text = std::fs::read_to_string(golden(name).join("generation.json")).unwrap();
        let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
        let prompts: Vec<Vec<u32>> = if name == "gpt2" {
            let (shape, _) = expected.get("prompts");
            expected.ids("prompts").chunks(shape[1]).map(<[u32]>::to_vec).collect()
        } else {
            let (shape, _) = expected.get("input_ids");
            let (ids, mask) = (expected.ids("input_ids"), expected.ids("attention_mask"));
            let rows = ids.chunks(shape[1]).zip(mask.chunks(shape[1]));
            let seen = |(ids, mask): (&[u32], &[u32])| {
                ids.iter().zip(mask).filter(|(_, keep)| **keep == 1).map(|(id, _)| *id).collect()
            };
            rows.map(seen).collect()
        };
        for precision in [Precision::F32, Precision::F64] {
            let (loaded, model) = load(name, precision);
            assert_eq!(loaded.generation.marks.end, [cases["eos_token_id"].as_u64().unwrap() as u32]);
            assert_eq!(name == "bart", loaded.generation.marks.start == Some(2));
            for case in cases["cases"].as_array().unwrap() {
                let beams = case["num_beams"].as_u64().unwrap() as usize;
                let source = prompts[case["prompt_index"].as_u64().unwrap() as usize].clone();
                let generated: Vec<u32> =
                    case["generated"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
                for cache in Cache::ALL {
                    let search = Search {
                        cache,
                        beams,
                        max_new_tokens: case["max_new_tokens"].as_u64().unwrap() as usize,
                        length_penalty: case["length_penalty"].as_f64().unwrap_or(1.0),
                        early_stopping: case["early_stopping"].as_bool().unwrap_or(false),
                        ..Search::default()
                    };
                    let go = |_: Progress<'_>| ControlFlow::Continue(());
                    let found =
                        generate(&model, std::slice::from_ref(&source), &loaded.generation.marks, &search, None, go)
                            .unwrap();
                    let found = &found.texts[0];
                    assert_eq!(found.tokens, generated, "{name}, {search:?}");
                    let ended = generated.last().is_some_and(|last| loaded.generation.marks.end.contains(last));
                    assert_eq!(found.ending, if ended { Ending::EndToken } else { Ending::Length });
                    if let Some(score) = case["score"].as_f64() {
                        assert!((found.score - score).abs() < 1e-4, "{name}: {} and {score}", found.score);
                    }
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 6 * 20, "only {checked} cases were checked");
}

/// All sources of a model at once give what each gives alone.
#[test]
fn sources_of_different_lengths_are_generated_together() {
    let expected = Expected::read("bart");
    let (shape, _) = expected.get("input_ids");
    let (ids, mask) = (expected.ids("input_ids"), expected.ids("attention_mask"));
    let source = |row: usize| -> Vec<u32> {
        (row * shape[1]..(row + 1) * shape[1]).filter(|at| mask[*at] == 1).map(|at| ids[at]).collect()
    };
    let sources: Vec<Vec<u32>> = (0..shape[0]).map(source).collect();
    assert!(sources.iter().any(|other| other.len() != sources[0].len()));
    let (loaded, model) = load("bart", Precision::F32);
    let go = |_: Progress<'_>| ControlFlow::Continue(());
    for cache in Cache::ALL {
        let search = Search { cache, beams: 4, max_new_tokens: 12, ..Search::default() };
        let together = generate(&model, &sources, &loaded.generation.marks, &search, None, go).unwrap();
        for (source, text) in sources.iter().zip(&together.texts) {
            let alone =
                generate(&model, std::slice::from_ref(source), &loaded.generation.marks, &search, None, go).unwrap();
            assert_eq!(alone.texts[0].tokens, text.tokens);
        }
    }
}

#[test]
fn tokenizers_come_along() {
    assert!(load("bert_mlm", Precision::F32).0.tokenizer_json.unwrap().contains("[MASK]"));
    assert!(load("gpt2", Precision::F32).0.tokenizer_json.is_none());
}
