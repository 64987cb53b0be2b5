//! What is wrong is refused with a message that names it and says what to do: never a panic, never half a result.

#[cfg(unix)]
use std::process::{Command, Stdio};
use std::{fs, path::PathBuf, time::Duration};

use headroom_tests::{Answer, Program, TINY_DECODER, TINY_ENCODER, sentences};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::program;

/// Trains a config that cannot be used. The message must say all of `words`, the same with a backtrace wanted, and
/// nothing may be left behind that looks like a result.
#[track_caller]
fn refused(program: &Program, config: &str, extra: &[&str], words: &[&str]) -> Answer {
    program.write("refused.toml", config);
    let mut arguments = vec!["train", "refused.toml"];
    arguments.extend(extra);
    let answer = program.run(&arguments).expect_code(2).expect_words(words);
    let mut command = program.command(&arguments);
    command.env("RUST_BACKTRACE", "full");
    let again = program.run_command(command).expect_code(2);
    assert_eq!(last_words(&again), last_words(&answer), "RUST_BACKTRACE changes the message");
    if program.store_path().exists() {
        for run in program.run(&["runs", "--json"]).expect_code(0).json().as_array().unwrap() {
            assert_eq!((&run["state"], &run["steps_done"]), (&"failed".into(), &0.into()), "{run}");
            assert!(run["failure"]["why"].as_str().unwrap().len() > 20, "{run}");
        }
        let runs = program.path("store/runs");
        let left: Vec<PathBuf> =
            fs::read_dir(runs).map(|runs| runs.map(|run| run.unwrap().path()).collect()).unwrap_or_default();
        for run in left {
            let checkpoints = fs::read_dir(run.join("checkpoints")).map_or(0, Iterator::count);
            assert_eq!(checkpoints, 0, "{} holds checkpoints", run.display());
        }
    }
    answer
}

/// As [`refused`], by what is looked at before there is a run: none is left in the store, and scripts get one line.
#[track_caller]
fn refused_before_a_run(program: &Program, config: &str, extra: &[&str], field: &str, words: &[&str]) {
    let _ = refused(program, config, extra, words);
    let mut arguments = vec!["train", "refused.toml", "--json"];
    arguments.extend(extra);
    let answer = program.run(&arguments).expect_code(2).expect_words(words);
    let events = answer.events();
    assert_eq!(events.len(), 1, "{}", answer.stdout);
    assert_eq!(events[0]["event"], "refused");
    let problems = events[0]["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem["field"] == field), "no {field} in {}", events[0]);
    assert!(problems.iter().all(|problem| problem["message"].as_str().unwrap().len() > 20), "{}", events[0]);
    if program.store_path().exists() {
        let runs = program.run(&["runs", "--json"]).expect_code(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 0, "a run was left behind: {runs}");
    }
}

/// The last line without its numbers: free memory changes all the time.
fn last_words(answer: &Answer) -> String {
    let line = answer.stderr.lines().last().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// A config that reads a file.
fn reading(path: &str) -> String {
    TINY_DECODER.replace("kind = \"grammar\"\nwords = 4000", &format!("kind = \"file\"\npath = \"{path}\""))
}

/// A file with these contents, and what must be said about it before there is a run.
#[track_caller]
fn refused_text_before_a_run(name: &str, contents: impl AsRef<[u8]>, field: &str, words: &[&str]) {
    let program = program();
    program.write(name, contents);
    let mut all = vec![name];
    all.extend(words);
    refused_before_a_run(&program, &reading(name), &[], field, &all);
}

#[test]
fn text_that_is_not_there() {
    let program = program();
    let words = ["data.path", "nowhere.txt", "no such file"];
    refused_before_a_run(&program, &reading("nowhere.txt"), &[], "data.path", &words);
    refused_before_a_run(&program, &reading(""), &[], "data.path", &["data.path", "name a text file"]);
    fs::create_dir(program.path("empty")).unwrap();
    refused_before_a_run(&program, &reading("empty"), &[], "data.path", &["empty", ".txt"]);
    program.write("text.txt", sentences(200));
    let extra = ["--set", "data.validation_path=nowhere.txt"];
    let words = ["data.validation_path", "nowhere.txt"];
    refused_before_a_run(&program, &reading("text.txt"), &extra, "data.validation_path", &words);
}

#[test]
fn text_that_is_no_text() {
    refused_text_before_a_run("empty.txt", "", "data.path", &["no text"]);
    refused_text_before_a_run("blank.txt", "\n \n\n", "data.path", &["no text"]);
    refused_text_before_a_run(
        "picture.txt",
        [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 400]].concat(),
        "data.path",
        &["not text", "byte 8"],
    );
    refused_text_before_a_run("wide.txt", b"\xff\xfeh\0i\0", "data.path", &["UTF-16", "UTF-8"]);
    refused_text_before_a_run("report.pdf", sentences(100), "data.path", &["ending", ".txt"]);
    refused_text_before_a_run("cut.txt.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc", "data.path", &["gzip"]);
}

#[test]
fn text_that_is_too_short() {
    let program = program();
    program.write("short.txt", "hello\n");
    refused(&program, &reading("short.txt"), &[], &["too short", "data.validation_fraction"]);
}

#[test]
fn text_that_is_not_utf_8_says_where() {
    let mut text = sentences(2).into_bytes();
    let offset = text.len() + 3;
    text.extend(b"caf\xe9 au lait\n");
    refused_text_before_a_run("latin.txt", text, "data.path", &["UTF-8", "line 3", &format!("byte {offset}")]);
}

#[test]
fn what_is_found_only_once_a_run_began_is_told_by_runs_and_show() {
    let program = program();
    let mut text = sentences(20_000).into_bytes();
    text.extend(b"caf\xe9 au lait\n");
    program.write("latin.txt", text);
    refused(&program, &reading("latin.txt"), &["--name", "latin"], &["UTF-8", "latin.txt"]);
    for arguments in [&["runs"][..], &["show", "#1"]] {
        let told = program.run(arguments).expect_code(0).stdout;
        assert!(told.contains("failed") && told.contains("The text is not UTF-8"), "{arguments:?}: {told}");
        assert!(told.contains("latin.txt"), "{arguments:?}: {told}");
    }
}

#[test]
fn jsonl_names_the_line() {
    let line = |n: usize| format!("{{\"body\": \"line {n} of the text\", \"id\": {n}}}\n");
    let whole: String = (0..50).map(line).collect();
    let program = program();
    program.write("broken.jsonl", format!("{}{{\"body\": \n{}", line(0), line(1)));
    let extra = ["--set", "data.field=body"];
    let words = ["line 2", "JSON", "broken.jsonl"];
    refused_before_a_run(&program, &reading("broken.jsonl"), &extra, "data.path", &words);
    // The field that holds the text is not called `text`: the message lists those that there are.
    refused_text_before_a_run("other.jsonl", &whole, "data.field", &["`text`", "body", "data.field"]);
    program.write("number.jsonl", &whole);
    let words = ["ine 1", "`id`", "number.jsonl"];
    refused_before_a_run(&program, &reading("number.jsonl"), &["--set", "data.field=id"], "data.field", &words);
}

#[test]
fn tables_name_the_column() {
    let row = |n: usize| format!("{n},\"row {n} of the text\"\n");
    let rows: String = (0..50).map(row).collect();
    let program = program();
    program.write("rows.csv", format!("id,body\n{rows}"));
    let refused = |extra: &str, words: &[&str]| {
        refused_before_a_run(&program, &reading("rows.csv"), &["--set", extra], "data.column", words);
    };
    refused("data.column=bodi", &["bodi", "body", "rows.csv"]);
    refused("data.column=\"3\"", &["3", "data.column", "rows.csv"]);
    let _ = program.run_with_input(&["train", "-", "--set", "data.column=body", "--steps", "2"], &reading("rows.csv"));
}

#[test]
fn a_tokenizer_that_is_none() {
    let program = program();
    let config = TINY_DECODER.replace("{ kind = \"bytes\" }", "{ kind = \"file\", path = \"tokenizer.json\" }");
    let refused = |words: &[&str]| refused_before_a_run(&program, &config, &[], "data.tokenizer.path", words);
    refused(&["data.tokenizer.path", "tokenizer.json", "no such file"]);
    program.write("tokenizer.json", "{\"version\": ");
    refused(&["tokenizer.json", "cannot be opened"]);
}

#[test]
fn a_vocabulary_larger_than_the_corpus_allows() {
    let program = program();
    let extra = ["--set", "data.tokenizer={kind=\"bpe\", vocabulary=90000}"];
    refused(&program, TINY_DECODER, &extra, &["90000", "data.tokenizer.vocabulary"]);
}

#[test]
fn every_field_that_is_wrong_is_named_at_once() {
    let program = program();
    let extra = [
        "--set",
        "model.width=30",
        "model.heads=4",
        "model.dropout=1.5",
        "train.learning_rate=nan",
        "train.batch=0",
        "train.steps=0",
    ];
    let answer = refused(
        &program,
        TINY_DECODER,
        &extra,
        &[
            "5 problems",
            "model.width: 30",
            "28 or 32",
            "model.dropout: 1.5",
            "train.learning_rate",
            "train.batch: 0",
            "train.steps: 0",
        ],
    );
    assert_eq!(answer.stderr.trim_end().lines().count(), 6, "one a line:\n{}", answer.stderr);
    let mut arguments = vec!["train", "refused.toml", "--json"];
    arguments.extend(extra);
    let events = program.run(&arguments).expect_code(2).events();
    assert_eq!((events.len(), &events[0]["event"]), (1, &"refused".into()));
    let fields: Vec<&str> =
        events[0]["problems"].as_array().unwrap().iter().map(|problem| problem["field"].as_str().unwrap()).collect();
    let all = ["model.width", "model.dropout", "train.steps", "train.batch", "train.learning_rate"];
    assert!(fields.len() == 5 && all.iter().all(|field| fields.contains(field)), "{fields:?}");
    assert!(!program.store_path().exists(), "a store was made for nothing");
}

#[test]
fn a_sequence_longer_than_the_positions() {
    let program = program();
    refused(&program, TINY_DECODER, &["--set", "model.positions=8"], &["data.sequence_length", "16", "8 positions"]);
}

#[test]
fn absurd_sizes_are_refused_with_the_numbers() {
    let program = program();
    let extra = [
        "--set",
        "model.layers=256",
        "model.width=65536",
        "model.heads=1024",
        "model.feed_forward=1048576",
        "data.sequence_length=1048576",
        "train.batch=65536",
    ];
    refused(&program, TINY_DECODER, &extra, &["needs about", "free", "ower"]);
    refused(&program, TINY_ENCODER, &extra, &["needs about", "free", "ower"]);
}

#[test]
fn unknown_fields_and_values_suggest_the_nearest() {
    let program = program();
    refused(&program, TINY_DECODER, &["--set", "model.layer=2"], &["`model.layer`", "`layers`"]);
    refused(&program, TINY_DECODER, &["--set", "data.kind=gramar"], &["gramar", "`grammar`"]);
    refused(&program, TINY_DECODER, &["--set", "train.schedule={kind=\"cosin\"}"], &["train.schedule", "`cosine`"]);
    refused(&program, TINY_DECODER, &["--set", "model.layers=four"], &["model", "four"]);
    refused(&program, TINY_DECODER, &["--set", "model.layers"], &["model.layers", "no `=`"]);
    refused(&program, TINY_DECODER, &["--device", "gpu"], &["device", "cuda:0"]);
    refused(&program, TINY_DECODER, &["--seed", "-1"], &["-1"]);
}

#[test]
fn a_config_that_is_none() {
    let program = program();
    let told = |name: &str, words: &[&str]| {
        let _ = program.run(&["train", name]).expect_code(2).expect_words(words);
    };
    program.write("broken.toml", "format = 1\n[model\nlayers = 2\n");
    told("broken.toml", &["broken.toml", "TOML", "line 2"]);
    program.write("binary.toml", [0xff, 0xfe, 0x00]);
    told("binary.toml", &["binary.toml", "UTF-8"]);
    program.write("old.toml", "name = \"x\"\n");
    told("old.toml", &["old.toml", "`format = 1`"]);
    program.write("new.toml", "format = 2\n");
    told("new.toml", &["new.toml", "format 2"]);
    told("grammar-decodr", &["grammar-decodr", "`grammar-decoder`"]);
    told(".", &["folder"]);
    let _ = program.run(&["train"]).expect_code(2).expect_words(&["config file", "grammar-decoder"]);
    for arguments in [&["train", "broken.toml", "--json"][..], &["resume", "nobody", "--json"]] {
        let events = program.run(arguments).expect_code(2).events();
        assert_eq!((events.len(), &events[0]["event"]), (1, &"refused".into()), "{arguments:?}");
        assert!(events[0]["why"].as_str().unwrap().len() > 20, "{}", events[0]);
    }
    let _ = program.run_with_input(&["train", "-"], "").expect_code(2).expect_words(&["standard input", "format"]);
    let _ = program.run(&["estimate", "broken.toml"]).expect_code(2).expect_words(&["broken.toml"]);
    assert!(!program.store_path().exists());
}

#[test]
fn a_device_that_is_not_there() {
    let program = program();
    refused(&program, TINY_DECODER, &["--device", "cuda:15"], &["device", "NVIDIA"]);
    let _ = program.run(&["bench", "step", "--device", "cuda:15"]).expect_code(2).expect_words(&["NVIDIA"]);
    program.write("c.toml", TINY_DECODER);
    let sweep = ["bench", "sweep", "c.toml", "--axis", "device=cuda:15", "--steps", "1"];
    let _ = program.run(&sweep).expect_code(2).expect_words(&["NVIDIA", "No point could be measured"]);
}

#[test]
fn evaluating_what_is_no_model() {
    let program = program();
    program.write("text.txt", sentences(50));
    let _ = program.run(&["eval", "./nowhere", "--data", "text.txt"]).expect_code(2).expect_words(&["./nowhere"]);
    let _ = program.run(&["eval", "nowhere"]).expect_code(2).expect_words(&["no folder nowhere here"]);
    program.train(TINY_DECODER, &["--steps", "2"]);
    let no_folder = "There is no folder nowhere here";
    for (name, words) in [("nowhere", no_folder), ("text.txt", "text.txt is a file, not a model")] {
        let answer = program.run(&["eval", name, "--json"]).expect_code(2);
        let answer = answer.expect_words(&[words, &format!("There is no run \"{name}\"")]);
        let told = answer.json();
        assert_eq!(told["problems"][0]["field"], "run", "{told}");
        assert!(told["problems"][0]["message"].as_str().unwrap().contains(words), "{told}");
    }
    fs::create_dir(program.path("empty")).unwrap();
    let answer = program.run(&["eval", "empty", "--data", "text.txt"]).expect_code(2);
    let _ = answer.expect_words(&["empty", "config.json"]);
    let _ = program.run(&["eval", "empty"]).expect_code(2).expect_words(&["--data"]);
}

#[test]
fn a_model_that_was_cut_short_or_edited_is_refused() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "5"]);
    program.write("text.txt", sentences(50));
    let _ = program.run(&["export", &run, "--to", "whole"]).expect_code(0);
    let weights = fs::read(program.path("whole/model.safetensors")).unwrap();
    let config = fs::read_to_string(program.path("whole/config.json")).unwrap();
    let tokenizer = fs::read(program.path("whole/tokenizer.json"));
    let damaged = |name: &str, weights: &[u8], config: &str, words: &[&str]| {
        program.write(&format!("{name}/model.safetensors"), weights);
        program.write(&format!("{name}/config.json"), config);
        if let Ok(tokenizer) = &tokenizer {
            program.write(&format!("{name}/tokenizer.json"), tokenizer);
        }
        let answer = program.run(&["eval", name, "--data", "text.txt"]);
        assert_ne!(answer.code, 0, "{name}: {}", answer.stdout);
        let mut all = vec![name];
        all.extend(words);
        let _ = answer.expect_words(&all);
    };
    damaged("short", &weights[..weights.len() - 100], &config, &["model.safetensors"]);
    damaged("shorter", &weights[..5], &config, &["model.safetensors"]);
    damaged("none", &[], &config, &["model.safetensors"]);
    damaged("garbage", &[0xff; 4096], &config, &["model.safetensors"]);
    damaged("cut-config", &weights, &config[..config.len() / 2], &["config.json"]);
    let deeper = config.replace("\"n_layer\": 2", "\"n_layer\": 3");
    assert_ne!(deeper, config, "{config}");
    damaged("deeper", &weights, &deeper, &["h.2."]);
    let wider = config.replace("\"n_embd\": 16", "\"n_embd\": 32");
    assert_ne!(wider, config, "{config}");
    damaged("wider", &weights, &wider, &["16", "32"]);
}

#[test]
#[cfg(unix)]
fn a_damaged_newest_checkpoint_is_passed_over() {
    let program = program();
    let whole = program.train(TINY_DECODER, &["--steps", "200"]);
    program.write("c.toml", TINY_DECODER);
    let training = program.start(&["train", "c.toml", "--json", "--steps", "200"]);
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    training.wait_for("checkpointed", |event| event["step"].as_u64().unwrap() >= 40).unwrap();
    training.signal("INT");
    let (code, last) = training.wait();
    assert_eq!(code, 1, "{last:?}");
    let shown = program.show(&run);
    let newest = shown["checkpoints"].as_array().unwrap().iter().max_by_key(|kept| kept["step"].as_u64()).unwrap();
    let state = PathBuf::from(newest["path"].as_str().unwrap()).join("training_state.safetensors");
    let bytes = fs::read(&state).unwrap();
    fs::write(&state, &bytes[..bytes.len() / 2]).unwrap();

    let answer = program.run(&["resume", &run]).expect_code(0);
    let _ = answer.expect_words(&["older one is tried", "training_state.safetensors"]);
    assert_eq!(program.curve(&run, "train/loss"), program.curve(&whole, "train/loss"));
}

#[test]
fn a_loss_that_becomes_non_finite_ends_the_run() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    // Each step multiplies the weights by 1 - 100 x 100.
    let extra = [
        "train",
        "c.toml",
        "--json",
        "--set",
        "train.learning_rate=100.0",
        "train.weight_decay=100.0",
        "train.clip_norm=0.0",
        "train.schedule={kind=\"constant\"}",
        "train.checkpoint_every=1",
        "train.evaluate_every=1",
    ];
    let answer = program.run(&extra).expect_code(1);
    let answer = answer.expect_words(&["Diverged", "step", "newest checkpoint, of step", "is kept", "learning rate"]);
    let last = answer.events().pop().unwrap();
    assert_eq!((&last["event"], &last["state"]), (&"finished".into(), &"diverged".into()));
    let shown = program.show(last["run"].as_str().unwrap());
    assert_eq!(shown["state"], "diverged");
    let step = shown["diverged"]["step"].as_u64().unwrap();
    assert!((1..=30).contains(&step), "{shown}");
    assert!(!shown["diverged"]["at"].as_str().unwrap().is_empty(), "{shown}");
    for checkpoint in shown["checkpoints"].as_array().unwrap() {
        assert!(checkpoint["step"].as_u64().unwrap() < step, "{checkpoint} is not a good one");
    }
    let _ = program.run(&["resume", last["run"].as_str().unwrap()]).expect_code(2).expect_words(&["diverge"]);
}

#[test]
fn a_store_that_is_none() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    let told = |store: &str, words: &[&str]| {
        for arguments in [&["runs"][..], &["show", "x"], &["train", "c.toml", "--steps", "2"]] {
            let before = fs::read(program.path(store)).ok();
            let mut all = arguments.to_vec();
            all.extend(["--store", store]);
            let answer = program.run(&all);
            let _ = answer.expect_code(2).expect_words(words);
            assert_eq!(before, fs::read(program.path(store)).ok(), "{store} was changed");
        }
    };
    program.write("text.db", sentences(100));
    told("text.db", &["text.db", "not a store"]);
    told("c.toml/x.db", &["c.toml"]);
    if cfg!(target_os = "linux") {
        let answer = program.run(&["train", "c.toml", "--store", "/proc/headroom/x.db"]).expect_code(2);
        let _ = answer.expect_words(&["/proc", "--store"]);
    }
    let _ = program.run(&["train", "c.toml", "--store", ""]).expect_code(2);
}

#[test]
fn an_empty_file_is_no_store_until_something_is_trained_into_it() {
    let program = program();
    program.write("empty.db", "");
    for arguments in [&["runs"][..], &["runs", "--json"], &["show", "x"], &["compare", "x", "y"], &["note", "x", "y"]] {
        let mut all = arguments.to_vec();
        all.extend(["--store", "empty.db"]);
        let answer = program.run(&all).expect_code(2);
        let _ = answer.expect_words(&["the file is empty", "empty.db", "HEADROOM_STORE"]);
        assert_eq!(fs::metadata(program.path("empty.db")).unwrap().len(), 0, "{arguments:?} wrote into it");
    }
    program.write("c.toml", TINY_DECODER);
    let _ = program.run(&["train", "c.toml", "--steps", "2", "--store", "empty.db"]).expect_code(0);
    let runs = program.run(&["runs", "--json", "--store", "empty.db"]).expect_code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
}

#[test]
fn a_store_that_was_damaged() {
    let program = program();
    program.train(TINY_DECODER, &["--steps", "2"]);
    let bytes = fs::read(program.store_path()).unwrap();
    for (from, length) in [(100, 3000), (0, 16)] {
        let mut damaged = bytes.clone();
        damaged[from..from + length].fill(0xa5);
        fs::write(program.store_path(), &damaged).unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(program.path(format!("store/headroom.db{suffix}")));
        }
        let _ = program.run(&["runs"]).expect_code(2).expect_words(&["headroom.db"]);
        assert_eq!(fs::read(program.store_path()).unwrap(), damaged, "the damaged file was changed");
    }
    fs::write(program.store_path(), &bytes[..bytes.len() / 2]).unwrap();
    let _ = program.run(&["runs"]).expect_code(2).expect_words(&["damaged", "headroom.db"]);
}

/// Does something to the database behind the program's back.
fn with_database<T>(program: &Program, act: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(program.store_path()).busy_timeout(Duration::from_secs(20));
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let outcome = act(&mut connection).await;
        connection.close().await.unwrap();
        outcome
    })
}

#[test]
fn a_store_of_a_newer_program_is_refused() {
    let program = program();
    program.train(TINY_DECODER, &["--steps", "2"]);
    with_database(&program, async |connection| {
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'from the future', 1, x'00', 0)",
        )
        .execute(connection)
        .await
        .unwrap();
    });
    program.write("c.toml", TINY_DECODER);
    for arguments in [&["runs"][..], &["train", "c.toml", "--steps", "2"]] {
        let _ = program.run(arguments).expect_code(2).expect_words(&["newer Headroom", "9999", "headroom.db"]);
    }
}

#[test]
fn a_locked_store_does_no_harm_to_training() {
    let program = program();
    let whole = program.train(TINY_DECODER, &["--steps", "300"]);
    program.write("c.toml", TINY_DECODER);
    let training = program.start(&["train", "c.toml", "--json", "--steps", "300"]);
    let run = training.wait_for("step", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    with_database(&program, async |connection| {
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut *connection).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        sqlx::query("ROLLBACK").execute(&mut *connection).await.unwrap();
    });
    let (code, last) = training.wait();
    assert_eq!(code, 0, "{last:?}");
    assert_eq!(program.curve(&run, "train/loss"), program.curve(&whole, "train/loss"));
}

#[test]
#[cfg(unix)]
fn a_store_that_may_only_be_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let program = program();
    program.train(TINY_DECODER, &["--steps", "2"]);
    program.write("c.toml", TINY_DECODER);
    let folder = program.path("store");
    let may = |mode: u32| {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o666)).unwrap();
            }
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    may(0o555);
    let runs = program.run(&["runs", "--json"]).expect_code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
    let answer = program.run(&["train", "c.toml", "--steps", "2"]);
    may(0o755);
    // The superuser may write anywhere.
    if answer.code != 0 {
        let _ = answer.expect_code(2).expect_words(&["headroom.db", "writable", "--store"]);
    }
}

/// Sizes with which a checkpoint takes some 7 MB.
#[cfg(unix)]
const LARGE: &str = "model.width=128 model.feed_forward=512 model.layers=3 train.steps=4 train.checkpoint_every=2";

/// A shell script about to start in the program's folder; `$0` is the program.
#[cfg(unix)]
fn shell(program: &Program, line: &str) -> Command {
    let mut command = program.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", line, crate::BINARY]).current_dir(program.path(""));
    shell.envs(command.stdin(Stdio::null()).get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

#[test]
#[cfg(unix)]
fn a_checkpoint_that_cannot_be_written_whole_leaves_nothing_behind() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    // No file may grow beyond 1 MiB: the write fails in the middle of the weights.
    let line = format!("trap '' XFSZ; ulimit -f 2048; exec \"$0\" train c.toml --set {LARGE}");
    let answer = program.run_command(shell(&program, &line));
    let answer = answer.expect_words(&["checkpoint of step 2 could not be written", "model.safetensors"]);
    let shown = program.show("tiny decoder");
    // All steps were done, but there is no model of the last: going on makes it.
    let answer = answer.expect_words(&["checkpoint of the last one could not be written"]);
    assert_eq!((answer.code, &shown["state"], &shown["steps"]), (1, &"failed".into(), &4.into()));
    assert_eq!(shown["checkpoints"].as_array().unwrap().len(), 0, "{shown}");
    assert_eq!(shown["metrics"]["train/loss"]["count"], 4);
    let folder = program.path("store/runs").join(shown["id"].as_str().unwrap()).join("checkpoints");
    assert_eq!(fs::read_dir(folder).map_or(0, Iterator::count), 0, "half a checkpoint was left behind");
}

/// A disk that is too small throughout, on systems that let a test have a small disk of its own.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_cannot_hold_a_run_is_refused_with_numbers() {
    let program = program();
    program.write("c.toml", TINY_DECODER);
    fs::create_dir(program.path("disk")).unwrap();
    let line = format!(
        "mount -t tmpfs -o size=3m tmpfs disk || exit 77
         \"$0\" train c.toml --store disk --set {LARGE} >&2 && exit 78
         test ! -e disk/runs || exit 79
         exec \"$0\" runs --json --store disk"
    );
    let mut namespaced = Command::new("unshare");
    let inner = shell(&program, &line);
    namespaced.args(["--map-root-user", "--mount"]).arg(inner.get_program()).args(inner.get_args());
    namespaced.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(program.path(""));
    namespaced.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let answer = program.run_command(namespaced);
    if answer.code == 77 || answer.stderr.starts_with("unshare:") {
        println!("no disk of its own for this test here: {}", answer.stderr);
        return;
    }
    let words = ["train.keep_checkpoints", "needs about", "MiB is free", "--store", "nothing was started"];
    let answer = answer.expect_code(0).expect_words(&words);
    assert_eq!(answer.json(), serde_json::json!([]));
}
