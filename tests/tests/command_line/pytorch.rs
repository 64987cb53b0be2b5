//! What a directory that is taken home holds, and that `modeling_headroom.py` beside the weights computes in PyTorch what is computed
//! here: every way to score a pair, with heads that borrow, in every kind of model.
//!
//! The comparison needs a Python with `torch` and `transformers`: the one that `HEADROOM_PYTHON` names, else `python3`. Without one it
//! says so and compares nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use headroom_engine::{
    attention::ModelPlan,
    checkpoint::{ModelCard, ModelDirectory, load_model_dir, save_model_dir},
    config::{Compatibility, DeviceChoice, Precision, from_toml},
    model::{ForwardOptions, Model, ModelInput, ParameterSet, dtype, open_device},
};
use headroom_tests::TINY_DECODER;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::Value;

const VOCABULARY: usize = 23;
const TOKENS: usize = 9;
const BATCH: usize = 2;

/// A Python that has what it takes.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("HEADROOM_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let found = Command::new(&python).args(["-c", "import safetensors, torch, transformers"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!(
        "Nothing is compared: {} has no torch and transformers. HEADROOM_PYTHON names one that has.",
        python.display()
    );
    None
}

fn config(kind: &str, norm: &str, attention: &str) -> String {
    let encoder = if kind == "encoder_decoder" { "encoder_layers = 2\n" } else { "" };
    let data = if kind == "encoder_decoder" { "number_words" } else { "grammar" };
    format!(
        "format = 1\n[data]\nkind = \"{data}\"\nsequence_length = {TOKENS}\n[model]\nkind = \"{kind}\"\nlayers = 3\n{encoder}heads = 4\n\
         width = 24\nfeed_forward = 20\nnorm = \"{norm}\"\n[attention]\n{attention}\n"
    )
}

fn plan(kind: &str, norm: &str, attention: &str) -> ModelPlan {
    let text = config(kind, norm, attention);
    let config = from_toml(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    ModelPlan::resolve(&config, VOCABULARY).unwrap_or_else(|problems| panic!("{problems:?}: {text}"))
}

fn in_toml(compatibility: &Compatibility) -> String {
    let value = serde_json::to_value(compatibility).unwrap();
    let fields = value.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
    let fields: Vec<String> = fields.map(|(key, value)| format!("{key} = {value}")).collect();
    format!("compatibility = {{ {} }}", fields.join(", "))
}

/// Maps that are borrowed over one lender and over two, and heads that are not there.
const TABLE: &str = "reuse = { kind = \"custom\", rows = [\"c c c c\", \"0.1 c - 0.3\", \"1.0 c 1.3 -\"] }";

/// Writes a model whose every number counts, biases too, as a directory that is taken home.
fn write(plan: &ModelPlan, dir: &Path) {
    let device = open_device(DeviceChoice::Cpu).unwrap();
    let parameters = ParameterSet::init(plan, 7, dtype(Precision::F64), &device).unwrap();
    let tensors = parameters.tensors();
    let card = ModelCard { name: "a model".to_owned(), ..ModelCard::default() };
    let contents = ModelDirectory { card: Some(&card), ..ModelDirectory::of(plan, &tensors) };
    let _ = save_model_dir(dir, &contents).unwrap();
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut count = 0.0_f64;
    let changed: BTreeMap<String, (Vec<usize>, Dtype, Vec<u8>)> = file
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let mut data = tensor.data().to_vec();
            if tensor.dtype() == Dtype::F64 {
                for eight in data.chunks_exact_mut(8) {
                    count += 1.0;
                    let number = f64::from_le_bytes(eight.try_into().unwrap()) + 0.2 * count.sin();
                    eight.copy_from_slice(&number.to_le_bytes());
                }
            }
            (name, (tensor.shape().to_vec(), tensor.dtype(), data))
        })
        .collect();
    let views = changed
        .iter()
        .map(|(name, (shape, dtype, data))| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    let written = safetensors::serialize(views, Some([("format".to_owned(), "pt".to_owned())].into())).unwrap();
    fs::write(&path, written).unwrap();
    // Its checksums are those of before.
    fs::remove_file(dir.join("headroom.json")).unwrap();
}

/// What is computed here, beside what it was computed from.
fn expect(dir: &Path) {
    let device = open_device(DeviceChoice::Cpu).unwrap();
    let loaded = load_model_dir(dir, dtype(Precision::F64), &device).unwrap();
    let model = Model::frozen(&loaded.plan, &loaded.parameters).unwrap();
    let mut io: Vec<(&str, Vec<usize>, Dtype, Vec<u8>)> = Vec::new();
    let ids = |seed: u32, vocabulary: usize| -> Vec<u32> {
        (0..(BATCH * TOKENS) as u32).map(|n| (n * n + seed * n + seed) % vocabulary as u32).collect()
    };
    let wide =
        |numbers: &[u32]| numbers.iter().flat_map(|number| i64::from(*number).to_le_bytes()).collect::<Vec<u8>>();
    let vocabulary = loaded.plan.vocabulary();
    let input = if vocabulary == 0 {
        let (channels, side) = (3, 16);
        let pixels: Vec<f32> = (0..BATCH * channels * side * side).map(|n| (n as f32).sin()).collect();
        let bytes = pixels.iter().flat_map(|pixel| f64::from(*pixel).to_le_bytes()).collect();
        io.push(("pixel_values", vec![BATCH, channels, side, side], Dtype::F64, bytes));
        ModelInput::images(&pixels, [BATCH, channels, side], &device).unwrap()
    } else {
        let shape = vec![BATCH, TOKENS];
        let own = ids(3, vocabulary);
        // The end of the second text is padding.
        let mask: Vec<u32> = (0..BATCH * TOKENS).map(|n| u32::from(n < 2 * TOKENS - 2)).collect();
        let bytes: Vec<u8> = mask.iter().map(|seen| *seen as u8).collect();
        io.push(("attention_mask", shape.clone(), Dtype::I64, wide(&mask)));
        let read = |ids: &[u32], mask: Option<&[u8]>| ModelInput::new(ids, mask, BATCH, TOKENS, &device).unwrap();
        if loaded.plan.encoder.is_some() {
            let source = ids(5, vocabulary);
            io.push(("input_ids", shape.clone(), Dtype::I64, wide(&source)));
            io.push(("decoder_input_ids", shape, Dtype::I64, wide(&own)));
            read(&own, None).with_encoder(read(&source, Some(&bytes)))
        } else {
            io.push(("input_ids", shape, Dtype::I64, wide(&own)));
            read(&own, Some(&bytes))
        }
    };
    let logits = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
    let numbers = logits.flatten_all().unwrap().to_vec1::<f64>().unwrap();
    assert!(numbers.iter().all(|number| number.is_finite()), "{}", dir.display());
    io.push((
        "logits",
        logits.dims().to_vec(),
        Dtype::F64,
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
    ));
    let views =
        io.iter().map(|(name, shape, dtype, data)| (*name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    fs::write(dir.join("expected.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Every plan with a name.
fn plans() -> Vec<(String, ModelPlan)> {
    let mut plans = Vec::new();
    for kind in ["encoder", "decoder", "encoder_decoder"] {
        for norm in ["post", "pre"] {
            for compatibility in Compatibility::examples(4, 24) {
                let answers = in_toml(&compatibility);
                for (label, reuse) in [("plain", ""), ("borrowing", TABLE)] {
                    if kind == "encoder_decoder" && label == "borrowing" {
                        // Its encoder has layers of another number, and so a table of its own.
                        let own = format!("{reuse}\n{answers}\n[attention.encoder]\nreuse = {{ kind = \"none\" }}");
                        plans
                            .push((format!("{kind}-{norm}-{label}-{}", compatibility.words()), plan(kind, norm, &own)));
                        continue;
                    }
                    let attention = format!("{reuse}\n{answers}");
                    plans.push((
                        format!("{kind}-{norm}-{label}-{}", compatibility.words()),
                        plan(kind, norm, &attention),
                    ));
                }
            }
            if kind == "encoder_decoder" {
                continue;
            }
            for restore in ["fixed", "common", "per_layer"] {
                for compatibility in ["{ kind = \"standard\" }", "{ kind = \"collaborative\", d_k = 10 }"] {
                    let coverage = format!("coverage = {{ kind = \"partial\", k = 4, restore = \"{restore}\" }}");
                    let attention = format!("{TABLE}\n{coverage}\ncompatibility = {compatibility}");
                    plans.push((format!("{kind}-{norm}-{restore}-{compatibility}"), plan(kind, norm, &attention)));
                }
            }
        }
    }
    // Classes, spans, states and images: what is loaded from elsewhere, with other attention.
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf");
    let device = open_device(DeviceChoice::Cpu).unwrap();
    for name in ["bert_seqcls", "bert_span", "vit"] {
        let mut plan = load_model_dir(&golden.join(name), dtype(Precision::F64), &device).unwrap().plan;
        let compatibility = Compatibility::examples(plan.stack.heads, plan.stack.width);
        plan.stack.compatibility = compatibility.into_iter().find(|one| one.kind() == "collaborative").unwrap();
        assert!(plan.stack.head_plan.is_plain());
        plans.push((name.to_owned(), plan));
    }
    plans
}

#[test]
fn pytorch_computes_the_same() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut directories = Vec::new();
    for (number, (name, plan)) in plans().into_iter().enumerate() {
        let dir = folder.path().join(format!("model{number}"));
        write(&plan, &dir);
        if !dir.join("modeling_headroom.py").exists() {
            // `transformers` knows it.
            let config: Value = serde_json::from_slice(&fs::read(dir.join("config.json")).unwrap()).unwrap();
            assert!(config["model_type"] != "headroom" && config.get("auto_map").is_none(), "{name}");
            continue;
        }
        expect(&dir);
        directories.push((name, dir));
    }
    assert!(directories.len() > 100, "{} models", directories.len());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/compare_modules.py");
    let mut command = Command::new(python);
    command.arg(script).args(directories.iter().map(|(_, dir)| dir)).env("HF_HOME", folder.path().join("cache"));
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(found.len(), directories.len(), "{told}");
    for ((name, _), found) in directories.iter().zip(&found) {
        let error = found["error"].as_f64().unwrap_or(f64::INFINITY);
        // Sums in double precision, in another order: 1e-14 was measured.
        assert!(error < 1e-10 && found["wrong"] == serde_json::json!({}), "{name}: {found}");
    }
}

/// What an export and a conversion hold beside what a checkpoint holds.
#[test]
fn a_directory_that_is_taken_home_says_what_it_is() {
    let program = crate::program();
    let run = program.train(TINY_DECODER, &["--steps", "20", "--set", "name=a | <b>name"]);
    let _ = program.run(&["export", &run, "--to", "plain"]).expect_code(0);
    let card = fs::read_to_string(program.path("plain/README.md")).unwrap();
    let front = card.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
    assert!(front.contains("library_name: transformers") && front.contains("pipeline_tag: text-generation"), "{front}");
    for word in
        ["# a \\| \\<b\\>name", "AutoModelForCausalLM", "| Validation loss |", "step 20", "built-in", "headroom.toml"]
    {
        assert!(card.contains(word), "no {word} in {card}");
    }
    assert!(!card.contains("trust_remote_code") && !program.path("plain/modeling_headroom.py").exists());
    let to_half = ["convert", &run, "--to", "half", "--collaborative", "--d-k", "8"];
    let _ = program.run(&to_half).expect_code(0);
    let card = fs::read_to_string(program.path("half/README.md")).unwrap();
    for word in
        ["# half", "trust_remote_code=True", "modeling_headroom.py", "Where it came from", "collaborative, d_k 8", &run]
    {
        assert!(card.contains(word), "no {word} in {card}");
    }
    assert!(!card.contains(&program.path("").display().to_string()), "no path of this machine: {card}");
    let config: Value = serde_json::from_slice(&fs::read(program.path("half/config.json")).unwrap()).unwrap();
    assert_eq!(config["auto_map"]["AutoModelForCausalLM"], "modeling_headroom.HeadroomDecoder");
    let shown = program.run(&["show", "half"]).expect_code(0).stdout;
    assert!(shown.contains("README.md") && shown.contains("modeling_headroom.py"), "{shown}");
    // Both may be changed, and the directory still opens.
    program.write("half/README.md", "# Mine");
    let _ = program.run(&["show", "half"]).expect_code(0);
    let _ = program.run(&["generate", "half", "--prompt", "the ", "--max-length", "4"]).expect_code(0);
    // Checkpoints of a run stay as they were.
    let checkpoints = program.path("store/runs").join(&run).join("checkpoints");
    for checkpoint in fs::read_dir(checkpoints).unwrap() {
        assert!(!checkpoint.unwrap().path().join("README.md").exists());
    }
}
