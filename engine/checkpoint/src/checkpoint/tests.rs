use std::{collections::BTreeMap, fs, path::Path};

use candle_core::{DType, Device, Tensor};
use serde_json::json;

use super::{save::save_with, *};
use crate::{
    attention::ModelPlan,
    config::{Compatibility, Coverage, ModelKind, NormPlacement, PartialCoverage, Precision, Reuse, RunConfig},
    model::{ForwardOptions, Model, ModelInput, ParameterSet, seed_names},
    ops::{AdamW, AdamWConfig},
};

const TOKENIZER_TEXT: &str = r#"{"added_tokens": [{"id": 0, "content": "[PAD]"}, {"id": 4, "content": "[MASK]"}]}"#;

fn config(kind: ModelKind, norm: NormPlacement) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 2, 8, 12);
    config.data.sequence_length = 6;
    config.model.dropout = 0.1;
    config
}

fn plan(config: &RunConfig) -> ModelPlan {
    ModelPlan::resolve(config, 23).unwrap()
}

fn configs() -> Vec<RunConfig> {
    ModelKind::LANGUAGE_MODELS.iter().flat_map(|&kind| NormPlacement::ALL.map(|norm| config(kind, norm))).collect()
}

fn training() -> TrainingState {
    let optimiser =
        BTreeMap::from([("a.exp_avg".to_owned(), Tensor::new(&[0.1_f32, f32::MIN_POSITIVE], &Device::Cpu).unwrap())]);
    TrainingState {
        step: 7,
        tokens: u64::MAX,
        best: Some(BestMetric { name: "loss".to_owned(), value: 0.1 + 0.2, step: 5 }),
        optimiser,
        progress: json!({"batches": 70}),
    }
}

/// Saves a fresh model of `config` and gives its logits on some tokens.
fn save(dir: &Path, config: &RunConfig, seed: u64, training: Option<&TrainingState>) -> Tensor {
    let plan = plan(config);
    let parameters = ParameterSet::init(&plan, seed, DType::F32, &Device::Cpu).unwrap();
    let tensors = parameters.tensors();
    let contents = ModelDirectory {
        tokenizer_json: Some(TOKENIZER_TEXT),
        config: Some(config),
        training,
        ..ModelDirectory::of(&plan, &tensors)
    };
    let saved = save_model_dir(dir, &contents).unwrap();
    let sizes = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(saved.bytes, sizes.sum::<u64>());
    logits(&plan, &parameters)
}

fn logits(plan: &ModelPlan, parameters: &ParameterSet) -> Tensor {
    let input = ModelInput::new(&[1, 2, 3, 22], None, 1, 4, &Device::Cpu).unwrap();
    Model::frozen(plan, parameters).unwrap().forward(&input, &ForwardOptions::default()).unwrap().logits
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    let bits = |t: &Tensor| -> Vec<u32> {
        t.flatten_all().unwrap().to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
    };
    bits(a) == bits(b)
}

fn load(dir: &Path) -> Result<LoadedModel, CheckpointError> {
    load_model_dir(dir, DType::F32, &Device::Cpu)
}

/// The entries of a folder, hidden ones too.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_saved_comes_back_bit_for_bit() {
    for config in configs() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("new").join("model");
        let expected = save(&dir, &config, 1, Some(&training()));
        let loaded = load(&dir).unwrap();
        assert_eq!(loaded.plan, plan(&config));
        assert_eq!(loaded.config.as_ref(), Some(&config));
        assert_eq!(loaded.tokenizer_json.as_deref(), Some(TOKENIZER_TEXT));
        assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
        let state = load_training_state(&dir, &Device::Cpu).unwrap();
        let expected = training();
        assert_eq!(
            (state.step, state.tokens, state.best, state.progress),
            (7, u64::MAX, expected.best, expected.progress)
        );
        assert!(same(&state.optimiser["a.exp_avg"], &expected.optimiser["a.exp_avg"]));
        assert_eq!(names(dir.parent().unwrap()), ["model"], "leftovers beside the model");
    }
}

/// Every way to score a pair with every schedule.
#[test]
fn attention_of_every_kind_comes_back_bit_for_bit() {
    for (number, compatibility) in Compatibility::examples(4, 8).into_iter().enumerate() {
        for reuse in Reuse::examples(3, 4) {
            let mut config = config(ModelKind::LANGUAGE_MODELS[number % 2], NormPlacement::ALL[number / 2 % 2]);
            (config.model.layers, config.model.heads) = (3, 4);
            config.attention.compatibility = compatibility.clone();
            config.attention.reuse = reuse.clone();
            let parent = tempfile::tempdir().unwrap();
            let dir = parent.path().join("model");
            let expected = save(&dir, &config, 1, None);
            let loaded = load(&dir).unwrap();
            assert_eq!(loaded.plan, plan(&config));
            assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected), "{compatibility:?} {reuse:?}");
            let text = fs::read_to_string(dir.join(CONFIG)).unwrap();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let is_plain = reuse == Reuse::default() && compatibility == Compatibility::default();
            assert_eq!(json.get("headroom_attention").is_none(), is_plain, "{text}");
            if !is_plain {
                assert_eq!(json["model_type"], "headroom", "nothing else may open it");
            }
        }
    }
}

/// With as many positions as tokens, and with more.
#[test]
fn partial_coverage_comes_back_with_its_length() {
    for (kind, positions, tokens) in [
        (ModelKind::Encoder, None, None),
        (ModelKind::Encoder, Some(9), Some(6)),
        (ModelKind::Decoder, Some(9), Some(6)),
    ] {
        let mut config = config(kind, NormPlacement::Post);
        config.model.positions = positions;
        config.attention.coverage = Coverage::Partial(PartialCoverage { k: 2, ..PartialCoverage::default() });
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("model");
        let expected = save(&dir, &config, 1, None);
        let loaded = load(&dir).unwrap();
        assert_eq!(loaded.plan, plan(&config));
        assert_eq!((loaded.plan.stack.longest(), loaded.plan.stack.coverage_tokens), (6, tokens));
        assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
        let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(dir.join(CONFIG)).unwrap()).unwrap();
        assert_eq!(
            json["headroom_attention"].get("tokens").and_then(serde_json::Value::as_u64),
            tokens.map(|n| n as u64)
        );
    }
}

/// What `transformers` has a class for; anything else is said to be unknown to it, with the field.
#[test]
fn what_transformers_does_not_open_is_said_with_the_reason() {
    let said = |config: &RunConfig| in_transformers(&plan(config));
    for (kind, norm, class) in [
        (ModelKind::Encoder, NormPlacement::Post, Some("BertForMaskedLM")),
        (ModelKind::Encoder, NormPlacement::Pre, Some("MegatronBertForMaskedLM")),
        (ModelKind::Decoder, NormPlacement::Pre, Some("GPT2LMHeadModel")),
        (ModelKind::Decoder, NormPlacement::Post, None),
    ] {
        let mut config = config(kind, norm);
        let found = said(&config);
        assert_eq!(found.opens, class.is_some(), "{kind:?} {norm:?}");
        assert!(found.words.contains(class.unwrap_or("model.norm = \"post\"")), "{}", found.words);
        config.attention.coverage = Coverage::Partial(PartialCoverage { k: 2, ..PartialCoverage::default() });
        config.attention.compatibility = Compatibility::examples(2, 8).pop().unwrap();
        let found = said(&config);
        assert!(!found.opens);
        for field in ["attention.coverage", "attention.compatibility"] {
            assert!(found.words.contains(field), "{}", found.words);
        }
    }
}

#[test]
fn double_precision_is_kept() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("model");
    let config = config(ModelKind::Encoder, NormPlacement::Post);
    let plan = plan(&config);
    let parameters = ParameterSet::init(&plan, 1, DType::F64, &Device::Cpu).unwrap();
    let tensors = parameters.tensors();
    let contents = ModelDirectory::of(&plan, &tensors);
    save_model_dir(&dir, &contents).unwrap();
    assert_eq!(names(&dir), ["config.json", "headroom.json", "model.safetensors"]);
    assert!(fs::read_to_string(dir.join("config.json")).unwrap().contains("float64"));
    let loaded = load_model_dir(&dir, DType::F64, &Device::Cpu).unwrap();
    assert!(loaded.config.is_none() && loaded.tokenizer_json.is_none());
    for (name, tensor) in loaded.parameters.tensors() {
        let [a, b] = [&tensor, &tensors[&name]].map(|t| t.flatten_all().unwrap().to_vec1::<f64>().unwrap());
        assert_eq!(a, b, "{name}");
    }
}

/// `steps` optimiser steps, the first of them with number `first`.
fn train(plan: &ModelPlan, parameters: &ParameterSet, optimiser: &mut AdamW, first: u64, steps: u64) {
    let model = Model::trainable(plan, parameters).unwrap();
    let input = ModelInput::new(&[1, 2, 3, 22, 5, 6], None, 1, 6, &Device::Cpu).unwrap();
    for step in first..first + steps {
        let options = ForwardOptions { dropout: Some((1, step)), ..ForwardOptions::default() };
        let gradients = model.gradients().unwrap();
        gradients.reset();
        model.backward(&model.loss(&input, &[2, 3, 22, 5, 6, -100], &options).unwrap()).unwrap();
        optimiser.step(gradients, 1e-2).unwrap();
    }
}

/// Also from one of an earlier version, which had the names of `transformers` in its state too.
#[test]
fn training_continues_from_a_checkpoint_as_if_never_stopped() {
    for (config, is_old) in configs().into_iter().flat_map(|config| [(config.clone(), false), (config, true)]) {
        let plan = plan(&config);
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("m");
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        let new_optimiser =
            |parameters: &ParameterSet| AdamW::new(parameters.optimiser_parameters(), AdamWConfig::default()).unwrap();
        let mut optimiser = new_optimiser(&parameters);
        train(&plan, &parameters, &mut optimiser, 0, 3);
        let tensors = parameters.tensors();
        let mut moments = optimiser.state().unwrap();
        if is_old {
            let old = |name: String| seed_names(&plan).theirs(&name).unwrap_or(name);
            moments = moments.into_iter().map(|(name, tensor)| (old(name), tensor)).collect();
            assert!(moments.keys().any(|name| name.ends_with(".weight.exp_avg") && !name.starts_with("input.")));
        }
        let state = TrainingState { optimiser: moments, ..training() };
        let contents =
            ModelDirectory { config: Some(&config), training: Some(&state), ..ModelDirectory::of(&plan, &tensors) };
        save_model_dir(&dir, &contents).unwrap();
        train(&plan, &parameters, &mut optimiser, 3, 3);

        let loaded = load(&dir).unwrap();
        let mut resumed = new_optimiser(&loaded.parameters);
        resumed.load_state(&load_training_state(&dir, &Device::Cpu).unwrap().optimiser).unwrap();
        train(&loaded.plan, &loaded.parameters, &mut resumed, 3, 3);
        for (name, tensor) in parameters.tensors() {
            assert!(same(&tensor, &loaded.parameters.tensors()[&name]), "{name}");
        }
    }
}

#[test]
fn infinite_bests_survive() {
    for value in [f64::INFINITY, f64::NEG_INFINITY, 1e-300, 0.1 + 0.2] {
        let best = BestMetric { name: "loss".to_owned(), value, step: 0 };
        let text = serde_json::to_string(&best).unwrap();
        assert_eq!(serde_json::from_str::<BestMetric>(&text).unwrap(), best);
    }
}

#[test]
fn only_known_combinations_are_saved_under_a_type_of_transformers() {
    let expected = ["megatron-bert", "bert", "gpt2", "headroom"];
    for (config, expected) in configs().iter().zip(expected) {
        let parent = tempfile::tempdir().unwrap();
        save(&parent.path().join("m"), config, 1, None);
        let text = fs::read_to_string(parent.path().join("m").join("config.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["model_type"], expected, "{:?} {:?}", config.model.kind, config.model.norm);
        assert_eq!(json["pad_token_id"], 0);
    }
}

#[test]
fn a_new_checkpoint_replaces_the_old_one_whole() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    let config = config(ModelKind::Decoder, NormPlacement::Pre);
    let first = save(&dir, &config, 1, Some(&training()));
    let second = save(&dir, &config, 2, None);
    assert!(!same(&first, &second));
    let loaded = load(&dir).unwrap();
    assert!(same(&logits(&loaded.plan, &loaded.parameters), &second));
    let error = load_training_state(&dir, &Device::Cpu).unwrap_err();
    assert!(matches!(error, CheckpointError::NoTrainingState { .. }), "{error}");
    assert_eq!(names(parent.path()), ["m"]);
}

/// A process that is killed while saving leaves one of these states behind.
#[test]
fn every_state_that_a_crash_leaves_is_recovered() {
    let config = config(ModelKind::Decoder, NormPlacement::Pre);
    for (moved_aside, in_place, half_written) in
        [(false, true, true), (true, false, true), (true, false, false), (true, true, false)]
    {
        let parent = tempfile::tempdir().unwrap();
        let (dir, old) = (parent.path().join("m"), parent.path().join(".m.headroom-old"));
        let expected = save(&dir, &config, 1, Some(&training()));
        if moved_aside {
            fs::rename(&dir, &old).unwrap();
        }
        if in_place && moved_aside {
            save(&dir, &config, 1, Some(&training()));
            // Saving cleans up; the crash came before that.
            fs::create_dir_all(&old).unwrap();
            fs::write(old.join(CONFIG), "{}").unwrap();
        }
        if half_written {
            let new = parent.path().join(".m.headroom-new-12-34-0");
            fs::create_dir(&new).unwrap();
            fs::write(new.join(WEIGHTS), "half").unwrap();
        }
        let loaded = load(&dir).unwrap();
        assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
        assert_eq!(load_training_state(&dir, &Device::Cpu).unwrap().step, 7);
        let second = save(&dir, &config, 2, None);
        let loaded = load(&dir).unwrap();
        assert!(same(&logits(&loaded.plan, &loaded.parameters), &second));
        assert_eq!(names(parent.path()), ["m"], "{moved_aside} {in_place} {half_written}");
    }
}

#[test]
fn too_little_space_is_seen_before_anything_is_written() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    let config = config(ModelKind::Decoder, NormPlacement::Pre);
    let kept = save(&dir, &config, 1, None);
    let plan = plan(&config);
    let tensors = ParameterSet::init(&plan, 2, DType::F32, &Device::Cpu).unwrap().tensors();
    let contents = ModelDirectory::of(&plan, &tensors);
    let error = save_with(&dir, &contents, Some(1_000)).unwrap_err();
    assert!(error.to_string().contains("1000 bytes are free"), "{error}");
    let loaded = load(&dir).unwrap();
    assert!(same(&logits(&loaded.plan, &loaded.parameters), &kept));
    assert!(free_bytes(&dir).is_none_or(|free| free > 0));
}

#[test]
fn folders_with_other_files_are_never_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("thesis");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("chapter.tex"), "years of work").unwrap();
    let config = config(ModelKind::Decoder, NormPlacement::Pre);
    let plan = plan(&config);
    let tensors = ParameterSet::init(&plan, 2, DType::F32, &Device::Cpu).unwrap().tensors();
    let contents = ModelDirectory::of(&plan, &tensors);
    let error = save_model_dir(&dir, &contents).unwrap_err();
    assert!(error.to_string().contains("chapter.tex"), "{error}");
    assert_eq!(names(&dir), ["chapter.tex"]);
    assert_eq!(names(parent.path()), ["thesis"]);
    let file = parent.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(matches!(save_model_dir(&file, &contents), Err(CheckpointError::Io { .. })));
    assert!(matches!(save_model_dir(&file.join("m"), &contents), Err(CheckpointError::Io { .. })));
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
}

/// Weights were for the owner alone, beside files that everybody could read.
#[cfg(unix)]
#[test]
fn every_file_follows_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    save(&dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, Some(&training()));
    let plain = parent.path().join("plain");
    fs::write(&plain, "text").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in names(&dir) {
        assert_eq!(mode(&dir.join(&name)), mode(&plain), "{name}");
    }
}

/// A pipe in place of the weights was waited for without end.
#[cfg(unix)]
#[test]
fn pipes_are_refused_by_kind() {
    let error = after(|dir| {
        fs::remove_file(dir.join(TOKENIZER_CONFIG)).ok();
        fs::remove_file(dir.join(WEIGHTS)).unwrap();
        let made = std::process::Command::new("mkfifo").arg(dir.join(WEIGHTS)).status().unwrap();
        assert!(made.success());
    });
    assert!(error.to_string().contains("it is no file but a pipe"), "{error}");
}

/// What loading says after `break_it` changed a good directory.
fn after(break_it: impl FnOnce(&Path)) -> CheckpointError {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    save(&dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, Some(&training()));
    break_it(&dir);
    match load(&dir) {
        Err(error) => error,
        Ok(_) => load_training_state(&dir, &Device::Cpu).unwrap_err(),
    }
}

fn truncate(path: &Path, bytes: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn flip_last_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_told_with_file_reason_and_path() {
    type Break = fn(&Path);
    let cases: [(Break, &str); 9] = [
        (|dir| fs::remove_file(dir.join(WEIGHTS)).unwrap(), "has no model.safetensors"),
        (|dir| fs::remove_file(dir.join(CONFIG)).unwrap(), "has no config.json"),
        (|dir| fs::remove_file(dir.join(TRAINING_STATE)).unwrap(), "has no training_state.safetensors"),
        (|dir| truncate(&dir.join(WEIGHTS), 1000), "model.safetensors is damaged: it has 1000 of its"),
        (|dir| truncate(&dir.join(WEIGHTS), 0), "model.safetensors is damaged: it has 0 of its"),
        (|dir| flip_last_byte(&dir.join(WEIGHTS)), "model.safetensors was edited or damaged"),
        (|dir| flip_last_byte(&dir.join(TRAINING_STATE)), "training_state.safetensors was edited or damaged"),
        (|dir| fs::write(dir.join(MANIFEST), "{").unwrap(), "headroom.json is damaged"),
        (|dir| fs::write(dir.join(MANIFEST), r#"{"format": 99}"#).unwrap(), "format 99"),
    ];
    for (break_it, expected) in cases {
        let error = after(break_it).to_string();
        assert!(error.contains(expected), "{error} does not say: {expected}");
        assert!(error.ends_with('m'), "the path comes last: {error}");
    }
}

/// A directory from elsewhere has no checksums: every fault must be found in the files themselves.
#[test]
fn faults_of_foreign_directories_are_told() {
    fn set(dir: &Path, key: &str, value: serde_json::Value) {
        let path = dir.join(CONFIG);
        let mut config: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        config[key] = value;
        fs::write(path, config.to_string()).unwrap();
    }
    type Break = fn(&Path);
    let cases: [(Break, &str); 15] = [
        (|dir| truncate(&dir.join(WEIGHTS), 4), "cut off"),
        (|dir| truncate(&dir.join(WEIGHTS), 1000), "cut off"),
        (|dir| truncate(&dir.join(WEIGHTS), fs::metadata(dir.join(WEIGHTS)).unwrap().len() - 4), "shorter or longer"),
        (|dir| fs::write(dir.join(WEIGHTS), [0xff; 64]).unwrap(), "model.safetensors is damaged"),
        (|dir| fs::write(dir.join(CONFIG), "gpt2").unwrap(), "it is no JSON object"),
        (|dir| set(dir, "model_type", json!("gpt_neo")), "The nearest type that opens is \"gpt2\""),
        (|dir| set(dir, "model_type", json!("headroom")), "type \"headroom\""),
        (|dir| set(dir, "n_layer", json!(3)), "no tensor `transformer.h.2"),
        (|dir| set(dir, "n_layer", json!(1)), "transformer.h.1."),
        (|dir| set(dir, "n_inner", json!(13)), "[8, 13]"),
        (|dir| set(dir, "n_positions", json!(9)), "promises 9 positions, but the weights have 6"),
        (|dir| set(dir, "n_head", json!(3)), "not divisible"),
        (|dir| set(dir, "activation_function", json!("mish")), "`activation_function` to \"mish\""),
        (|dir| set(dir, "pruned_heads", json!({"0": [1]})), "`pruned_heads` in config.json is {\"0\":[1]}"),
        (|dir| set(dir, "pruned_heads", json!({"0": [1], "1": []})), "zeros in their places"),
    ];
    for (break_it, expected) in cases {
        let error = after(|dir| {
            fs::remove_file(dir.join(MANIFEST)).unwrap();
            break_it(dir);
        });
        assert!(error.to_string().contains(expected), "{error} does not say: {expected}");
    }
}

/// The last of several values under one key counts, as in Python.
#[test]
fn the_last_value_of_a_key_in_config_json_counts() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("m");
    let config = config(ModelKind::Decoder, NormPlacement::Pre);
    let _ = save(&dir, &config, 1, None);
    fs::remove_file(dir.join(MANIFEST)).unwrap();
    let written = fs::read_to_string(dir.join(CONFIG)).unwrap();
    fs::write(dir.join(CONFIG), written.replacen('{', "{\"n_layer\": 7,", 1)).unwrap();
    assert_eq!(load(&dir).unwrap().plan.stack.layers, config.model.layers);
    fs::write(dir.join(CONFIG), written.trim_end().trim_end_matches('}').to_owned() + ", \"n_layer\": 7}").unwrap();
    assert!(load(&dir).unwrap_err().to_string().contains("no tensor"));
}

/// A saved model whose weights are in two files, as `transformers` writes large ones; its logits.
fn sharded(dir: &Path) -> Tensor {
    let expected = save(dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, None);
    fs::remove_file(dir.join(MANIFEST)).unwrap();
    let tensors = tensors::read_all(dir, WEIGHTS);
    fs::remove_file(dir.join(WEIGHTS)).unwrap();
    let mut weight_map = serde_json::Map::new();
    for (place, name) in ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"].iter().enumerate() {
        let own: BTreeMap<String, Tensor> =
            tensors.iter().skip(place).step_by(2).map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
        weight_map.extend(own.keys().map(|tensor| (tensor.clone(), json!(name))));
        tensors::write(&dir.join(name), &own, ("format", "pt".to_owned())).unwrap();
    }
    let index = json!({"metadata": {"total_size": 1}, "weight_map": weight_map});
    fs::write(dir.join(INDEX), index.to_string()).unwrap();
    expected
}

#[test]
fn weights_in_several_files_are_read() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    let expected = sharded(&dir);
    let loaded = load(&dir).unwrap();
    assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
}

#[test]
fn every_file_of_a_model_is_listed_with_its_size() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    let _ = sharded(&dir);
    for other in ["notes.txt", "model-00003-of-00003.safetensors", "vocab.json", "merges.txt"] {
        fs::write(dir.join(other), "mine").unwrap();
    }
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let expected =
        ["config.json", shards[0], shards[1], INDEX, "tokenizer.json", "vocab.json", "merges.txt"].map(str::to_owned);
    let facts = describe_model_dir(&dir).unwrap();
    let listed = |facts: &DirectoryFacts| facts.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let missing: Vec<_> = expected.iter().filter(|name| !listed(&facts).contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {:?}", listed(&facts));
    assert!(!listed(&facts).iter().any(|name| name == "notes.txt" || name.contains("00003")), "{:?}", listed(&facts));
    for file in &facts.files {
        assert_eq!(file.bytes, fs::metadata(dir.join(&file.name)).unwrap().len(), "{}", file.name);
    }
    let bytes: u64 = facts.files.iter().map(|file| file.bytes).sum();
    assert!(bytes >= 4 * facts.parameters, "the weights count: {bytes} bytes");

    let pickled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/hf/roberta_pickled");
    let facts = describe_model_dir(&pickled).unwrap();
    assert!(listed(&facts).contains(&PICKLE.to_owned()), "{:?}", listed(&facts));
}

#[test]
fn faults_of_weights_in_several_files_are_told() {
    fn index(dir: &Path, change: impl Fn(&mut serde_json::Map<String, serde_json::Value>)) {
        let path = dir.join(INDEX);
        let mut index: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(index["weight_map"].as_object_mut().unwrap());
        fs::write(path, index.to_string()).unwrap();
    }
    type Break = fn(&Path);
    const NAME: &str = "transformer.wpe.weight";
    let cases: [(Break, &str); 11] = [
        (|dir| fs::remove_file(dir.join("model-00002-of-00002.safetensors")).unwrap(), "no model-00002-of-00002.safe"),
        (|dir| fs::write(dir.join(INDEX), "[]").unwrap(), "index.json is damaged"),
        (|dir| index(dir, |map| drop(map.remove(NAME))), "holds a tensor \"transformer.wpe.weight\""),
        (|dir| index(dir, |map| drop(map.insert("x".into(), map[NAME].clone()))), "no tensor \"x\""),
        (
            |dir| index(dir, |map| map[NAME] = json!("../other/model.safetensors")),
            "no .safetensors file of this folder",
        ),
        (|dir| index(dir, |map| map[NAME] = json!("/etc/model.safetensors")), "no .safetensors file of this folder"),
        (|dir| index(dir, |map| map[NAME] = json!("a/b.safetensors")), "no .safetensors file of this folder"),
        (|dir| index(dir, |map| map[NAME] = json!("..")), "no .safetensors file of this folder"),
        (|dir| index(dir, |map| map[NAME] = json!("config.json")), "no .safetensors file of this folder"),
        (|dir| index(dir, |map| map[NAME] = json!(7)), "index.json is damaged"),
        (|dir| truncate(&dir.join("model-00001-of-00002.safetensors"), 200), "00001-of-00002.safetensors is damaged"),
    ];
    for (break_it, expected) in cases {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("m");
        sharded(&dir);
        break_it(&dir);
        let error = load(&dir).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say: {expected}");
    }
}

/// It once said 100 steps and 256 examples whatever the run had.
#[test]
fn an_export_says_how_its_run_chose_its_pairs() {
    let mut config = config(ModelKind::Decoder, NormPlacement::Pre);
    let partial = PartialCoverage { k: 2, warmup_steps: 7, examples: 12, ..PartialCoverage::default() };
    config.attention.coverage = Coverage::Partial(partial);
    let plan = plan(&config);
    let text = |config: Option<&RunConfig>| {
        let tensors = BTreeMap::new();
        let contents = ModelDirectory { config, ..ModelDirectory::of(&plan, &tensors) };
        let special = special_tokens::SpecialTokens::find(None);
        let text = hugging_face::config_json(&contents, Precision::F32, &special);
        let read = hugging_face::described(&text, None, Path::new("m")).unwrap();
        assert_eq!(read.plan.stack.coverage, plan.stack.coverage);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["headroom_attention"]["coverage"].clone()
    };
    assert_eq!(
        text(Some(&config)),
        json!({"kind": "partial", "k": 2, "restore": "fixed", "warmup_steps": 7, "examples": 12})
    );
    assert_eq!(text(None), json!({"kind": "partial", "k": 2, "restore": "fixed"}));
}

/// Every tensor of a file is a parameter, known to be of no use, or an error that names it as the file does.
#[test]
fn a_tensor_that_is_missing_twice_there_or_unknown_is_named() {
    type Change = fn(&mut BTreeMap<String, Tensor>);
    let zeros = || Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
    let cases: [(Change, &str); 3] = [
        (|tensors| drop(tensors.remove("transformer.wte.weight")), "no tensor `transformer.wte.weight`"),
        (
            |tensors| drop(tensors.insert("wte.weight".to_owned(), tensors["transformer.wte.weight"].clone())),
            "does not have: wte.weight.",
        ),
        (
            |tensors| {
                drop(tensors.insert("transformer.score.weight".to_owned(), tensors["transformer.ln_f.bias"].clone()));
            },
            "transformer.score.weight",
        ),
    ];
    for (change, expected) in cases {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("m");
        save(&dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, None);
        fs::remove_file(dir.join(MANIFEST)).unwrap();
        let mut tensors = tensors::read_all(&dir, WEIGHTS);
        tensors.insert("transformer.h.0.attn.bias".to_owned(), zeros());
        change(&mut tensors);
        tensors::write(&dir.join(WEIGHTS), &tensors, ("format", "pt".to_owned())).unwrap();
        let error = load(&dir).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say: {expected}");
    }
}

#[test]
fn names_from_elsewhere_are_understood() {
    for (kind, prefix, copies) in [
        (ModelKind::Encoder, "bert.", ["cls.predictions.decoder.weight", "bert.pooler.dense.weight"]),
        (ModelKind::Decoder, "transformer.", ["lm_head.weight", "transformer.h.0.attn.bias"]),
    ] {
        let norm = if kind == ModelKind::Encoder { NormPlacement::Post } else { NormPlacement::Pre };
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("m");
        let expected = save(&dir, &config(kind, norm), 1, None);
        fs::remove_file(dir.join(MANIFEST)).unwrap();
        let tensors = tensors::read_all(&dir, WEIGHTS);
        let rename = |name: &str| {
            let name = name.strip_prefix(prefix).unwrap_or(name);
            if kind == ModelKind::Encoder {
                name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            } else {
                name.to_owned()
            }
        };
        let mut renamed: BTreeMap<String, Tensor> =
            tensors.into_iter().map(|(name, tensor)| (rename(&name), tensor)).collect();
        let [head, unused] = copies;
        let words = ["bert.embeddings.word_embeddings.weight", "transformer.wte.weight"].map(rename);
        let words = words.iter().find_map(|name| renamed.get(name)).unwrap().clone();
        renamed.insert(head.to_owned(), words);
        renamed.insert(unused.to_owned(), Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap());
        tensors::write(&dir.join(WEIGHTS), &renamed, ("format", "pt".to_owned())).unwrap();
        let loaded = load(&dir).unwrap();
        assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
    }
}

/// A hole of 40 GiB that nobody needs took 18 GB to be shown.
#[test]
fn what_nobody_needs_is_not_read() {
    const HOLE: usize = 40 << 30;
    let holed = |name: &str, file: &str, dir: &Path| {
        let bytes = fs::read(dir.join(file)).unwrap();
        let (length, rest) = bytes.split_at(8);
        let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
        let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
        header[name] = json!({"dtype": "U8", "shape": [HOLE], "data_offsets": [data.len(), data.len() + HOLE]});
        let header = header.to_string();
        let whole = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat();
        fs::write(dir.join(file), &whole).unwrap();
        truncate(&dir.join(file), (whole.len() + HOLE) as u64);
    };
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    let expected = save(&dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, Some(&training()));
    fs::remove_file(dir.join(MANIFEST)).unwrap();
    let parameters = describe_model_dir(&dir).unwrap().parameters;
    holed("transformer.h.0.attn.bias", WEIGHTS, &dir);
    let loaded = load(&dir).unwrap();
    assert!(same(&logits(&loaded.plan, &loaded.parameters), &expected));
    let facts = describe_model_dir(&dir).unwrap();
    assert_eq!((facts.parameters, facts.training.unwrap().step), (parameters, training().step));
    assert_eq!(parameters, loaded.parameters.count());
    // Moments are as many as there are trained numbers.
    holed("x.exp_avg", TRAINING_STATE, &dir);
    assert!(describe_model_dir(&dir).is_ok());
    let error = load_training_state(&dir, &Device::Cpu).unwrap_err().to_string();
    assert!(error.contains("42949672960") || error.contains("numbers, where training"), "{error}");
}

#[test]
fn files_of_settings_are_bounded() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("m");
    for (file, most) in [(CONFIG, 4 << 20), (RUN_CONFIG, 16 << 20), (MANIFEST, 1 << 20)] {
        save(&dir, &config(ModelKind::Decoder, NormPlacement::Pre), 1, None);
        let text = fs::read_to_string(dir.join(file)).unwrap();
        if file != MANIFEST {
            fs::remove_file(dir.join(MANIFEST)).unwrap();
        }
        fs::write(dir.join(file), format!("{text}{}", " ".repeat(most - text.len()))).unwrap();
        assert!(load(&dir).is_ok(), "{file}");
        fs::write(dir.join(file), format!("{text}{}", " ".repeat(most + 1 - text.len()))).unwrap();
        let error = load(&dir).unwrap_err().to_string();
        assert!(error.contains("MiB") && error.contains(file), "{error}");
    }
}
