//! The command line, end to end: every command, the shapes of `--json`, the exit codes, stopping and going on.

// Devices, paths and signals of other systems differ.
#[cfg(target_os = "linux")]
mod json_goldens;

use std::fs;
#[cfg(unix)]
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use headroom_engine::config::{from_toml, presets};
use headroom_tests::{TINY_DECODER, TINY_ENCODER, sentences};
use serde_json::Value;

use crate::program;

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[test]
fn help_and_version_are_answers() {
    let program = program();
    let help = program.run(&["--help"]).expect_code(0).stdout;
    for word in ["train", "resume", "Exit codes", "--store"] {
        assert!(help.contains(word), "{help}");
    }
    let version = program.run(&["--version"]).expect_code(0).stdout;
    assert_eq!(version.trim(), format!("headroom {}", env!("CARGO_PKG_VERSION")));
    let _ = program.run(&["train", "--help"]).expect_code(0);
    let _ = program.run(&["fly"]).expect_code(2).expect_words(&["fly"]);
}

#[test]
fn shells_complete_commands_and_options() {
    let program = program();
    for (shell, start) in [("bash", "_headroom()"), ("zsh", "#compdef headroom"), ("fish", "# Print an optspec")] {
        let script = program.run(&["completions", shell]).expect_code(0).stdout;
        assert!(script.contains("train.learning_rate"), "fields of --set are completed");
        assert!(script.starts_with(start), "{script}");
        for word in ["train", "largest-batch", "store"] {
            assert!(script.contains(word), "{shell} knows no {word}");
        }
    }
    let _ = program.run(&["completions", "tcsh"]).expect_code(2).expect_words(&["bash"]);
    assert!(!program.store_path().exists());
}

#[test]
fn presets_are_listed_and_printed_whole() {
    let program = program();
    let list = program.run(&["presets"]).expect_code(0).stdout;
    let json = program.run(&["presets", "--json"]).expect_code(0).json();
    assert_eq!(json.as_array().unwrap().len(), presets().len());
    for preset in presets() {
        assert!(list.contains(preset.name) && list.contains(&preset.about()), "{list}");
        let toml = program.run(&["presets", preset.name]).expect_code(0).stdout;
        assert_eq!(toml, preset.toml);
        let config = program.run(&["presets", preset.name, "--json"]).expect_code(0).json();
        assert_eq!(config["name"], from_toml(&toml).unwrap().name);
    }
    let _ = program.run(&["presets", "gramar-decoder"]).expect_code(2).expect_words(&["`grammar-decoder`"]);
}

#[test]
fn devices_name_the_processor() {
    let program = program();
    let devices = program.run(&["devices", "--json"]).expect_code(0).json();
    let cpu = devices.as_array().unwrap().iter().find(|device| device["id"] == "cpu").unwrap().clone();
    assert_eq!(cpu["available"], true);
    assert!(cpu["memory_bytes"].as_u64().unwrap() > 0 && cpu["cores"].as_u64().unwrap() > 0, "{cpu}");
    assert!(program.run(&["devices"]).expect_code(0).stdout.contains("cpu"));
    let checks = program.run(&["devices", "--check", "cpu", "--json"]).expect_code(0).json();
    let checks = checks.as_array().unwrap();
    assert!(checks.len() > 40, "every way to score, every reuse: {}", checks.len());
    assert!(checks.iter().all(|check| check["loss_error"].as_f64().unwrap() <= check["tolerance"].as_f64().unwrap()));
    let absent = program.run(&["devices", "--check", "cuda:7"]);
    assert!(absent.expect_code(2).stderr.contains("cuda:7"));
    let _ = program.run(&["devices", "--check", "abacus"]).expect_code(2);
    assert!(!program.store_path().exists(), "asking for devices made a store");
}

#[test]
fn an_empty_store_has_no_runs() {
    let program = program();
    // Only where nobody named a store: a named one that is not there is a mistake.
    let mut command = program.command(&["runs", "--json"]);
    command.env_remove("HEADROOM_STORE").env_remove("XDG_DATA_HOME");
    assert_eq!(program.run_command(command).expect_code(0).json(), Value::Array(Vec::new()));
    let mut command = program.command(&["runs"]);
    command.env_remove("HEADROOM_STORE").env_remove("XDG_DATA_HOME");
    let told = program.run_command(command).expect_code(0).stdout;
    assert!(told.contains("headroom train") && told.contains("headroom.db"), "{told}");
    let queue = |more: &[&str]| {
        let mut command = program.command(&[&["queue"][..], more].concat());
        command.env_remove("HEADROOM_STORE").env_remove("XDG_DATA_HOME");
        program.run_command(command).expect_code(0)
    };
    let listed = queue(&["--json"]).json();
    assert_eq!((&listed["running"], &listed["waiting"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
    assert_eq!(queue(&[]).stdout, "Nothing runs, and nothing waits.\n");
    fs::create_dir(program.path("bare")).unwrap();
    for (store, named) in [("nowhere/x.db", "nowhere/x.db"), ("bare", "bare/headroom.db"), ("nowhere", "nowhere")] {
        for arguments in [&["runs"][..], &["runs", "--json"], &["queue"], &["show", "x"], &["compare", "x", "y"]] {
            let mut all = arguments.to_vec();
            all.extend(["--store", store]);
            let answer = program.run(&all).expect_code(2).expect_words(&["no store there", named]);
            if arguments.contains(&"--json") {
                assert_eq!(answer.json()["problems"][0]["field"], "store", "{all:?}");
            } else {
                assert_eq!(answer.stdout, "", "{all:?}");
            }
        }
    }
    assert_eq!(fs::read_dir(program.path("bare")).unwrap().count(), 0);
    assert!(!program.path("nowhere").exists());
}

#[test]
fn training_streams_its_events() {
    let program = program();
    let answer = program.run_with_input(&["train", "-", "--json"], TINY_DECODER).expect_code(0);
    let events = answer.events();
    let names = names(&events);
    assert_eq!(names.first(), Some(&"queued"));
    assert_eq!(names.last(), Some(&"finished"));
    for name in ["started", "step", "evaluated", "checkpointed"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    let of = |name: &str| events.iter().find(|event| event["event"] == name).unwrap();
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished");
    assert_eq!(last["step"], 60);
    assert!(last["best_validation_loss"].as_f64().unwrap() > 0.0);
    assert_eq!(of("started")["steps"], 60);
    for field in ["run", "step", "loss", "learning_rate", "grad_norm", "tokens_per_sec", "tokens", "eta_secs"] {
        assert!(!of("step")[field].is_null(), "{field}: {}", of("step"));
    }
    let evaluated: Vec<u64> = events
        .iter()
        .filter(|event| event["event"] == "evaluated")
        .map(|event| {
            let (loss, perplexity) = (event["loss"].as_f64().unwrap(), event["perplexity"].as_f64().unwrap());
            assert!((loss.exp() / perplexity - 1.0).abs() < 1e-9, "{event}");
            event["step"].as_u64().unwrap()
        })
        .collect();
    assert!(evaluated.contains(&20) && evaluated.contains(&60), "{evaluated:?}");
    let runs: std::collections::BTreeSet<&str> = events.iter().filter_map(|event| event["run"].as_str()).collect();
    assert_eq!(runs.len(), 1);
}

#[test]
fn an_encoder_reports_how_many_hidden_tokens_it_got_right() {
    let program = program();
    let answer = program.run_with_input(&["train", "-", "--json"], TINY_ENCODER).expect_code(0);
    let events = answer.events();
    let evaluated = events.iter().rev().find(|event| event["event"] == "evaluated").unwrap();
    let accuracy = evaluated["masked_accuracy"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&accuracy), "{evaluated}");
    assert!(evaluated["perplexity"].is_null(), "{evaluated}");
    let run = events.last().unwrap()["run"].as_str().unwrap();
    assert!(program.show(run)["metrics"]["validation/masked_accuracy"]["best"].is_number());
}

#[test]
fn piped_output_is_plain_lines() {
    let program = program();
    let answer = program.run_with_input(&["train", "-", "--steps", "30"], TINY_DECODER).expect_code(0);
    for words in ["tiny decoder", "Step 30 of 30: loss", "Evaluated at step 20: validation loss", "Checkpoint at step"]
    {
        assert!(answer.stdout.contains(words), "no \"{words}\" in\n{}", answer.stdout);
    }
    assert!(answer.stdout.lines().last().unwrap().starts_with("Finished: tiny decoder"), "{}", answer.stdout);
    assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "control codes in a pipe");
}

#[test]
fn runs_and_show_tell_what_was_trained() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--name", "first, \"quoted\"", "--seed", "11", "--steps", "30"]);
    let second = program.train(TINY_DECODER, &["--set", "model.layers=1", "train.steps=20", "--set", "name=second"]);

    let runs = program.run(&["runs", "--json"]).expect_code(0).json();
    let ids: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [second.as_str(), run.as_str()], "newest first");
    for name in ["the same beginning: one", "the same beginning: two"] {
        let _ = program.train(TINY_DECODER, &["--name", name, "--steps", "1"]);
    }
    let table = program.run(&["runs"]).expect_code(0).stdout;
    assert!(
        table.contains("the same beginning: one") && table.contains("the same beginning: two"),
        "whole in a pipe: {table}"
    );
    assert!(table.contains("first, \"quoted\"") && table.contains("30 of 30") && table.contains("finished"), "{table}");

    let shown = program.show(&run);
    assert_eq!(shown["id"], run);
    assert_eq!(shown["name"], "first, \"quoted\"");
    assert_eq!(shown["state"], "finished");
    assert_eq!(shown["steps"], 30);
    assert_eq!(shown["config"]["seed"], 11);
    assert_eq!(shown["config"]["model"]["layers"], 2);
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 1);
    assert!(!shown["checkpoints"].as_array().unwrap().is_empty());
    assert!(shown["data_hash"].as_str().unwrap().len() >= 32);
    let loss = &shown["metrics"]["validation/loss"];
    assert!(loss["best"].as_f64().unwrap() <= loss["last"].as_f64().unwrap(), "{loss}");
    assert!(loss["best_step"].as_u64().unwrap() <= 30);
    assert_eq!(shown["metrics"]["train/loss"]["count"], 30, "a point for every step");
    assert_eq!(program.show(&second)["config"]["model"]["layers"], 1);

    // A run is found by name, by number, and by the beginning of its name.
    for query in ["first, \"quoted\"", "#1", "1", "firs"] {
        assert_eq!(program.show(query)["id"], run, "{query}");
    }
    let text = program.run(&["show", &run]).expect_code(0).stdout;
    for words in ["finished", "validation/loss", "[model]", "sequence_length = 16"] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    let points = program.run(&["show", &run, "--json", "--points"]).expect_code(0).json();
    let column = &points["points"]["train/loss"];
    assert_eq!(column["steps"].as_array().unwrap().len(), 30);
    assert_eq!(column["values"].as_array().unwrap().len(), 30);
    assert_eq!(column["values"][29], shown["metrics"]["train/loss"]["last"]);
}

#[test]
fn the_estimate_counts_what_training_builds() {
    let program = program();
    let config = program.write("c.toml", TINY_DECODER);
    let estimate = program.run(&["estimate", config.to_str().unwrap(), "--json"]).expect_code(0).json();
    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    let parameters = program.show(&run)["parameters"].as_u64().unwrap();
    // The exact vocabulary is known only once there is a tokenizer: bytes differ by a few special tokens.
    let counted = estimate["parameters"].as_u64().unwrap();
    assert!(counted.abs_diff(parameters) <= 16 * 8, "{counted} estimated, {parameters} built");
    assert!(estimate["flops_per_step"].as_u64().unwrap() > 0 && estimate["memory_bytes"].as_u64().unwrap() > 0);
    let parts: u64 =
        estimate["parts"].as_array().unwrap().iter().map(|part| part["parameters"].as_u64().unwrap()).sum();
    assert_eq!(parts, counted);
    let text = program.run(&["estimate", "grammar-decoder", "--set", "model.layers=2"]).expect_code(0).stdout;
    assert!(text.contains("Feed-forward") && text.contains("FLOP"), "{text}");
}

#[test]
fn a_printed_preset_trains_from_standard_input() {
    let program = program();
    for preset in ["grammar-decoder", "grammar-encoder", "random-decoder"] {
        let toml = program.run(&["presets", preset]).expect_code(0).stdout;
        let small = [
            "--set",
            "data.words=6000",
            "data.tokenizer.vocabulary=400",
            "data.sequence_length=16",
            "model.layers=1",
            "model.width=16",
            "model.heads=2",
            "model.feed_forward=32",
            "train.batch=2",
            "train.evaluate_batches=1",
            "--steps",
            "3",
            "--threads",
            "1",
        ];
        let run = program.train(&toml, &small);
        let shown = program.show(&run);
        assert_eq!((&shown["state"], &shown["steps"]), (&Value::from("finished"), &Value::from(3)), "{preset}");
    }
}

#[test]
fn a_config_file_finds_its_text_beside_itself_and_a_typed_path_where_one_is() {
    let program = program();
    program.write("configs/text.txt", sentences(400));
    program.write("typed.txt", sentences(500));
    let config = TINY_DECODER.replace("kind = \"grammar\"\nwords = 4000", "kind = \"file\"\npath = \"text.txt\"");
    program.write("configs/c.toml", config);
    let _ = program.run(&["train", "configs/c.toml", "--steps", "2", "--name", "beside"]).expect_code(0);
    let _ = program
        .run(&["train", "configs/c.toml", "--steps", "2", "--name", "typed", "--set", "data.path=typed.txt"])
        .expect_code(0);
    let hash = |name: &str| program.show(name)["data_hash"].clone();
    assert_ne!(hash("beside"), hash("typed"));
}

#[test]
fn same_seed_same_curve_and_another_seed_another() {
    let program = program();
    let curve = |seed: &str| {
        let run = program.train(TINY_DECODER, &["--seed", seed, "--steps", "30"]);
        (program.curve(&run, "train/loss"), program.curve(&run, "validation/loss"))
    };
    let (first, again, other) = (curve("5"), curve("5"), curve("6"));
    assert_eq!(first.0.len(), 30);
    assert_eq!(first, again);
    assert_ne!(first.0, other.0);
}

#[test]
fn an_exported_model_evaluates_like_its_run() {
    for config in [TINY_DECODER, TINY_ENCODER] {
        let program = program();
        let run = program.train(config, &[]);
        program.write("held_out.txt", sentences(200));
        let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
        for file in ["config.json", "model.safetensors"] {
            assert!(program.path("model").join(file).is_file(), "no {file}");
        }
        let loss = |target: &str, which: &[&str]| {
            let mut arguments = vec!["eval", target, "--data", "held_out.txt", "--json"];
            arguments.extend(which);
            let answer = program.run(&arguments).expect_code(0).json();
            assert_eq!(answer["event"], "evaluation");
            assert!(answer["tokens"].as_u64().unwrap() > 100, "{answer}");
            answer["loss"].as_f64().unwrap()
        };
        assert_eq!(loss(&run, &[]).to_bits(), loss("model", &[]).to_bits(), "{config}");

        let exported =
            program.run(&["export", &run, "--to", "last", "--which", "last", "--json"]).expect_code(0).json();
        assert_eq!(exported["step"], 60);
        assert_eq!(loss(&run, &["--which", "last"]).to_bits(), loss("last", &[]).to_bits());

        // Nothing is ever written over, and a step without a checkpoint is no checkpoint.
        let _ = program.run(&["export", &run, "--to", "model"]).expect_code(2).expect_words(&["model", "holds files"]);
        let answer = program.run(&["export", &run, "--to", "none", "--which", "7"]);
        assert_ne!(answer.code, 0);
        let _ = answer.expect_words(&["step 7", "60"]);
        assert!(!program.path("none").exists());
        let _ = program.run(&["export", &run, "--to", "none", "--which", "newest"]).expect_code(2);

        // By the config that lies in it, it is measured on what its run was measured on.
        let own = |target: &str| {
            let answer = program.run(&["eval", target, "--json"]).expect_code(0).json();
            answer["loss"].as_f64().unwrap()
        };
        assert_eq!(own(&run).to_bits(), own("model").to_bits(), "{config}");
        fs::remove_file(program.path("model/headroom.toml")).unwrap();
        let _ = program.run(&["eval", "model"]).expect_code(2).expect_words(&["holds no text", "--data"]);
    }
}

/// It was read in examples of 64 tokens, whatever it had been trained on.
#[test]
fn a_model_directory_from_elsewhere_is_read_as_long_as_it_has_positions() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2", "--set", "data.sequence_length=80"]);
    program.write("held_out.txt", sentences(200));
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    for file in ["headroom.toml", "headroom.json"] {
        fs::remove_file(program.path("model").join(file)).unwrap();
    }
    let eval = |more: &[&str]| {
        let mut arguments = vec!["eval", "model", "--data", "held_out.txt"];
        arguments.extend(more);
        program.run(&arguments)
    };
    let whole = eval(&["--json"]).expect_code(0).json();
    assert_eq!(whole["sequence_length"], 80);
    let of_run = program.run(&["eval", &run, "--data", "held_out.txt", "--json"]).expect_code(0).json();
    let (loss, expected) = (whole["loss"].as_f64().unwrap(), of_run["loss"].as_f64().unwrap());
    assert!((loss - expected).abs() < 1e-5 * expected, "{loss} instead of {expected}");
    let short = eval(&["--json", "--tokens", "16"]).expect_code(0).json();
    assert_eq!(short["sequence_length"], 16);
    assert_ne!(short["loss"], whole["loss"]);
    let told = eval(&[]).expect_code(0).stdout;
    assert!(told.contains("in examples of 80 tokens"), "{told}");
    let _ = eval(&["--tokens", "81"]).expect_code(2).expect_words(&["at most 80 tokens", "81 tokens"]);
    let analysed = program.run(&["analyse", "model", "--data", "held_out.txt", "--examples", "4"]).expect_code(0);
    assert!(analysed.stdout.contains("4 examples of 80 tokens"), "{}", analysed.stdout);
}

#[test]
fn evaluating_the_held_out_text_gives_the_loss_that_training_gave() {
    let program = program();
    let run = program.train(TINY_DECODER, &[]);
    let shown = program.show(&run);
    let best = shown["metrics"]["validation/loss"]["best"].as_f64().unwrap();
    let answer = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    assert_eq!(answer["loss"].as_f64().unwrap().to_bits(), best.to_bits(), "{answer} instead of {best}");
    let text = program.run(&["eval", &run]).expect_code(0).stdout;
    assert!(text.contains("perplexity"), "{text}");
}

#[test]
fn compare_measures_against_the_first_and_shows_only_differences() {
    let program = program();
    let base = program.train(TINY_DECODER, &["--steps", "20", "--name", "base"]);
    let wide = program.train(TINY_DECODER, &["--steps", "20", "--name", "wide", "--set", "model.width=32"]);
    let answer = program.run(&["compare", &base, &wide, "--json"]).expect_code(0).json();
    assert_eq!(answer["baseline"], base);
    let config: Vec<&String> = answer["config"].as_object().unwrap().keys().collect();
    assert_eq!(config, ["model.width", "name"]);
    assert_eq!(answer["config"]["model.width"], serde_json::json!([16, 32]));
    let value = |index: usize, name: &str| answer["runs"][index]["metrics"]["validation/loss"][name].as_f64();
    let delta = value(1, "best").unwrap() - value(0, "best").unwrap();
    assert_eq!(value(1, "best_delta"), Some(delta));
    assert_eq!(value(0, "best_delta"), None);

    let text = program.run(&["compare", "base", "wide"]).expect_code(0).stdout;
    assert!(text.contains("model.width") && text.contains("validation/loss, best"), "{text}");
    assert!(!text.contains("train.batch"), "{text}");
    let csv = program.run(&["compare", "base", "wide", "--csv", "--metric", "train/loss"]).expect_code(0).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains("train/loss last") && !lines[0].contains("validation"), "{csv}");
    assert!(lines.iter().all(|line| line.split(',').count() == lines[0].split(',').count()), "{csv}");
    let _ = program
        .run(&["compare", "base", "wide", "--metric", "validation/los"])
        .expect_code(2)
        .expect_words(&["`validation/loss`"]);
    let _ = program.run(&["compare", "base"]).expect_code(2);
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_with_a_checkpoint_and_resume_goes_on() {
    for signal in ["INT", "TERM"] {
        let program = program();
        let whole = program.train(TINY_DECODER, &["--steps", "400"]);
        program.write("c.toml", TINY_DECODER);
        let training = program.start(&["train", "c.toml", "--json", "--steps", "400"]);
        let run = training.wait_for("started", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
        training.wait_for("step", |event| event["step"].as_u64().unwrap() >= 3).unwrap();
        training.signal(signal);
        let (code, last) = training.wait();
        let last = last.unwrap();
        assert_eq!((code, &last["event"], &last["state"]), (1, &"finished".into(), &"stopped".into()), "{signal}");
        let stopped_at = last["step"].as_u64().unwrap();
        assert!(stopped_at < 400, "it did not stop");

        let shown = program.show(&run);
        assert_eq!((&shown["state"], &shown["steps"]), (&"stopped".into(), &stopped_at.into()));
        let steps: Vec<u64> =
            shown["checkpoints"].as_array().unwrap().iter().map(|kept| kept["step"].as_u64().unwrap()).collect();
        assert!(steps.contains(&stopped_at), "stopped at {stopped_at}, checkpoints at {steps:?}");

        let events = program.run(&["resume", &run, "--json"]).expect_code(0).events();
        let started = events.iter().find(|event| event["event"] == "started").unwrap();
        assert_eq!(started["first_step"], stopped_at);
        let last = events.last().unwrap();
        assert_eq!((&last["state"], &last["step"]), (&"finished".into(), &400.into()));
        for series in ["train/loss", "validation/loss"] {
            assert_eq!(program.curve(&run, series), program.curve(&whole, series), "{series} after {signal}");
        }
        assert_eq!(program.show(&run)["attempts"].as_array().unwrap().len(), 2);
    }
}

#[test]
#[cfg(unix)]
fn a_stopped_run_says_how_to_go_on() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    let mut command = program.command(&["train", "c.toml", "--steps", "100000"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().starts_with("Step") {}
    let status = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(status.success());
    for line in lines {
        line.unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("Press Ctrl-C again") && told.contains("headroom resume "), "{told}");
}

#[test]
fn what_cannot_go_on_says_so() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "3"]);
    let _ = program.run(&["resume", &run]).expect_code(2).expect_words(&["tiny decoder", "all its steps"]);
    let _ = program.run(&["resume", "nobody"]).expect_code(2).expect_words(&["nobody"]);
    let answer = program.run(&["show", "tiny decodr"]).expect_code(2);
    let _ = answer.expect_words(&["tiny decodr", "tiny decoder"]);
}

#[test]
fn a_run_that_is_not_there_names_the_newest_and_how_to_list_all() {
    let program = program();
    program.train(TINY_DECODER, &["--steps", "2", "--name", "older"]);
    let newest = program.train(TINY_DECODER, &["--steps", "2", "--name", "newer"]);
    for arguments in [
        &["show", "zzz"][..],
        &["eval", "zzz"],
        &["export", "zzz", "--to", "model"],
        &["resume", "zzz"],
        &["compare", "older", "zzz"],
    ] {
        let answer = program.run(arguments).expect_code(2);
        let _ = answer.expect_words(&["no run \"zzz\"", &format!("{newest}  newer"), "older", "headroom runs"]);
    }
    let store = program.store_path().display().to_string();
    let answer = program.run(&["show", "zzz", "--store", &store]).expect_code(2);
    let _ = answer.expect_words(&[&format!("headroom runs --store {store}")]);
    let answer = program.run(&["show", "newr"]).expect_code(2).expect_words(&["nearest", "\"newer\"", "headroom runs"]);
    assert!(!answer.stderr.contains(&newest), "{}", answer.stderr);
}

#[test]
fn runs_of_one_name_are_told_apart_by_their_seeds() {
    let program = program();
    let train = |seed: &str| program.train(TINY_DECODER, &["--steps", "2", "--name", "base", "--seed", seed]);
    let (first, second) = (train("1"), train("2"));
    let text = program.run(&["compare", &first, &second]).expect_code(0).stdout;
    for heading in ["metric", "config field"] {
        let heading = text.lines().find(|line| line.starts_with(heading)).unwrap();
        assert!(heading.contains("base, seed 1 ") && heading.ends_with("base, seed 2"), "{text}");
    }
    let answer = program.run(&["show", "zzz"]).expect_code(2);
    let _ = answer.expect_words(&[&format!("{first}  base, seed 1"), &format!("{second}  base, seed 2")]);
    // What a run is called there names it.
    for (label, run) in [("base, seed 1", &first), ("base, seed 2", &second)] {
        assert_eq!(program.show(label)["id"], run.as_str(), "{label}");
    }
    let _ = program.run(&["eval", "base, seed 2"]).expect_code(0);
    let _ = program.run(&["show", "base, seed 3"]).expect_code(2).expect_words(&["no run \"base, seed 3\""]);
}

#[test]
fn what_scripts_read_is_ascii() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    let trained = program.run(&["train", "c.toml", "--steps", "40"]).expect_code(0);
    assert!(trained.stdout.is_ascii(), "{}", trained.stdout);
    program.train(TINY_DECODER, &["--steps", "20", "--name", "other", "--set", "train.learning_rate=1e-4"]);
    for arguments in [
        &["compare", "tiny decoder", "other"][..],
        &["compare", "other", "tiny decoder", "--csv"],
        &["runs"],
        &["show", "other"],
        &["estimate", "c.toml"],
    ] {
        let answer = program.run(arguments).expect_code(0);
        assert!(answer.stdout.is_ascii(), "{arguments:?}: {}", answer.stdout);
    }
    let compared = program.run(&["compare", "other", "tiny decoder"]).expect_code(0).stdout;
    assert!(compared.contains("(-") && compared.contains(", not tested"), "{compared}");
    assert!(compared.contains("1 seed each: not tested. Queue 2 more: headroom repeat "), "{compared}");
    assert!(!["better", "worse", "unclear"].iter().any(|word| compared.contains(word)), "{compared}");
}

#[test]
fn losses_in_other_tokens_are_not_judged() {
    let program = program();
    let bpe = "data.tokenizer={kind=\"bpe\", vocabulary=300}";
    program.train(TINY_DECODER, &["--steps", "20", "--name", "bytes"]);
    program.train(TINY_DECODER, &["--steps", "30", "--name", "bytes again"]);
    program.train(TINY_DECODER, &["--steps", "20", "--name", "bpe", "--set", bpe]);
    let judged = |runs: &[&str]| {
        let mut arguments = vec!["compare"];
        arguments.extend(runs);
        let text = program.run(&arguments).expect_code(0).stdout;
        let rows = |name: &str| text.lines().filter(|row| row.starts_with(name)).map(str::to_owned).collect::<Vec<_>>();
        (rows("validation/loss").join("\n"), rows("train/tokens_per_sec").join("\n"), text)
    };
    let (loss, _, text) = judged(&["bytes", "bytes again"]);
    let is_judged = |rows: &str| ["better", "worse", "unclear", "not tested"].iter().any(|word| rows.contains(word));
    assert!(is_judged(&loss) && !text.contains("tokenizers"), "{text}");
    let (loss, speed, text) = judged(&["bytes", "bpe"]);
    assert!(!is_judged(&loss) && loss.contains("(+"), "{text}");
    assert!(speed.contains('(') && !is_judged(&speed) && text.contains("no run is called faster"), "{text}");
    assert!(text.contains("different tokenizers"), "{text}");
    let json = program.run(&["compare", "bytes", "bpe", "bytes again", "--json"]).expect_code(0).json();
    let why = |index: usize| json["runs"][index]["not_judged"].as_str().map(str::len);
    assert!(why(0).is_none() && why(1) > Some(20) && why(2).is_none(), "{json}");
}

#[test]
fn samples_are_words_and_their_mark_is_explained_once() {
    let program = program();
    let config = TINY_DECODER.replace("every = 0", "every = 20\nexamples = 3");
    let told = program.run_with_input(&["train", "-", "--steps", "40"], &config).expect_code(0).stdout;
    assert_eq!(told.matches("In samples").count(), 1, "{told}");
    let samples: Vec<&str> = told.lines().filter(|line| line.starts_with("  ") && line.contains(" \u{bb} ")).collect();
    assert_eq!(samples.len(), 6, "{told}");
    let text = program.run(&["show", "tiny decoder", "--json"]).expect_code(0).json();
    assert_eq!(text["samples"].as_array().unwrap().len(), 2);
    let shown = program.run(&["show", "tiny decoder"]).expect_code(0).stdout;
    assert!(shown.contains("In samples"), "{shown}");
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    let program = program();
    program.train(TINY_DECODER, &["--steps", "3"]);
    for arguments in [&["runs"][..], &["runs", "--json"], &["show", "tiny decoder"], &["presets"]] {
        let mut child = program.command(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // Training goes on without a reader.
    program.write("c.toml", TINY_DECODER);
    let mut child = program.command(&["train", "c.toml", "--steps", "30", "--name", "unread"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(program.show("unread")["steps"], 30);
}

#[test]
fn the_store_may_be_named_as_file_or_folder() {
    let program = program();
    fs::create_dir(program.path("kept")).unwrap();
    let _ = program.run_with_input(&["train", "-", "--steps", "2", "--store", "kept"], TINY_DECODER).expect_code(0);
    assert!(program.path("kept/headroom.db").is_file());
    let runs = program.run(&["--store", "kept/headroom.db", "runs", "--json"]).expect_code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
    // What is not there yet is a folder to be made, with and without a slash; an ending of databases names a file.
    for (given, database) in [("new/", "new/headroom.db"), ("other", "other/headroom.db"), ("far/a.db", "far/a.db")] {
        let arguments = ["train", "-", "--steps", "2", "--store", given];
        let _ = program.run_with_input(&arguments, TINY_DECODER).expect_code(0);
        assert!(program.path(database).is_file(), "{given}");
        let runs = program.run(&["--store", given, "runs", "--json"]).expect_code(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 1, "{given}");
        let mut command = program.command(&["runs", "--json"]);
        command.env("HEADROOM_STORE", given);
        assert_eq!(program.run_command(command).expect_code(0).json(), runs, "{given}");
    }
    assert!(!program.path("runs").exists(), "a store was scattered");
    assert!(!program.store_path().exists(), "the usual store was touched");
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_display_the_window_names_the_headless_command() {
    let program = program();
    let answer = program.run(&[]).expect_code(1);
    let _ = answer.expect_words(&["headroom train"]);
}
