//! Models from elsewhere: heads, files and names that were taken otherwise than they are. Expected values are those of `transformers`
//! 5.24 for the same folders.

use std::{fs, path::Path};

use headroom_tests::{Program, TINY_DECODER};
use serde_json::{Value, json};

use super::program;

/// Copies a model of the fixtures into the folder of a program.
fn copied(program: &Program, name: &str) -> String {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models").join(name);
    let to = program.path(name);
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to.display().to_string()
}

fn set(folder: &str, key: &str, value: Value) {
    let path = Path::new(folder).join("config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config[key] = value;
    fs::write(path, config.to_string()).unwrap();
}

fn tokens(program: &Program, model: &str, ids: &str, length: &str) -> Vec<u64> {
    let answer =
        program.run(&["generate", model, "--ids", ids, "--max-length", length, "--json"]).expect_code(0).json();
    let found = answer["tokens"].as_array().unwrap();
    let found = found.first().and_then(Value::as_array).unwrap_or(found);
    found.iter().map(|id| id.as_u64().unwrap()).collect()
}

/// A table of the head that differs from that of the embeddings was ignored, and mT5 was scaled as T5 is.
#[test]
fn the_head_of_the_files_is_the_head() {
    let program = program();
    for (name, expected) in [
        ("t5_saved_again", [211, 193, 104, 224, 175, 226]),
        ("mt5_saved_again", [211, 193, 104, 224, 175, 226]),
        ("t5_no_shared", [114, 192, 192, 192, 192, 192]),
    ] {
        let model = copied(&program, name);
        assert_eq!(tokens(&program, &model, "56,100,120,1", "6"), expected, "{name}");
    }
    let model = copied(&program, "qwen2_other_head");
    assert_eq!(tokens(&program, &model, "56,100,120,7", "6"), [219, 298, 175, 263, 255, 243]);
    let said = "the weights hold another table for it";
    let generated = program.run(&["generate", &model, "--ids", "56,100,120,7", "--max-length", "2"]).expect_code(0);
    assert!(generated.stderr.contains(said), "{}", generated.stderr);
    let shown = program.run(&["show", &model]).expect_code(0).stdout;
    assert!(shown.contains("note") && shown.contains(said), "{shown}");
    let shown = program.run(&["show", &model, "--json"]).expect_code(0).json();
    assert!(shown["notes"][0].as_str().unwrap().contains(said), "{}", shown["notes"]);
    program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    let measured = program.run(&["eval", &model, "--data", "text.txt"]).expect_code(0);
    assert!(measured.stderr.contains(said), "{}", measured.stderr);
    for text in [["--data", "text.txt"], ["--text", "the old river"]] {
        let arguments = [&["maps", &model, "--out", text[0].trim_start_matches('-')], &text[..]].concat();
        let drawn = program.run(&arguments).expect_code(0);
        assert_eq!(drawn.stderr.matches(said).count(), 1, "{text:?}: {}", drawn.stderr);
    }
}

#[test]
fn scaled_rotary_positions_are_computed() {
    let program = program();
    let model = copied(&program, "rope_llama3");
    assert_eq!(tokens(&program, &model, "56,100,120,7", "6"), [91, 136, 227, 36, 43, 242]);
    set(&model, "rope_scaling", json!({"rope_type": "longrope", "factor": 2.0}));
    let refused = program.run(&["show", &model]).expect_code(2).stderr;
    assert!(refused.contains("longrope") && refused.contains("llama3"), "{refused}");
}

#[test]
fn pruned_heads_do_not_exist() {
    let program = program();
    let model = copied(&program, "pruned");
    let shown = program.run(&["show", &model, "--json"]).expect_code(0).json();
    let query = |layer: usize| {
        let name = format!("encoder.layer.{layer}.attention.self.query.weight");
        let found = shown["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == name.as_str()).unwrap();
        found["shape"][0].as_u64().unwrap()
    };
    assert_eq!([query(0), query(1)], [24, 32]);
    set(&model, "pruned_heads", json!({"0": [7]}));
    let refused = program.run(&["show", &model]).expect_code(2).stderr;
    assert!(refused.contains("`pruned_heads`"), "{refused}");
    // Zeros in the place of a head add nothing, which is what a family is told that has no names for other shapes.
    let model = copied(&program, "qwen2_other_head");
    set(&model, "pruned_heads", json!({"0": []}));
    let _ = program.run(&["show", &model]).expect_code(0);
    set(&model, "pruned_heads", json!({"0": [1]}));
    let refused = program.run(&["show", &model]).expect_code(2).stderr;
    assert!(
        ["`pruned_heads` in config.json is {\"0\":[1]}", "zeros"].iter().all(|words| refused.contains(words)),
        "{refused}"
    );
}

/// Files of weights from before `PyTorch` 1.6, and several of them, which must lie in the folder.
#[test]
fn older_and_sharded_weights_are_read() {
    let program = program();
    let parameters = |model: &str| program.run(&["show", model, "--json"]).expect_code(0).json()["parameters"].clone();
    let (legacy, sharded) = (copied(&program, "legacy"), copied(&program, "sharded"));
    assert_eq!(parameters(&legacy), parameters(&sharded));
    let shown = program.run(&["show", &sharded]).expect_code(0).stdout;
    assert!(
        ["pytorch_model.bin.index.json", "pytorch_model-00002-of-00002.bin"].iter().all(|file| shown.contains(file))
    );
    let index = Path::new(&sharded).join("pytorch_model.bin.index.json");
    let text = fs::read_to_string(&index).unwrap();
    for outside in ["../legacy/pytorch_model.bin", "/etc/passwd.bin", "a\\\\b.bin", "x.safetensors"] {
        fs::write(&index, text.replace("pytorch_model-00002-of-00002.bin", outside)).unwrap();
        let refused = program.run(&["show", &sharded]).expect_code(2).stderr;
        assert!(refused.contains("is no .bin file of this folder"), "{refused}");
    }
}

/// Positions of a `RoBERTa` begin at row 2 of their table, of which as many rows were kept as there are tokens.
#[test]
fn a_model_whose_positions_begin_later_leaves_out_pairs() {
    let program = program();
    let model = copied(&program, "roberta_positions");
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models/sep.txt").display().to_string();
    for (to, coverage, tokens) in [("partial", "partial:k=8", "16"), ("eigen", "eigen:k=8", "32")] {
        let to = program.path(to).display().to_string();
        let arguments = [
            "convert",
            &model,
            "--to",
            &to,
            "--coverage",
            coverage,
            "--data",
            &text,
            "--tokens",
            tokens,
            "--examples",
            "2",
        ];
        let _ = program.run(&arguments).expect_code(0);
        let _ = program.run(&["eval", &to, "--data", &text, "--json"]).expect_code(0);
    }
}

/// A name with a separator was taken for a directory by seven commands.
#[test]
fn a_run_is_found_by_a_name_that_looks_like_a_path() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "4", "--name", "a/b"]);
    let shown = program.run(&["show", "a/b", "--json"]).expect_code(0).json();
    assert!(shown.to_string().contains(&run), "{shown}");
    program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    let out = |name: &str| program.path(name).display().to_string();
    let (maps, converted) = (out("maps"), out("converted"));
    for arguments in [
        &["eval", "a/b", "--json"][..],
        &["generate", "a/b", "--prompt", "the", "--max-length", "2"],
        &["analyse", "a/b", "--data", "text.txt"],
        &["maps", "a/b", "--text", "the old river", "--out", &maps],
        &["convert", "a/b", "--to", &converted, "--collaborative", "--d-k", "8"],
    ] {
        let _ = program.run(arguments).expect_code(0);
    }
    let further = program.run(&["show", "a/b", "--further"]).expect_code(0).stdout;
    assert!(further.contains(&run), "{further}");
    let config = program.write("again.toml", further.replace(&run, "a/b"));
    let _ = program.run(&["train", &config.display().to_string(), "--steps", "4"]).expect_code(0);
    // A directory that is there goes first.
    fs::create_dir_all(program.path("a/b")).unwrap();
    let refused = program.run(&["show", "a/b"]).expect_code(2).stderr;
    assert!(refused.contains("has no config.json"), "{refused}");
    let missing = program.run(&["show", "a/c"]).expect_code(2).stderr;
    assert!(missing.contains("There is no model directory a/c"), "{missing}");
}

#[test]
fn an_unknown_family_is_refused_with_the_nearest() {
    let program = program();
    let model = copied(&program, "rope_llama3");
    set(&model, "model_type", json!("qwen3"));
    let refused = program.run(&["show", &model]).expect_code(2).stderr;
    assert!(refused.contains("The nearest type that opens is \"qwen2\""), "{refused}");
}

/// Maps of a text of unknown tokens said nothing, and did not say so.
#[test]
fn maps_of_unknown_tokens_are_warned_of() {
    let program = program();
    let model = copied(&program, "legacy");
    let maps = |out: &str, text: &str| {
        let out = program.path(out).display().to_string();
        program.run(&["maps", &model, "--text", text, "--out", &out, "--json"]).expect_code(0)
    };
    let told = maps("unknown", "ひらがな カタカナ").stderr;
    assert!(told.contains("The tokenizer knows nothing of the text"), "{told}");
}
