//! `headroom generate`: runs and model directories, every cache, options, bad input, stopping.

mod foreign;

use std::{fs, time::Duration};

use headroom_engine::{
    config::{Precision, from_toml},
    generate::Search,
    protocol::{Command, Event, GenerateSource, JobCommand, JobRef, Request, Target, commands, events},
    store::RunState,
    worker::{Engine, EngineOptions},
};
use headroom_tests::{Program, TINY_DECODER, TINY_ENCODER};
use serde_json::Value;

use crate::program;

/// The golden model directory of a family, copied into the test's folder.
fn golden(program: &Program, name: &str) {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join("hf").join(name);
    for file in ["config.json", "generation_config.json", "model.safetensors"] {
        program.write(&format!("{name}/{file}"), fs::read(from.join(file)).unwrap());
    }
}

fn tokens(answer: &Value) -> Vec<u64> {
    answer["tokens"].as_array().unwrap().iter().map(|token| token.as_u64().unwrap()).collect()
}

#[test]
fn a_run_and_its_export_write_the_same_text_with_every_cache() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "model.positions=40"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let mut texts = Vec::new();
    for target in [run.as_str(), "model"] {
        for cache in ["none", "key_value", "hidden"] {
            let arguments = [
                "generate",
                target,
                "--prompt",
                "the ",
                "--max-length",
                "20",
                "--beam",
                "3",
                "--cache",
                cache,
                "--json",
            ];
            let answer = program.run(&arguments).expect_code(0).json();
            assert_eq!(answer["event"], "generated");
            assert_eq!(answer["cache_bytes"].as_u64().unwrap() == 0, cache == "none", "{answer}");
            assert!(answer["seconds"].as_f64().unwrap() > 0.0);
            assert!((1..=20).contains(&tokens(&answer).len()), "{answer}");
            texts.push((answer["text"].clone(), answer["tokens"].clone(), answer["ending"].clone()));
        }
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    // In words, streamed: the same text.
    let arguments = ["generate", &run, "--prompt", "the ", "--max-length", "12"];
    let json = program.run(&[&arguments[..], &["--json"]].concat()).expect_code(0).json();
    let told = program.run(&arguments).expect_code(0);
    assert_eq!(told.stdout.trim_end_matches('\n'), json["text"].as_str().unwrap().trim_end_matches('\n'));
    // What was kept is no more than the room that was set aside for it.
    let filled = json["costs"].as_array().unwrap().iter().map(|cost| cost["bytes"].as_u64().unwrap()).max().unwrap();
    let room = json["room_bytes"].as_u64().unwrap();
    assert_eq!(json["cache_bytes"], filled, "{json}");
    assert!(0 < filled && filled <= room, "{json}");
    assert!(told.stderr.contains(" kept"), "{}", told.stderr);
    assert_eq!(told.stderr.contains(" set aside"), filled < room, "{}", told.stderr);
}

#[test]
fn every_line_is_a_source_and_the_seed_decides() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "model.positions=40"]);
    program.write("sources.txt", "the river\na\nold men\n");
    let all = |batch: &str| -> Vec<Value> {
        let arguments = ["generate", &run, "--input", "sources.txt", "--batch", batch, "--max-length", "8", "--json"];
        let answer = program.run(&arguments).expect_code(0);
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (together, alone) = (all("16"), all("1"));
    assert_eq!(together.len(), 3);
    for (number, (together, alone)) in together.iter().zip(&alone).enumerate() {
        assert_eq!(together["source"], number);
        assert_eq!(tokens(together), tokens(alone));
    }
    // What is drawn for a text belongs to its place among all, not to its place in a batch.
    program.write("same.txt", "the\n".repeat(6));
    let drawn_in = |batch: &str| -> Vec<Vec<u64>> {
        let arguments = ["generate", &run, "--input", "same.txt", "--batch", batch, "--max-length", "8", "--json"];
        let answer = program.run(&[&arguments[..], &["--temperature", "2"]].concat()).expect_code(0);
        answer.stdout.lines().map(|line| tokens(&serde_json::from_str(line).unwrap())).collect()
    };
    let drawn = drawn_in("6");
    assert!((1..6).all(|other| drawn[0] != drawn[other]), "{drawn:?}");
    for batch in ["1", "2", "4"] {
        assert_eq!(drawn_in(batch), drawn, "{batch} at a time");
    }
    let drawn = |seed: &str| {
        let arguments = [
            "generate",
            &run,
            "--prompt",
            "the",
            "--temperature",
            "2",
            "--top-k",
            "50",
            "--seed",
            seed,
            "--max-length",
            "12",
            "--json",
        ];
        tokens(&program.run(&arguments).expect_code(0).json())
    };
    assert_eq!(drawn("1"), drawn("1"));
    assert!((2..6).any(|seed| drawn("1") != drawn(&seed.to_string())));
    let read =
        program.run_with_input(&["generate", &run, "--input", "-", "--max-length", "3", "--json"], "the river\n");
    assert_eq!(tokens(&read.expect_code(0).json()), tokens(&together[0])[..3]);
}

#[test]
fn an_encoder_fills_in_hidden_words() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--steps", "2"]);
    let text = "the [MASK] sees [MASK] dogs";
    let answer = program.run(&["generate", &run, "--prompt", text, "--json"]).expect_code(0).json();
    assert_eq!(answer["ending"], "filled");
    let words = answer["filled"]["words"].as_array().unwrap();
    assert_eq!(words.len(), 2);
    let told: String = words
        .iter()
        .flat_map(|word| [word["before"].as_str().unwrap(), word["word"].as_str().unwrap()])
        .chain([answer["filled"]["rest"].as_str().unwrap()])
        .collect();
    assert_eq!(answer["text"], told.as_str());
    assert!(told.starts_with("the ") && told.ends_with(" dogs") && !told.contains("[MASK]"), "{told}");
    for word in words {
        let guesses = word["guesses"].as_array().unwrap();
        let shares: Vec<f64> = guesses.iter().map(|guess| guess["probability"].as_f64().unwrap()).collect();
        assert_eq!(shares.len(), 5);
        assert!(shares.is_sorted_by(|a, b| a >= b) && shares[4] > 0.0 && shares.iter().sum::<f64>() < 1.0, "{word}");
        assert!(word.get("truth").is_none(), "nobody knows what stands there");
        let token = word["position"].as_u64().unwrap() as usize;
        assert_eq!(answer["pieces"][token], guesses[0]["word"]);
    }
    let told = program.run(&["generate", &run, "--prompt", text]).expect_code(0);
    assert_eq!(told.stdout.lines().next(), answer["text"].as_str());
    let is_change = (0..10).any(|digit| told.stdout.contains(&format!(" +{digit}")));
    assert!(told.stdout.contains(" %,") && !is_change, "probabilities are no changes: {}", told.stdout);
    assert!(told.stderr.contains("2 hidden words filled in"), "{}", told.stderr);
}

/// A plain directory of an encoder-decoder, without a tokenizer: the first greedy case of its golden.
#[test]
fn an_encoder_decoder_from_elsewhere_writes_what_transformers_writes() {
    let program = program();
    golden(&program, "bart");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/bart");
    let cases: Value = serde_json::from_str(&fs::read_to_string(folder.join("generation.json")).unwrap()).unwrap();
    let io = fs::read(folder.join("io.safetensors")).unwrap();
    let io = safetensors::SafeTensors::deserialize(&io).unwrap();
    let row = |name: &str| -> Vec<i64> {
        let tensor = io.tensor(name).unwrap();
        let width = tensor.shape()[1];
        tensor.data().chunks_exact(8).take(width).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())).collect()
    };
    let ids: Vec<String> = row("input_ids")
        .into_iter()
        .zip(row("attention_mask"))
        .filter(|(_, keep)| *keep == 1)
        .map(|(id, _)| id.to_string())
        .collect();
    let ids = ids.join(",");
    for case in cases["cases"].as_array().unwrap().iter().filter(|case| case["prompt_index"] == 0) {
        let beams = case["num_beams"].to_string();
        let penalty = case["length_penalty"].as_f64().unwrap_or(1.0).to_string();
        let most = case["max_new_tokens"].to_string();
        for cache in ["none", "key_value", "hidden"] {
            let mut arguments = vec![
                "generate",
                "bart",
                "--ids",
                &ids,
                "--beam",
                &beams,
                "--length-penalty",
                &penalty,
                "--max-length",
                &most,
                "--cache",
                cache,
                "--json",
            ];
            if case["early_stopping"] == true {
                arguments.push("--early-stopping");
            }
            let answer = program.run(&arguments).expect_code(0).json();
            assert_eq!(answer["tokens"], case["generated"], "{case}");
        }
    }
    let _ = program.run(&["generate", "bart", "--prompt", "a word"]).expect_code(2).expect_words(&["tokenizer.json"]);
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2", "--set", "model.positions=40"]);
    let encoder = program.train(TINY_ENCODER, &["--steps", "2"]);
    let refused = |arguments: &[&str], words: &[&str]| {
        let mut all = vec!["generate"];
        all.extend(arguments);
        let _ = program.run(&all).expect_code(2).expect_words(words);
    };
    program.write("gap.txt", "one\n\nthree\n");
    program.write("nothing.txt", "");
    program.write("latin.txt", [b'a', 0xff, b'\n']);
    let long = "word ".repeat(40);
    refused(&[&run], &["--prompt"]);
    refused(&[&run, "--prompt", " "], &["empty"]);
    refused(&[&run, "--input", "gap.txt"], &["Line 2", "empty"]);
    refused(&[&run, "--input", "nothing.txt"], &["The input is empty"]);
    refused(&[&run, "--input", "latin.txt"], &["UTF-8", "byte 1, on line 1", "Convert the file", "latin.txt"]);
    refused(&[&run, "--input", "gone.txt"], &["gone.txt"]);
    refused(&[&run, "--prompt", &long], &["200 tokens", "at most 40"]);
    refused(&[&run, "--ids", "5,100000"], &["--ids: 100000 is no id of this model, which has ids 0 to 2"]);
    refused(&[&run, "--prompt", "a", "--beam", "0"], &["0 beams"]);
    refused(&[&run, "--prompt", "a", "--beam", "4", "--groups", "3"], &["3 equal groups"]);
    refused(&[&run, "--prompt", "a", "--beam", "2", "--temperature", "1"], &["nothing is drawn"]);
    refused(&[&run, "--prompt", "a", "--top-k", "3"], &["temperature"]);
    refused(&[&run, "--prompt", "a", "--cache", "all"], &["none, key_value, hidden"]);
    refused(&[&run, "--prompt", "a", "--precision", "f8"], &["f32, f64, f16, bf16"]);
    refused(&[&encoder, "--prompt", "a"], &["encoder", "Write [MASK] in the text"]);
    refused(&[&encoder, "--prove"], &["Only a decoder", "encoder"]);
    for file in ["config.json", "model.safetensors"] {
        let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/bert_model").join(file);
        program.write(&format!("headless/{file}"), fs::read(from).unwrap());
    }
    refused(&["headless", "--ids", "5,6"], &["predicts no tokens"]);
    refused(&["nowhere", "--prompt", "a"], &["nowhere"]);
    fs::create_dir(program.path("empty")).unwrap();
    refused(&["empty", "--prompt", "a"], &["config.json"]);
    // A tokenizer of another model, with more tokens: what matters is whether one of them occurs.
    let wide =
        program.train(TINY_DECODER, &["--steps", "2", "--set", "data.tokenizer={ kind = \"bpe\", vocabulary = 400 }"]);
    for (run, to) in [(&run, "narrow"), (&wide, "wide")] {
        let _ = program.run(&["export", run, "--to", to]).expect_code(0);
    }
    fs::copy(program.path("wide/tokenizer.json"), program.path("narrow/tokenizer.json")).unwrap();
    fs::remove_file(program.path("narrow/headroom.json")).unwrap();
    let _ = program.run(&["generate", "narrow", "--prompt", "a"]).expect_code(0);
    refused(&["narrow", "--prompt", "the river and the king"], &["is token", "its tokenizer knows more tokens"]);
    // Many beams are no fault where they fit; those that do not are refused in the tests of `generate`.
    let many = ["generate", "wide", "--prompt", "a", "--beam", "1024", "--max-length", "16"];
    let _ = program.run(&many).expect_code(0);
}

/// Ctrl-C keeps what was generated.
#[cfg(unix)]
#[test]
fn what_was_generated_is_kept_when_it_is_stopped() {
    let program = program();
    let sizes = ["model.positions=3000", "model.width=128", "model.layers=4", "model.feed_forward=512"];
    let mut options = vec!["--steps", "1"];
    for size in &sizes {
        options.extend(["--set", size]);
    }
    let run = program.train(TINY_DECODER, &options);
    let arguments = [
        "generate",
        &run,
        "--prompt",
        "a",
        "--cache",
        "none",
        "--max-length",
        "2900",
        "--min-length",
        "2900",
        "--json",
    ];
    let mut generating = program.start(&arguments);
    std::thread::sleep(Duration::from_secs(2));
    assert!(!generating.has_ended());
    generating.signal("INT");
    let answer = generating.next(Duration::from_mins(1)).unwrap();
    assert_eq!(answer["event"], "generated", "{answer}");
    assert_eq!((&answer["stopped"], &answer["ending"]), (&Value::Bool(true), &Value::from("stopped")));
    let count = tokens(&answer).len();
    assert!(count > 0 && count < 2900, "{count}");
}

/// Every cache writes the same in single precision, on held-out examples, on lines of a file, and with the golden of an
/// encoder-decoder.
#[test]
fn the_caches_are_proved_to_lose_nothing() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "model.positions=40"]);
    program.write("sources.txt", "the river\na\nold men\n");
    let of_examples = ["generate", &run, "--prove", "--examples", "5", "--max-length", "9"];
    let of_file = ["generate", &run, "--prove", "--input", "sources.txt", "--beam", "3", "--max-length", "9"];
    for (arguments, texts) in [(&of_examples[..], 5), (&of_file[..], 3)] {
        let arguments = [arguments, &["--precision", "f32,bf16", "--batch", "2", "--json"]].concat();
        let answer = program.run(&arguments).expect_code(0).json();
        assert_eq!(answer["event"], "caches_proved");
        assert_eq!(answer["proofs"].as_array().unwrap().len(), 2);
        let (whole, half) = (&answer["proofs"][0], &answer["proofs"][1]);
        assert_eq!((&whole["precision"], &half["precision"]), (&Value::from("f32"), &Value::from("bf16")));
        assert_eq!(whole["proof"]["texts"], texts);
        for (place, kind) in ["none", "key_value", "hidden"].into_iter().enumerate() {
            let row = &whole["proof"]["caches"][place];
            assert_eq!(row["cache"]["kind"], kind);
            assert_eq!(row["identical"], texts, "{answer}");
            assert!(row["largest_difference"].as_f64().unwrap() < 1e-4, "{answer}");
            assert_eq!(row["cache_bytes"].as_u64().unwrap() == 0, kind == "none");
            assert!(row["as_reference"].is_null() && half["proof"]["caches"][place]["as_reference"].is_u64());
        }
    }
    let told = program.run(&of_examples).expect_code(0);
    assert!(told.stdout.contains("f32: 5 texts") && told.stdout.contains("5 of 5"), "{}", told.stdout);
    for name in ["bart", "gpt2"] {
        golden(&program, name);
        let answer = program.run(&["generate", name, "--prove", "--ids", "5,7,9,2", "--beam", "2", "--json"]);
        let answer = answer.expect_code(0).json();
        assert_eq!(answer["lossless"], true, "{answer}");
    }
    let _ = program.run(&["generate", "bart", "--prove"]).expect_code(2);
    let _ = program.run(&["generate", &run, "--prove", "--cache", "none"]).expect_code(2);
    let several = ["generate", &run, "--prompt", "a", "--precision", "f32,bf16"];
    let _ = program.run(&several).expect_code(2).expect_words(&["--prove"]);
}

#[test]
fn details_tell_of_beams_and_attention() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "model.positions=40"]);
    let arguments = [
        "generate",
        &run,
        "--prompt",
        "the",
        "--beam",
        "3",
        "--max-length",
        "6",
        "--min-length",
        "6",
        "--details",
        "--json",
    ];
    let answer = program.run(&arguments).expect_code(0).json();
    let list = |name: &str| answer[name].as_array().unwrap().clone();
    let (written, source) = (list("tokens").len(), list("source_pieces").len());
    assert_eq!(list("pieces").len(), written);
    assert_eq!(list("costs").len(), written);
    assert_eq!(list("tree").len(), list("tree_pieces").len());
    assert!(list("tree").iter().any(|node| node["score"] == answer["score"]));
    let attention = &answer["attention"];
    assert_eq!(
        (attention["tokens"].as_u64(), attention["source"].as_u64()),
        (Some(written as u64), Some(source as u64))
    );
    let layers = attention["layers"].as_u64().unwrap() as usize;
    assert_eq!(attention["values"].as_array().unwrap().len(), layers * written * source);
    let bytes: Vec<u64> = list("costs").iter().map(|cost| cost["bytes"].as_u64().unwrap()).collect();
    assert!(bytes.windows(2).all(|two| two[0] < two[1]), "{bytes:?}");
}

/// What is taken out of the queue ends nothing else: the run that trains goes on, and the next text comes after it.
#[test]
fn a_text_waits_for_the_run_and_can_be_taken_out_of_the_queue() {
    let folder = tempfile::TempDir::new().unwrap();
    let store = folder.path().join("headroom.db");
    let engine = Engine::start(EngineOptions { store, wake: None }).unwrap();
    let config = Box::new(from_toml(TINY_DECODER).unwrap());
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/gpt2");
    let generate = || {
        Request::from(Command::Job(JobCommand::Generate(commands::Generate {
            target: Target::Directory(directory.clone()),
            sources: vec![GenerateSource::Tokens(vec![3, 4, 5])],
            batch: 1,
            search: Box::new(Search { max_new_tokens: 4, ..Search::default() }),
            precision: Precision::F32,
            threads: None,
            details: false,
        })))
    };
    let (dropped, waits) = (generate(), generate());
    let (dropped_ticket, waits_ticket) = (dropped.ticket, waits.ticket);
    let enqueue = Request::from(Command::Enqueue(commands::Enqueue { config, base_dir: std::path::PathBuf::new() }));
    let cancel = Request::from(Command::Cancel(commands::Cancel { job: JobRef::Ticket(dropped_ticket) }));
    for request in [enqueue, dropped, waits, cancel] {
        engine.send(request).unwrap();
    }
    let (mut is_trained, mut was_dropped) = (false, false);
    loop {
        let notice = engine.wait_event(Duration::from_mins(2)).unwrap();
        match notice.event {
            Event::Finished(events::Finished { state, .. }) => {
                assert_eq!(state, RunState::Finished);
                is_trained = true;
            }
            Event::Refused(events::Refused { why }) => {
                assert_eq!(notice.ticket, Some(dropped_ticket), "{why}");
                assert!(why.contains("taken out of the queue"), "{why}");
                was_dropped = true;
            }
            Event::Generated(events::Generated { texts, .. }) => {
                assert_eq!(notice.ticket, Some(waits_ticket));
                assert_eq!((texts[0].tokens.len(), texts[0].pieces.len(), texts[0].costs.len()), (4, 4, 4));
                break;
            }
            _ => {}
        }
    }
    assert!(is_trained && was_dropped);
    assert!(engine.shutdown(Duration::from_mins(1)));
}

/// Copies a model directory of the fixtures into the test's folder.
fn fixture(program: &Program, from: &str, name: &str) {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(from);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        program.write(&format!("{name}/{}", entry.file_name().display()), fs::read(entry.path()).unwrap());
    }
}

/// The ids are those of `transformers` 5.24.
#[test]
fn what_a_generation_config_says_is_done_or_named() {
    let program = program();
    fixture(&program, "generation/bad_words", "model");
    let arguments = ["generate", "model", "--ids", "56,100,120,0"];
    let json = |more: &[&str]| program.run(&[&arguments[..], &["--json"], more].concat()).expect_code(0).json();
    let answer = json(&["--max-length", "8"]);
    assert_eq!(tokens(&answer), [26, 8, 8, 8, 8, 8, 8, 0], "{answer}");
    assert!(!tokens(&answer).contains(&78));
    assert_eq!(answer["unused_settings"], serde_json::json!([]));
    let settings = r#"{"decoder_start_token_id": 2, "eos_token_id": 0, "pad_token_id": 2, "num_beams": 3, "max_new_tokens": 5,
        "length_penalty": 2.0, "early_stopping": "never", "bad_words_ids": [[78]], "stop_strings": ["."], "guidance_scale": 1.5,
        "num_return_sequences": 2, "use_cache": true}"#;
    program.write("model/generation_config.json", settings);
    let own = json(&[]);
    assert_eq!((own["beams"].as_u64(), tokens(&own).len() <= 5), (Some(3), true), "{own}");
    assert_eq!(own["unused_settings"], serde_json::json!(["guidance_scale", "num_return_sequences", "stop_strings"]));
    // Options go before the file.
    let other = json(&["--beam", "1", "--max-length", "3", "--early-stopping=false"]);
    assert_eq!((other["beams"].as_u64(), tokens(&other).len() <= 3), (Some(1), true), "{other}");
    let told = program.run(&arguments).expect_code(0).stderr;
    let line = "Not used from the model's generation_config.json: guidance_scale, num_return_sequences, stop_strings.";
    assert_eq!(told.matches(line).count(), 1, "{told}");
    let drawn = program.run(&[&arguments[..], &["--temperature", "1"]].concat()).expect_code(0).stderr;
    assert!(drawn.contains("num_beams"), "{drawn}");
    let refused = program.run(&[&arguments[..], &["--early-stopping=soon"]].concat()).expect_code(2).stderr;
    assert!(refused.contains("Use true, false or never"), "{refused}");
}

/// An end token beyond the vocabulary never comes, and a tokenizer with a token more than the model is no obstacle.
#[test]
fn ids_beyond_the_table_matter_where_they_occur() {
    let program = program();
    fixture(&program, "generation/end_token_outside", "outside");
    for beams in ["1", "3"] {
        let arguments = ["generate", "outside", "--ids", "5,6", "--max-length", "4", "--beam", beams, "--json"];
        let answer = program.run(&arguments).expect_code(0).json();
        assert_eq!(tokens(&answer), [354, 300, 361, 301], "{answer}");
    }
    fixture(&program, "generation/one_token_more", "more");
    let _ = program.run(&["generate", "more", "--prompt", "the old man", "--max-length", "3"]).expect_code(0);
    program.write("text.txt", "the old man goes to the river and the king sleeps by the mill. ".repeat(20));
    let _ = program.run(&["eval", "more", "--data", "text.txt", "--json"]).expect_code(0);
    let refused = program.run(&["generate", "more", "--ids", "5,300"]).expect_code(2).stderr;
    assert!(refused.contains("300"), "{refused}");
}

/// Sources and translations stand in the frame of the tokenizer, `<s> text </s>`, as `transformers` 5.24 computes the loss.
#[test]
fn pairs_are_framed_by_the_template_of_the_tokenizer() {
    let program = program();
    fixture(&program, "bart_frame/model", "model");
    let text = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bart_frame").join(name);
        fs::read(path).unwrap()
    };
    program.write("s15", text("s15"));
    program.write("t15", text("t15"));
    let arguments = ["eval", "model", "--data", "s15", "--translations", "t15", "--json"];
    let answer = program.run(&arguments).expect_code(0).json();
    assert!((answer["metrics"]["loss"].as_f64().unwrap() - 7.464_07).abs() < 1e-4, "{answer}");
}
