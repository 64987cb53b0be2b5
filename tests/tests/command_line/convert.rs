//! `headroom convert`: runs and model directories, what is told, bad input, stopping.

use std::{fs, path::Path};

use headroom_tests::{Program, TINY_DECODER, TINY_ENCODER};
use serde_json::Value;

use crate::program;

/// `headroom convert` to a shared width.
fn convert(program: &Program, from: &str, to: &str, d_k: &str) -> Vec<Value> {
    let arguments = ["convert", from, "--to", to, "--collaborative", "--d-k", d_k, "--json"];
    program.run(&arguments).expect_code(0).events()
}

fn loss(program: &Program, target: &str) -> f64 {
    program.run(&["eval", target, "--data", "text.txt", "--json"]).expect_code(0).json()["loss"].as_f64().unwrap()
}

/// Converted at the whole width a model measures the same and writes the same; narrower it has fewer parameters and an error
/// that is told, and everything still opens it.
#[test]
fn a_run_is_converted_with_its_lineage() {
    let program = program();
    program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    for config in [TINY_DECODER, TINY_ENCODER] {
        let run = program.train(config, &["--steps", "20"]);
        let facts = program.show(&run);
        let before = facts["parameters"].as_u64().unwrap();
        let events = convert(&program, &run, "whole", "16");
        let answer = events.last().unwrap();
        assert_eq!((&answer["event"], &answer["conversion"]["kind"]), (&"converted".into(), &"collaborative".into()));
        assert_eq!(answer["parameters_before"].as_u64(), Some(before));
        for attention in answer["attentions"].as_array().unwrap() {
            assert!(attention["relative_error"].as_f64().unwrap() < 1e-14 && attention["sweeps"] == 0, "{attention}");
        }
        let (own, whole) = (loss(&program, &run), loss(&program, "whole"));
        assert!((own - whole).abs() < 1e-5 * own, "{own} {whole}");
        if config == TINY_DECODER {
            let text = |target: &str| {
                let arguments = ["generate", target, "--prompt", "the ", "--max-length", "10", "--json"];
                program.run(&arguments).expect_code(0).json()["tokens"].clone()
            };
            assert_eq!(text(&run), text("whole"));
        }

        let answer = convert(&program, &run, "half", "8").pop().unwrap();
        assert!(answer["parameters"].as_u64().unwrap() < before, "{answer}");
        let attentions = answer["attentions"].as_array().unwrap().clone();
        assert_eq!(attentions.len(), 2);
        for attention in &attentions {
            let error = attention["relative_error"].as_f64().unwrap();
            assert!(error > 0.0 && error < 1.0 && attention["sweeps"].as_u64().unwrap() > 0, "{attention}");
        }
        assert!(loss(&program, "half").is_finite());
        let shown = program.run(&["show", "half", "--json"]).expect_code(0).json();
        let lineage = &shown["lineage"];
        assert_eq!(lineage["run"], run.as_str());
        assert!(lineage["by"].as_str().unwrap().starts_with("collaborative, d_k 8"), "{lineage}");
        assert_eq!(lineage["weights_sha256"].as_str().unwrap().len(), 64);
        assert_eq!(lineage["attentions"].as_array().unwrap().len(), 2);
        assert_eq!(lineage["attentions"][1]["relative_error"], attentions[1]["relative_error"]);
        let told = program.run(&["show", "half"]).expect_code(0).stdout;
        assert!(["made from", &run, "d_k 8"].iter().all(|word| told.contains(word)), "{told}");
        let config = program.run(&["show", "half", "--config"]).expect_code(0);
        assert!(config.stdout.contains("collaborative"), "{}", config.stdout);
        let _ = program.run(&["analyse", "half", "--data", "text.txt"]).expect_code(0);
        // The same once more is the same to the bit, on any number of threads.
        let arguments = ["convert", &run, "--to", "again", "--collaborative", "--d-k", "8", "--threads", "1"];
        let told = program.run(&arguments).expect_code(0).stdout;
        assert!(told.contains("became collaborative") && told.contains("error of its products"), "{told}");
        let weights = |of: &str| fs::read(program.path(of).join("model.safetensors")).unwrap();
        assert!(weights("half") == weights("again"));
        for done in ["whole", "half", "again"] {
            fs::remove_dir_all(program.path(done)).unwrap();
        }
    }
}

#[test]
fn a_directory_of_another_program_is_converted() {
    let program = program();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/gpt2");
    for file in ["config.json", "model.safetensors"] {
        program.write(&format!("gpt2/{file}"), fs::read(from.join(file)).unwrap());
    }
    // Of another program: told, since nothing here reads them.
    for file in ["modules.json", "1_Pooling/config.json", ".gitattributes", "model.onnx"] {
        program.write(&format!("gpt2/{file}"), "{}");
    }
    let config: Value = serde_json::from_slice(&fs::read(from.join("config.json")).unwrap()).unwrap();
    let whole = config["n_embd"].to_string();
    let answer = convert(&program, "gpt2", "whole", &whole).pop().unwrap();
    assert_eq!(answer["attentions"].as_array().unwrap().len() as u64, config["n_layer"].as_u64().unwrap());
    assert_eq!(answer["left_out"], serde_json::json!(["1_Pooling", "modules.json"]), "{answer}");
    let told = program.run(&["convert", "gpt2", "--to", "told", "--symmetric"]).expect_code(0).stdout;
    assert!(told.contains("Not taken over, since nothing here reads it: 1_Pooling, modules.json."), "{told}");
    assert!(told.contains("was not measured: no text was named"), "{told}");
    let text = |target: &str| {
        let arguments = ["generate", target, "--ids", "5,6,7", "--max-length", "8", "--json"];
        program.run(&arguments).expect_code(0).json()["tokens"].clone()
    };
    assert_eq!(text("gpt2"), text("whole"));
    let lineage = program.run(&["show", "whole", "--json"]).expect_code(0).json()["lineage"].clone();
    assert!(lineage["from"].as_str().unwrap().ends_with("gpt2") && lineage.get("run").is_none(), "{lineage}");
    // What was converted is not standard attention any more.
    let arguments = ["convert", "whole", "--to", "twice", "--collaborative", "--d-k", "4"];
    let _ = program.run(&arguments).expect_code(2).expect_words(&["decoder.0.self", "\"collaborative\""]);
    assert!(!program.path("twice").exists());
}

/// The other conversions, of a run on its own text: what each says, that it opens, and that what loses nothing loses nothing.
#[test]
fn every_conversion_says_what_it_changed() {
    let program = program();
    program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    let run = program.train(TINY_DECODER, &["--steps", "20"]);
    let before = program.show(&run)["parameters"].as_u64().unwrap();
    let made = |arguments: &[&str], to: &str| {
        let all = [&["convert", &run, "--to", to, "--json"][..], arguments].concat();
        let answer = program.run(&all).expect_code(0).events().pop().unwrap();
        assert_eq!(answer["event"], "converted", "{answer}");
        assert!(loss(&program, to).is_finite());
        let price = answer["price"].clone();
        assert_eq!(price["layers"].as_array().unwrap().len(), 2, "{answer}");
        assert!(price["data"].as_str().unwrap().contains("held-out text"), "{price}");
        let lineage = program.run(&["show", to, "--json"]).expect_code(0).json()["lineage"].clone();
        assert_eq!(lineage["measured"]["loss"], price["loss"], "{lineage}");
        (answer, price)
    };
    let distance = |price: &Value, layer: usize| price["layers"][layer]["map_distance"].as_f64().unwrap();

    let (answer, price) = made(&["--drop-key-biases"], "keyless");
    assert!(answer["parameters"].as_u64().unwrap() < before);
    assert!(distance(&price, 1) < 1e-6 && price["layers"][1]["output_error"].as_f64().unwrap() < 1e-6, "{price}");
    let losses = [&price["loss"], &price["loss_before"]].map(|loss| loss.as_f64().unwrap());
    assert!((losses[0] - losses[1]).abs() < 1e-6, "{losses:?}");

    let (answer, price) = made(&["--grouped", "1"], "grouped");
    assert!(answer["attentions"][0]["relative_error"].as_f64().unwrap() > 0.1, "{answer}");
    assert!(distance(&price, 0) > 0.0);
    let config = program.run(&["show", "grouped", "--config"]).expect_code(0).stdout;
    assert!(config.contains("grouped") && config.contains("kv_heads = 1"), "{config}");

    // At no similarity at all every head of the second layer borrows; the first one's maps stay.
    let (answer, price) = made(&["--borrow", "0", "--examples", "8"], "borrowed");
    let found = answer["found"].as_str().unwrap();
    assert!(found.contains("borrow") && found.contains("alike in the mean"), "{found}");
    assert_eq!((distance(&price, 0), &answer["attentions"][1]["relative_error"]), (0.0, &Value::Null));
    assert!(distance(&price, 1) > 0.0 && answer["parameters"].as_u64().unwrap() < before);
    let (_, merged) = made(&["--borrow", "0", "--examples", "8", "--merge"], "merged");
    assert!(distance(&merged, 0) > 0.0, "{merged}");
    let arguments = ["convert", &run, "--to", "new", "--borrow", "1"];
    let _ = program.run(&arguments).expect_code(2).expect_words(&["most similar two reach", "at most that"]);

    for coverage in ["partial:k=3", "eigen:k=3"] {
        let to = coverage.replace([':', '='], "-");
        let (answer, price) = made(&["--coverage", coverage, "--choose-from", "8"], &to);
        assert!(answer["found"].as_str().unwrap().starts_with("error of scores"), "{answer}");
        assert!(distance(&price, 0) > 0.0, "{price}");
        // The usual cache has no meaning for it; one that is named is refused.
        let arguments = ["generate", &to, "--prompt", "the ", "--max-length", "4"];
        let told = program.run(&arguments).expect_code(0).expect_words(&["Without a cache", "whole rows of pairs"]);
        let none = program.run(&[&arguments[..], &["--cache", "none"]].concat()).expect_code(0);
        assert_eq!(told.stdout, none.stdout);
        let named = program.run(&[&arguments[..], &["--cache", "key_value"]].concat());
        let _ = named.expect_code(2).expect_words(&["\"key_value\" cannot be used", "\"none\""]);
    }
    for kind in ["symmetric", "pairwise", "shared_weight"] {
        let (answer, price) = made(&[&format!("--{}", kind.replace('_', "-"))], kind);
        assert_eq!(answer["conversion"]["kind"], kind, "{answer}");
        assert!(answer["parameters"].as_u64().unwrap() < before && distance(&price, 0) > 0.0, "{answer}");
        for attention in answer["attentions"].as_array().unwrap() {
            let error = attention["relative_error"].as_f64().unwrap();
            assert!(error > 0.0 && error < 1.0 && attention["sweeps"].as_u64().unwrap() > 0, "{attention}");
        }
        let config = program.run(&["show", kind, "--config"]).expect_code(0).stdout;
        assert!(config.contains(&format!("kind = \"{kind}\"")), "{config}");
        let card = fs::read_to_string(program.path(kind).join("README.md")).unwrap();
        let once = card.matches("modeling_headroom.py").count() == 1;
        assert!(once && !card.contains("\\`") && card.contains("does not know compatibility"), "{card}");
        // It is trained further as what it is now.
        let attention = format!("attention.compatibility={{ kind = \"{kind}\" }}");
        let initial = format!("model.initial={}", program.path(kind).display());
        let further = program.train(TINY_DECODER, &["--steps", "2", "--set", &attention, "--set", &initial]);
        assert_eq!(program.show(&further)["parameters"], answer["parameters"]);
    }
    let arguments = ["convert", "keyless", "--to", "of-text", "--borrow", "0", "--data", "text.txt", "--json"];
    let answer = program.run(&arguments).expect_code(0).events().pop().unwrap();
    assert!(answer["price"]["data"].as_str().unwrap().contains("text.txt"), "{answer}");
    let told = program.run(&["convert", "keyless", "--to", "plain", "--grouped", "2"]).expect_code(0).stdout;
    assert!(told.contains("held-out text"), "{told}");
    // By the config that lies in it a directory is converted on the text of its run; one from elsewhere needs a text.
    let arguments = ["convert", "keyless", "--to", "of-own", "--borrow", "0", "--examples", "8", "--json"];
    let answer = program.run(&arguments).expect_code(0).events().pop().unwrap();
    assert!(answer["price"]["data"].as_str().unwrap().contains("held-out text"), "{answer}");
    fs::remove_file(program.path("keyless/headroom.toml")).unwrap();
    let _ = program.run(&["convert", "keyless", "--to", "new", "--borrow", "0.5"]).expect_code(2).expect_words(&[
        "from elsewhere",
        "--data",
        "headroom convert DIR",
    ]);
    assert!(!program.path("new").exists());
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    let pairwise =
        program.train(TINY_DECODER, &["--steps", "2", "--set", "attention.compatibility={ kind = \"pairwise\" }"]);
    program.write("taken/mine.txt", "mine");
    program.write("file", "mine");
    fs::create_dir(program.path("empty")).unwrap();
    let refused = |arguments: &[&str], words: &[&str]| {
        let mut all = vec!["convert"];
        all.extend(arguments);
        let _ = program.run(&all).expect_code(2).expect_words(words);
        assert!(!program.path("new").exists());
    };
    let to_new = ["--to", "new", "--collaborative", "--d-k"];
    let with = |from: &'static str, d_k: &'static str| [&[from][..], &to_new, &[d_k]].concat();
    refused(&[&[run.as_str()][..], &to_new, &["0"]].concat(), &["shared width of 0", "at most 16"]);
    refused(
        &[&[run.as_str()][..], &to_new, &["17"]].concat(),
        &["shared width of 17", "at most 16", "nothing is lost"],
    );
    refused(&[&[pairwise.as_str()][..], &to_new, &["8"]].concat(), &["\"pairwise\"", "standard"]);
    refused(&[&run, "--to", "new", "--collaborative"], &["--d-k"]);
    refused(&[&run, "--to", "new"], &["--collaborative", "--borrow", "--grouped"]);
    refused(&[&run, "--to", "new", "--grouped", "3"], &["3 heads of keys and values", "divisor"]);
    refused(&[&run, "--to", "new", "--borrow", "1.5"], &["similarity of 1.5"]);
    refused(&[&run, "--to", "new", "--borrow", "half"], &["--borrow"]);
    refused(
        &[&run, "--to", "new", "--grouped", "1", "--drop-key-biases"],
        &["--grouped cannot be used with --drop-key-biases"],
    );
    refused(&[&run, "--to", "new", "--symmetric", "--pairwise"], &["--symmetric cannot be used with --pairwise"]);
    refused(&[&pairwise, "--to", "new", "--shared-weight"], &["\"pairwise\"", "standard"]);
    refused(&[&run, "--to", "new", "--grouped", "1", "--d-k", "8"], &["--d-k", "--collaborative"]);
    refused(&[&run, "--to", "new", "--grouped", "1", "--merge"], &["--merge", "--borrow"]);
    refused(&[&run, "--to", "new", "--coverage", "full"], &["every pair is scored already"]);
    refused(&[&run, "--to", "new", "--coverage", "partial:k=0"], &["k"]);
    refused(&[&run, "--to", "new", "--grouped", "1", "--data", "nowhere.txt"], &["nowhere.txt"]);
    refused(&[&run, "--collaborative", "--d-k", "8"], &["--to"]);
    refused(&[&run, "--to", "taken", "--collaborative", "--d-k", "8"], &["taken", "empty"]);
    refused(&[&run, "--to", "file", "--collaborative", "--d-k", "8"], &["is a file"]);
    refused(&with("empty", "8"), &["config.json"]);
    refused(&with("nowhere", "8"), &["nowhere"]);
    // Where nothing can be written nothing is converted first.
    refused(&[run.as_str(), "--to", "file/below", "--collaborative", "--d-k", "8"], &["make a folder in", "file"]);
    assert_eq!(fs::read(program.path("taken/mine.txt")).unwrap(), b"mine");
    let answer = program.run(&["convert", &run, "--to", "taken", "--collaborative", "--d-k", "8", "--json"]);
    assert_eq!(answer.expect_code(2).json()["event"], "refused");
}

/// Errors and maps of padding would say nothing of the model.
#[test]
fn a_text_that_is_shorter_than_an_example_is_told() {
    let program = program();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/hf/bert_mlm");
    program.write("short.txt", "the layer\n");
    for how in [&["--grouped", "2"], &["--borrow", "0.1"]] {
        let command = [&["convert", model, "--to", "new", "--data", "short.txt"], &how[..]].concat();
        let _ = program.run(&command).expect_code(2).expect_words(&["no whole example of 64 tokens", "short.txt"]);
        assert!(!program.path("new").exists());
    }
    let maps = ["maps", model, "--data", "short.txt", "--layer", "0", "--head", "0", "--out", "maps", "--json"];
    let told = program.run(&maps).expect_code(0).json();
    let tokens: Vec<&str> = told["tokens"].as_array().unwrap().iter().filter_map(|token| token.as_str()).collect();
    assert!(tokens.len() < 16 && tokens.first() == Some(&"[CLS]") && !tokens.contains(&"[PAD]"), "{tokens:?}");
    let file = format!("{model}/config.json");
    let _ = program.run(&["show", &file]).expect_code(2).expect_words(&["is a file", "model directory"]);
}

/// Ctrl-C leaves nothing behind.
#[cfg(unix)]
#[test]
fn nothing_is_written_when_it_is_stopped() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2", "--set", "model.width=64", "--set", "model.heads=4"]);
    let arguments = [
        "convert",
        &run,
        "--to",
        "models/new",
        "--collaborative",
        "--d-k",
        "24",
        "--restarts",
        "1000",
        "--sweeps",
        "1000000",
        "--tolerance",
        "0",
        "--json",
    ];
    let converting = program.start(&arguments);
    let heard = converting.wait_for("converting", |_| true).unwrap();
    assert_eq!(heard["count"], 2);
    converting.signal("INT");
    let (code, last) = converting.wait();
    let last = last.unwrap();
    assert_eq!((code, &last["event"]), (1, &Value::from("failed")), "{last}");
    assert!(last["problems"][0]["message"].as_str().unwrap().contains("nothing was written"), "{last}");
    let left = fs::read_dir(program.path("models")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}
