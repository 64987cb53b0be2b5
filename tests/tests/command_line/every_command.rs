//! What every command shares: answers to scripts on every path, text from outside that cannot steer a terminal, runs of one
//! name told apart; and what the window can do, done by commands.

use std::{fs, path::Path};

use headroom_engine::text::is_deceptive;
use headroom_tests::{Answer, TINY_DECODER, sentences};
use serde_json::Value;

use crate::program;

/// A name and a note that would clear the screen, ring, turn the line around and hide.
const HOSTILE: &str = "evil\u{1b}[2J\u{7}\u{9b}31m\u{202e}txt\u{2066}\u{200b}\u{feff}";

/// The last object on standard output, of which there must be one.
#[track_caller]
fn last_object(answer: &Answer) -> Value {
    let last = answer.stdout.lines().last();
    assert!(last.is_some(), "nothing on standard output: {}", answer.stderr);
    serde_json::from_str(last.unwrap()).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_refused_command_answers_scripts_with_its_field() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "4"]);
    program.write("text.txt", sentences(20));
    program.write("c.toml", TINY_DECODER);
    program.write("broken.toml", "format = 1\n[model\n");
    program.write("a-file", "x");
    fs::create_dir_all(program.path("empty")).unwrap();
    fs::create_dir_all(program.path("other")).unwrap();
    program.write("other/headroom.db", "this is no database, and long enough to be looked at as one");
    let run = run.as_str();
    let table: &[(&[&str], i32, &str)] = &[
        (&["fly"], 2, "fly"),
        (&["train", "c.toml", "--steps", "many"], 2, "--steps"),
        (&["train", "c.toml", "--steps", "99999999999999999999999"], 2, "--steps"),
        (&["train", "c.toml", "--color"], 2, "--color"),
        (&["show"], 2, "run"),
        (&["train"], 2, "config"),
        (&["train", "nothing.toml"], 2, "config"),
        (&["train", "broken.toml"], 2, "config"),
        (&["train", "empty"], 2, "config"),
        (&["train", "c.toml", "--set", "model.layer=2"], 2, "model.layer"),
        (&["train", "c.toml", "--set", "data.sequence_lenght=2"], 2, "data.sequence_lenght"),
        (&["train", "c.toml", "--set", "model.norm=foo"], 2, "model.norm"),
        (&["train", "c.toml", "--set", "model.layers=0"], 2, "model.layers"),
        (&["train", "c.toml", "--set", "model.layers=99999999999999999999"], 2, "model.layers"),
        (&["train", "c.toml", "--set", "model.layers"], 2, "model.layers"),
        (&["train", "c.toml", "--set", "data.kind=file", "data.path=gone.txt"], 2, "data.path"),
        (&["train", "c.toml", "--device", "gpu"], 2, "device"),
        (&["estimate", "broken.toml"], 2, "config"),
        (&["estimate", "c.toml", "--set", "train.batch=-1"], 2, "train.batch"),
        (&["resume", "nobody"], 2, "run"),
        (&["runs", "--store", "other/headroom.db"], 2, "store"),
        (&["runs", "--store", "gone/headroom.db"], 2, "store"),
        (&["show", "nobody"], 2, "run"),
        (&["show", "empty"], 2, "run"),
        (&["show", "no/such/folder"], 2, "run"),
        (&["compare", run, "nobody"], 2, "run"),
        (&["compare", run, run, "--metric", "validation/los"], 2, "--metric"),
        (&["compare", "--tag", "race:none"], 2, "--tag"),
        (&["eval", "nobody"], 2, "run"),
        (&["eval", "empty"], 2, "--data"),
        (&["eval", run, "--data", "gone.txt"], 2, "--data"),
        (&["eval", run, "--which", "100"], 2, "run"),
        (&["eval", run, "--coverage", "partial:j=2"], 2, "--coverage"),
        (&["generate", "nobody", "--prompt", "a"], 2, "run"),
        (&["generate", run], 2, "--prompt"),
        (&["generate", run, "--prompt", ""], 2, "--prompt"),
        (&["generate", run, "--ids", "5,99999"], 2, "--ids"),
        (&["generate", run, "--input", "gone.txt"], 2, "--input"),
        (&["convert", run, "--to", "new", "--collaborative", "--d-k", "0"], 2, "--d-k"),
        (&["convert", run, "--to", "new", "--grouped", "3"], 2, "--grouped"),
        (&["convert", run, "--to", "new", "--borrow", "1.5"], 2, "--borrow"),
        (&["generate", run, "--prompt", "a", "--beam", "0"], 2, "search"),
        (&["export", run, "--to", "a-file"], 2, "--to"),
        (&["export", run, "--to", "x", "--which", "77"], 2, "--which"),
        (&["analyse", "nobody"], 2, "run"),
        (&["analyse", run, "--live"], 2, "--live"),
        (&["analyse", run, "--out", "a-file"], 2, "--out"),
        (&["analyses", "nobody"], 2, "run"),
        (&["analyses", "show", "12"], 2, "analysis"),
        (&["advise", run], 2, "run"),
        (&["advise", "nobody"], 2, "run"),
        (&["domains", "nothing.toml"], 2, "config"),
        (&["race", "c.toml"], 2, "--variant"),
        (&["race", "c.toml", "--families", "symetric"], 2, "--families"),
        (&["sweep", "c.toml", "--over", "model.layers"], 2, "--over"),
        (&["presets", "gramar-decoder"], 2, "name"),
        (&["bench", "show", "nothing"], 2, "benchmark"),
        (&["bench", "step", "--steps", "0"], 2, "--steps"),
        (&["bench", "sweep", "c.toml", "--axis", "model.layers"], 2, "--axis"),
        (&["bench", "delete", "nothing"], 2, "benchmark"),
        (&["devices", "--check", "abacus"], 2, "--check"),
        (&["rename", "nobody", "x"], 2, "run"),
        (&["rename", run, " "], 2, "name"),
        (&["tag", run, "--remove", "missing"], 2, "--remove"),
        (&["note", "nobody", "x"], 2, "run"),
        (&["archive", "nobody"], 2, "run"),
        (&["delete", run, "nobody"], 2, "run"),
        (&["restore", run], 2, "run"),
        (&["chart", run, "--out", "a-file"], 2, "--out"),
        (&["chart", run, "--metric", "validation/los", "--out", "charts"], 2, "--metric"),
        (&["chart", run, "--x", "parsecs", "--out", "charts"], 2, "--x"),
        (&["chart", run, "--group", "sead", "--out", "charts"], 2, "--group"),
        (&["chart", run, "--against", "parametres", "--out", "charts"], 2, "--against"),
        (&["maps", run, "--layer", "9", "--out", "maps"], 2, "--layer"),
        (&["maps", "nobody", "--out", "maps"], 2, "run"),
        (&["mixing", run, "--out", "mixing"], 2, "run"),
    ];
    for (arguments, code, field) in table {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let answer = program.run(&arguments);
        assert_eq!(answer.code, *code, "{arguments:?}\nstdout: {}\nstderr: {}", answer.stdout, answer.stderr);
        assert_eq!(answer.stdout.lines().count(), 1, "{arguments:?}: {}", answer.stdout);
        let told = last_object(&answer);
        assert_eq!(told["event"], if *code == 2 { "refused" } else { "failed" }, "{arguments:?}: {told}");
        let problems = told["problems"].as_array().unwrap();
        assert!(problems.iter().any(|problem| problem["field"] == *field), "{arguments:?}: no {field} in {told}");
        for problem in problems {
            assert!(problem["message"].as_str().unwrap().len() > 10, "{arguments:?}: {told}");
        }
        assert!(!answer.stderr.is_empty(), "{arguments:?} says nothing to people");
    }
    assert!(table.len() >= 60);
    let shown = program.show(run);
    assert_eq!((&shown["name"], &shown["deleted_ms"]), (&"tiny decoder".into(), &Value::Null), "nothing was changed");
}

#[test]
fn weights_that_are_no_numbers_are_a_failure_with_their_name() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    program.write("text.txt", sentences(50));
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let path = program.path("model/model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let json: Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    let name = "transformer.h.1.mlp.c_fc.weight";
    let at = 8 + header + json[name]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    // Its checksum would tell that it was edited; a directory from elsewhere has none.
    fs::remove_file(program.path("model/headroom.json")).unwrap();
    let answer = program.run(&["eval", "model", "--data", "text.txt", "--json"]).expect_code(1).expect_words(&[name]);
    let told = last_object(&answer);
    assert_eq!((&told["event"], &told["problems"][0]["field"]), (&"failed".into(), &"run".into()), "{told}");
    assert!(told["why"].as_str().unwrap().contains(name), "{told}");
}

#[test]
fn no_text_from_outside_reaches_a_terminal_raw() {
    let program = program();
    let store = program.store_path();
    let hostile_name = format!("{HOSTILE}\nFinished: all is well");
    let run = program.train(TINY_DECODER, &["--steps", "4", "--name", "plain"]);
    let _ = program.train(TINY_DECODER, &["--steps", "4", "--name", "other"]);
    let _ = program.run(&["rename", &run, &hostile_name]).expect_code(0);
    let _ = program.run(&["note", &run, HOSTILE]).expect_code(0);
    let _ = program.run(&["tag", &run, "--add", HOSTILE]).expect_code(0);
    let hostile_folder = program.path("fol\u{1b}]0;x\u{7}der\u{202e}");
    let folder = hostile_folder.to_str().unwrap();
    for arguments in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", &run],
        &["show", &run, "--json"],
        &["show", &run, "--config"],
        &["compare", &run, "other"],
        &["compare", &run, "other", "--csv"],
        &["compare", "--tag", HOSTILE],
        &["compare", "--tag", HOSTILE, "--csv"],
        &["compare", "--tag", HOSTILE, "--json"],
        &["tag", &run],
        &["note", &run],
        &["archive", &run],
        &["archive", &run, "--undo", "--json"],
        &["rename", &run, HOSTILE],
        &["show", HOSTILE],
        &["show", "nobody\u{1b}[2J"],
        &["show", "nobody\u{1b}[2J", "--json"],
        &["fly\u{1b}[2J\u{202e}"],
        &["fly\u{1b}[2J\u{202e}", "--json"],
        &["train", "no\u{9b}31mconfig"],
        &["train", "-", "--set", "model.\u{1b}[2J=2"],
        &["export", &run, "--to", folder],
        &["eval", folder, "--data", "gone\u{202e}.txt"],
        &["eval", &run, "--data", "gone\u{202e}.txt", "--json"],
        &["generate", folder, "--prompt", HOSTILE],
        &["generate", &run, "--input", "gone\u{202e}.txt", "--json"],
        &["generate", &run, "--prompt", HOSTILE],
        &["runs", "--store", folder],
        &["delete", &run],
        &["restore", &run],
        &["analyses", &run],
    ] {
        let answer = program.run_with_input(arguments, TINY_DECODER);
        for (stream, text) in [("standard output", &answer.stdout), ("standard error", &answer.stderr)] {
            let raw: Vec<char> = text.chars().filter(|c| is_deceptive(*c) && *c != '\n' && *c != '\t').collect();
            assert!(raw.is_empty(), "{arguments:?} prints {raw:?} on {stream}: {text:?}");
        }
        // A name cannot begin a line of its own.
        assert!(!answer.stdout.lines().any(|line| line.starts_with("Finished: all is well")), "{}", answer.stdout);
    }
    let shown = program.show(&run);
    assert_eq!(shown["note"], HOSTILE, "escapes of JSON mean the same");
    assert!(program.run(&["show", &run]).expect_code(0).stdout.contains("\\u{1b}[2J"), "it is told what is there");
    assert!(store.exists());
}

#[test]
fn no_spreadsheet_runs_a_name() {
    let program = program();
    let formula = "=HYPERLINK(\"http://x\",\"y\")";
    let first = program.train(TINY_DECODER, &["--steps", "4", "--name", formula]);
    let second = program.train(TINY_DECODER, &["--steps", "4", "--name", "@SUM(A1)", "--set", "train.batch=2"]);
    for run in [&first, &second] {
        let _ = program.run(&["tag", run, "--add", "t"]).expect_code(0);
    }
    let compared = program.run(&["compare", &first, &second, "--csv"]).expect_code(0).stdout;
    let tagged = program.run(&["compare", "--tag", "t", "--csv"]).expect_code(0).stdout;
    let _ = program.run(&["chart", &first, &second, "--metric", "train/loss", "--out", "charts"]).expect_code(0);
    let chart = fs::read_to_string(program.path("charts/train-loss.csv")).unwrap();
    for csv in [&compared, &tagged, &chart] {
        assert!(csv.contains("'=HYPERLINK") && csv.contains("'@SUM"), "{csv}");
        assert!(!csv.contains(",=") && !csv.contains(",\"=") && !csv.contains(",@"), "{csv}");
    }
    // Differences stay numbers.
    assert!(compared.contains(",-") && !compared.contains(",'-"), "{compared}");
    assert!(tagged.lines().count() == 3 && tagged.starts_with("variant,runs,not_judged,"), "{tagged}");
}

#[test]
fn what_is_written_about_runs_is_changed_by_commands() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "4"]);
    let run = run.as_str();
    let edited = |arguments: &[&str]| {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let told = program.run(&arguments).expect_code(0).json();
        told["runs"][0].clone()
    };
    assert_eq!(edited(&["rename", run, " a new name "])["name"], "a new name");
    assert_eq!(
        edited(&["tag", "a new name", "--add", "one", "--add", "two"])["tags"],
        serde_json::json!(["one", "two"])
    );
    assert_eq!(edited(&["tag", run, "--remove", "one"])["tags"], serde_json::json!(["two"]));
    assert_eq!(edited(&["note", run, "worth another look"])["note"], "worth another look");
    let _ = program.run_with_input(&["note", run, "-"], "two\nlines\n").expect_code(0);
    assert_eq!(program.run(&["note", run]).expect_code(0).stdout, "two\nlines\n");
    assert_eq!(edited(&["archive", run])["archived"], true);
    assert_eq!(program.run(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 0);
    assert_eq!(edited(&["archive", "--undo", run])["archived"], false);
    assert!(edited(&["delete", run])["deleted_ms"].is_i64());
    let _ = program.run(&["show", "a new name"]).expect_code(2);
    assert_eq!(edited(&["restore", "a new name"])["deleted_ms"], Value::Null);
    assert_eq!(program.show("a new name")["note"], "two\nlines");
    let toml = program.run(&["show", run, "--config"]).expect_code(0).stdout;
    let again = program.run_with_input(&["train", "-", "--json"], &toml).expect_code(0);
    assert_eq!(again.events().pop().unwrap()["name"], "tiny decoder", "a config is printed to be trained again");
}

#[test]
fn runs_of_one_name_are_told_apart() {
    let program = program();
    let [first, second] = ["1", "2"].map(|seed| program.train(TINY_DECODER, &["--steps", "2", "--seed", seed]));
    let answer = program.run(&["show", "tiny decoder"]).expect_code(2);
    let _ = answer.expect_words(&["#1", "#2", "seed 1", "seed 2", "just now", "tiny decoder@newest"]);
    for (query, run) in [
        ("tiny decoder@seed=1", &first),
        ("tiny decoder@seed=2", &second),
        ("tiny decoder@newest", &second),
        ("tiny@oldest", &first),
        ("@newest", &second),
        ("#1", &first),
    ] {
        assert_eq!(program.show(query)["id"], run.as_str(), "{query}");
    }
    let _ = program.run(&["show", "tiny decoder@seed=7"]).expect_code(2).expect_words(&["seed 1"]);
    let listed = program.run(&["runs"]).expect_code(0).stdout;
    assert!(listed.contains("tiny decoder, seed 1") && listed.contains("tiny decoder, seed 2"), "{listed}");
}

#[test]
fn runs_are_listed_by_a_filter_and_with_columns_of_their_configs() {
    let program = program();
    let wide = TINY_DECODER.replace("width = 16", "width = 32");
    assert_ne!(wide, TINY_DECODER);
    let narrow = program.train(TINY_DECODER, &["--steps", "2", "--name", "narrow one"]);
    let wide = program.train(&wide, &["--steps", "2", "--name", "wide one"]);
    let _ = program.run(&["tag", &wide, "--add", "paper"]).expect_code(0);
    let listed = |arguments: &[&str]| {
        let text = program.run(arguments).expect_code(0).stdout;
        [narrow.as_str(), wide.as_str()].map(|run| text.contains(run))
    };
    assert_eq!(listed(&["runs", "--filter", "model.width<20"]), [true, false]);
    assert_eq!(listed(&["runs", "--filter", "tag=paper and steps=2"]), [false, true]);
    assert_eq!(listed(&["runs", "--filter", "narrow"]), [true, false]);
    let none = program.run(&["runs", "--filter", "nothing like it"]).expect_code(0).stdout;
    assert_eq!(none, "No run matches the filter.\n");
    let table = program.run(&["runs", "--columns", "model.width,tag,data.kind"]).expect_code(0).stdout;
    for word in ["model.width", "data.kind", "paper", "32", "16", "grammar"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    assert!(!table.contains("training time"), "the columns that were asked for alone: {table}");
    let whole = ["model.width", "train.steps", "seed", "data.words", "train.learning_rate"];
    let table = program.run(&["runs", "--filter", "wide", "--columns", &whole.join(",")]).expect_code(0).stdout;
    let row = table.lines().find(|row| row.contains(wide.as_str())).unwrap();
    let cells: Vec<&str> = row.split_whitespace().rev().take(whole.len()).collect();
    let rate: f64 = cells[0].parse().unwrap();
    assert_eq!((&cells[1..], rate < 1.0), (&["4,000", "3", "2", "32"][..], true), "{table}");
    let told =
        program.run(&["runs", "--json", "--filter", "wide", "--columns", "model.width,tag"]).expect_code(0).json();
    assert_eq!(told.as_array().unwrap().len(), 1);
    assert_eq!(told[0]["columns"], serde_json::json!({"model.width": 32.0, "tag": ["paper"]}));
    // What cannot be used says where and what may be meant.
    let _ = program.run(&["runs", "--filter", "loss<"]).expect_code(2).expect_words(&["At letter 5"]);
    let _ = program.run(&["runs", "--columns", "modl.width"]).expect_code(2).expect_words(&["model.width"]);
    let refused = program.run(&["runs", "--json", "--filter", "modl.width=3"]).expect_code(2).json();
    assert_eq!(refused["problems"][0]["field"], "--filter");
}

#[test]
fn figures_of_the_window_are_written_by_commands() {
    let program = program();
    let collaborative =
        TINY_DECODER.replace("[train]", "[attention]\ncompatibility = { kind = \"collaborative\", d_k = 8 }\n[train]");
    let runs = ["1", "2"].map(|seed| program.train(&collaborative, &["--steps", "20", "--seed", seed]));
    let [first, second] = [runs[0].as_str(), runs[1].as_str()];
    let told = program.run(&[
        "chart",
        first,
        second,
        "--metric",
        "train/loss",
        "--metric",
        "validation/loss",
        "--x",
        "tokens",
        "--difference",
        "--out",
        "charts",
        "--json",
    ]);
    let told = told.expect_code(0).json();
    let charts = ["train-loss", "train-loss-difference", "validation-loss", "validation-loss-difference"];
    assert_eq!(told["charts"], serde_json::json!(charts));
    assert_eq!((&told["files"], files(&program.path("charts")).len()), (&12.into(), 12));
    let csv = fs::read_to_string(program.path("charts/train-loss.csv")).unwrap();
    let svg = fs::read_to_string(program.path("charts/train-loss.svg")).unwrap();
    assert!(csv.starts_with("Tokens,\"tiny decoder, seed 1\"") && svg.contains("tiny decoder, seed 2"), "{csv}");
    let last: f64 = csv.lines().last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
    let stored = program.show(first)["metrics"]["train/loss"]["last"].as_f64().unwrap();
    assert_eq!(last.to_bits(), stored.to_bits(), "the values themselves: {last} {stored}");
    let _ =
        program.run(&["chart", first, second, "--group", "seed", "--band", "ci95", "--out", "grouped"]).expect_code(0);
    let grouped = fs::read_to_string(program.path("grouped/validation-loss.csv")).unwrap();
    assert!(grouped.contains("tiny decoder (n = 2)") && grouped.contains("(low)"), "{grouped}");

    let scatter = ["chart", first, second, "--against", "step_time", "--out", "scatter", "--json"];
    let told = program.run(&scatter).expect_code(0).json();
    assert_eq!(told["charts"], serde_json::json!(["validation-loss-against-step_time"]), "{told}");
    let svg = fs::read_to_string(program.path("scatter/validation-loss-against-step_time.svg")).unwrap();
    assert!(svg.contains("Step time (ms)") && svg.contains("tiny decoder (n = 2)") && svg.contains("Front"), "{svg}");

    let told = program.run(&["maps", first, "--layer", "1", "--out", "maps", "--json"]).expect_code(0).json();
    assert_eq!((&told["layers"], &told["heads"], &told["files"]), (&2.into(), &2.into(), &6.into()), "{told}");
    let rows = fs::read_to_string(program.path("maps/map-L1H0.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + told["tokens"].as_array().unwrap().len());
    let sum: f64 = rows.lines().last().unwrap().rsplit(',').take(16).filter_map(|cell| cell.parse::<f64>().ok()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "the last query sees all keys: {sum}");
    let _ = program.run(&["export", first, "--to", "model"]).expect_code(0);
    let of_directory = ["maps", "model", "--text", "the old river", "--head", "0", "--out", "written"];
    let _ = program.run(&of_directory).expect_code(0);
    assert_eq!(files(&program.path("written")).len(), 6);
    // By the config that lies in it, it reads what its run read; with that of another program alone it has no text.
    let own = ["maps", "model", "--layer", "1", "--out", "own", "--json"];
    assert_eq!(program.run(&own).expect_code(0).json()["tokens"], told["tokens"]);
    fs::create_dir(program.path("elsewhere")).unwrap();
    fs::copy(program.path("model/config.json"), program.path("elsewhere/config.json")).unwrap();
    let _ = program.run(&["maps", "elsewhere", "--out", "x"]).expect_code(2).expect_words(&["--text", "--data"]);
    // Examples of a file, and maps restored from pairs that an analysis of it chose.
    fs::write(program.path("text.txt"), "the old river sees her letter and forgets .\n".repeat(200)).unwrap();
    let of_file = ["maps", "model", "--data", "text.txt", "--example", "2", "--head", "0", "--out", "read", "--json"];
    let told = program.run(&of_file).expect_code(0).json();
    assert_eq!(told["tokens"].as_array().unwrap().len(), 16, "as long as in training: {told}");
    let look = ["analyse", "model", "--data", "text.txt", "--reconstruction", "--examples", "12", "--json"];
    let found = program.run(&look).expect_code(0).json();
    let id = found["analysis"].as_str().unwrap();
    let rebuilt = ["maps", "model", "--rebuild", id, "--pairs", "4", "--layer", "0", "--head", "1", "--out", "rebuilt"];
    let _ = program.run(&rebuilt).expect_code(0);
    assert_eq!(files(&program.path("rebuilt")).len(), 9, "true, rebuilt, and their difference");
    assert!(found["result"]["text"].is_object(), "what it read is kept with it: {}", found["result"]["text"]);

    let told = program.run(&["mixing", first, "--out", "mixing", "--json"]).expect_code(0).json();
    assert_eq!((&told["step"], &told["layers"]), (&20.into(), &serde_json::json!([0, 1])), "{told}");
    let matrix = fs::read_to_string(program.path("mixing/mixing-L0.csv")).unwrap();
    assert_eq!(matrix.lines().count(), 3, "a row a head: {matrix}");
    assert_eq!(matrix.lines().next().unwrap().split(',').count(), 9, "a column a shared dimension: {matrix}");
}

#[test]
fn a_model_directory_is_shown() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "4"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let facts = program.run(&["show", "model", "--json"]).expect_code(0).json();
    let whole = program.show(&run);
    assert_eq!(facts["parameters"], whole["parameters"]);
    assert_eq!((&facts["layers"], &facts["class"]), (&2.into(), &"GPT2LMHeadModel".into()), "{facts}");
    assert_eq!(facts["config"]["model"]["width"], 16);
    let counted: u64 = facts["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tensor| tensor["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).product::<u64>())
        .sum();
    assert_eq!(facts["parameters"], counted);
    let text = program.run(&["show", "model"]).expect_code(0).stdout;
    for word in ["transformer.h.0.", "model.safetensors", "decoder", "weights alone", "[model]"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let toml = program.run(&["show", "model", "--config"]).expect_code(0).stdout;
    assert!(toml.contains("format = 1"), "{toml}");
    let last = whole["checkpoints"][0]["path"].as_str().unwrap().to_owned();
    let kept = program.run(&["show", &last, "--json"]).expect_code(0).json();
    assert!(kept["training"]["step"].as_u64().is_some(), "a checkpoint says how far it came: {kept}");
}

#[test]
fn analyses_are_listed_shown_deleted_and_brought_back() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "4", "--set", "probe.every=2"]);
    let look = ["analyse", &run, "--similarity", "--reconstruction", "--examples", "32", "--json"];
    let id = program.run(&look).expect_code(0).json()["analysis"].as_str().unwrap().to_owned();
    let listed = program.run(&["analyses", &run, "--json"]).expect_code(0).json();
    assert_eq!(listed["analyses"][0]["id"], id.as_str());
    // Looks between may be left out, for the time that they take.
    let live: Vec<u64> = listed["live_steps"].as_array().unwrap().iter().map(|step| step.as_u64().unwrap()).collect();
    assert!(live.first() == Some(&0) && live.last() == Some(&4), "{live:?}");
    assert!(program.run(&["analyses"]).expect_code(0).stdout.contains(&id));
    let shown = program.run(&["analyses", "show", "#1", "--out", "out", "--json"]).expect_code(0).json();
    assert_eq!(shown["analysis"], id.as_str());
    assert!(files(&program.path("out")).iter().any(|name| name == "analysis.json"));
    let _ = program
        .run(&["maps", &run, "--rebuild", &id, "--pairs", "4", "--layer", "0", "--head", "1", "--out", "rebuilt"])
        .expect_code(0);
    assert_eq!(files(&program.path("rebuilt")).len(), 9, "{:?}", files(&program.path("rebuilt")));
    let _ = program.run(&["analyses", "delete", &id]).expect_code(0);
    let _ = program.run(&["analyses", "show", &id]).expect_code(2);
    let _ = program.run(&["analyses", "restore", &id]).expect_code(0);
    let _ = program.run(&["analyses", "show", &id[..9]]).expect_code(0);
}

#[test]
fn a_kind_that_changes_drops_the_fields_of_the_one_before_with_a_word() {
    let program = program();
    let bpe = TINY_DECODER.replace("{ kind = \"bytes\" }", "{ kind = \"bpe\", vocabulary = 300 }");
    let answer = program.run_with_input(&["estimate", "-", "--set", "data.tokenizer.kind=bytes"], &bpe).expect_code(0);
    let _ = answer.expect_words(&["data.tokenizer.kind is now bytes", "vocabulary = 300"]);
}

#[test]
fn a_run_may_be_evaluated_after_its_last_step_alone() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "10", "--set", "train.evaluate_every=0"]);
    let shown = program.show(&run);
    let loss = &shown["metrics"]["validation/loss"];
    assert_eq!((&loss["last_step"], &loss["best_step"]), (&10.into(), &10.into()), "{loss}");
    let _ = program.run(&["eval", &run]).expect_code(0);
}
