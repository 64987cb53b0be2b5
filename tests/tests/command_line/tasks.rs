//! Tasks: classification and regression on tables of texts here, questions in `spans`, early ends and frozen parts
//! in `stopping`; from the config to the export, through the command line.

mod images;

use std::fmt::Write as _;

use headroom_tests::{Answer, Program};
use serde_json::Value;

use crate::program;

mod inputs;
mod spans;
mod stopping;

/// A tiny encoder on a table of two texts.
const CONFIG: &str = r#"
format = 1
name = "tiny task"
seed = 3
threads = 2
[data]
kind = "table"
path = "train.tsv"
validation_path = "dev.tsv"
text = ["first", "second"]
label = "label"
sequence_length = 96
tokenizer = { kind = "bytes" }
[task]
kind = "classification"
[model]
kind = "encoder"
layers = 2
heads = 2
width = 32
feed_forward = 64
norm = "post"
dropout = 0.1
[train]
steps = 120
batch = 16
learning_rate = 2e-3
evaluate_every = 40
stability = { kind = "off" }
[probe]
every = 60
examples = 2
"#;

const ANIMALS: [&str; 5] = ["dog", "cat", "horse", "bird", "fish"];

/// Rows in which the last word of the first text says the label.
fn table(rows: usize, first: usize, label: impl Fn(usize) -> String) -> String {
    let mut table = "id\tlabel\tfirst\tsecond\n".to_owned();
    for row in first..first + rows {
        let word = if row.is_multiple_of(2) { "good" } else { "poor" };
        let more = vec!["very"; row % 7].join(" ");
        let (animal, other) = (ANIMALS[row % 5], ANIMALS[(row / 5) % 5]);
        writeln!(table, "{row}\t{}\tthe {animal} is {more} {word}\t\"the {other}", label(row)).unwrap();
    }
    table
}

fn classes(row: usize) -> String {
    if row.is_multiple_of(2) { "yes".to_owned() } else { "no".to_owned() }
}

fn with_tables(label: fn(usize) -> String) -> Program {
    let program = program();
    program.write("train.tsv", table(400, 0, label));
    program.write("dev.tsv", table(60, 1000, label));
    program.write("c.toml", CONFIG);
    program
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn settings(program: &Program, folder: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(program.path(folder).join("config.json")).unwrap()).unwrap()
}

/// A held-out row and the same pair written by hand give the same map, and one text that spells what stands between them another.
#[test]
fn maps_of_a_pair_know_which_text_a_token_is_of() {
    let program = with_tables(classes);
    program.write("one.tsv", "id\tlabel\tfirst\tsecond\n0\tyes\tthe dog is good\tthe bird\n");
    let run = program.train(CONFIG, &["--steps", "8", "--set", "data.validation_path=one.tsv", "probe.every=0"]);
    let map = |option: &str, what: &str, folder: &str| {
        let wanted = ["maps", &run, option, what, "--layer", "1", "--head", "0", "--out", folder];
        let _ = program.run(&wanted).expect_code(0);
        std::fs::read_to_string(program.path(folder).join("map-L1H0.csv")).unwrap()
    };
    let row = map("--example", "1", "row");
    assert_eq!(map("--text", "the dog is good\tthe bird", "pair"), row);
    let one = map("--text", "the dog is good[SEP]the bird", "one");
    let header = |map: &str| map.lines().next().unwrap().to_owned();
    assert_eq!(header(&one), header(&row).replacen("[SEP]", "[,S,E,P,]", 1), "a [SEP] that is typed is text");
}

/// A text of one's own takes the model and its tokenizer: the file that it learnt from may be gone, and pairs stay pairs.
#[test]
fn maps_of_a_text_of_ones_own_do_not_need_the_text_of_the_run() {
    let program = with_tables(classes);
    let run = program.train(CONFIG, &["--steps", "8", "--set", "probe.every=0"]);
    let map = |text: &str, folder: &str| {
        let wanted = ["maps", &run, "--text", text, "--layer", "1", "--head", "0", "--out", folder, "--json"];
        let told = program.run(&wanted).expect_code(0).json();
        (told["step"].clone(), std::fs::read_to_string(program.path(folder).join("map-L1H0.csv")).unwrap())
    };
    let pair = map("the dog is good\tthe bird", "before");
    for table in ["train.tsv", "dev.tsv"] {
        std::fs::remove_file(program.path(table)).unwrap();
    }
    assert_eq!(map("the dog is good\tthe bird", "after"), pair);
    assert_ne!(map("the dog is good[SEP]the bird", "one").1, pair.1, "one text");
    let example = program.run(&["maps", &run, "--example", "1", "--out", "example", "--json"]);
    assert_ne!(example.code, 0, "a held-out example is read of the table");
}

/// What a model gets wrong is told as its table has it, not as its tokenizer joins the pieces.
#[test]
fn mistakes_are_told_in_the_words_of_their_table() {
    let program = program();
    let line = |row: usize, [first, second]: &[String; 2]| format!("{row}\t{}\t{first}\t{second}\n", classes(row));
    let table = |rows: &[[String; 2]]| {
        let lines: Vec<String> = rows.iter().enumerate().map(|(row, texts)| line(row, texts)).collect();
        format!("id\tlabel\tfirst\tsecond\n{}", lines.concat())
    };
    let learnt: Vec<[String; 2]> = (0..400)
        .map(|row| {
            let word = |by: usize| format!("{:06x}", row * by % 16_777_213);
            [format!("the heavy hand {} {}", word(7_919_317), word(104_729)), format!("it {}", word(1_299_709))]
        })
        .collect();
    let held_out: Vec<[String; 2]> = (0..20)
        .map(|row| [format!("The {row} heavy-handed dogs can't (see)"), format!("it's \u{201C}{row:x}\u{201D}")])
        .collect();
    program.write("train.tsv", table(&learnt));
    program.write("dev.tsv", table(&held_out));
    let config = CONFIG.replace("{ kind = \"bytes\" }", "{ kind = \"word_piece\", vocabulary = 300 }");
    let run = program.train(&config, &["--steps", "8", "--set", "probe.every=0"]);
    let judge = ["eval", &run, "--json", "--which", "last", "--mistakes", "100"];
    let found = program.run(&judge).expect_code(0).json();
    let wrong = found["mistakes"].as_array().unwrap();
    assert!(!wrong.is_empty(), "{found}");
    for mistake in wrong {
        let texts: Vec<&str> = mistake["texts"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let row = held_out.iter().position(|row| row[..] == texts[..]);
        assert_eq!(row.map(classes).as_deref(), mistake["right"].as_str(), "{texts:?}");
    }
}

#[test]
fn examples_are_previewed_as_the_tokens_of_the_model_to_begin_with() {
    let program = with_tables(classes);
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let seen = |initial: &str| {
        let config = CONFIG.replace("tokenizer = { kind = \"bytes\" }", "tokenizer = { kind = \"initial\" }");
        program.write("further.toml", config.replace("[model]", &format!("[model]\ninitial = \"{initial}\"")));
        let found = program.run(&["preview", "further.toml", "--json"]).expect_code(0).json();
        found["examples"][0]["tokens"].clone()
    };
    let tokens = seen("model");
    let tokens: Vec<&str> = tokens.as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!(tokens.first(), Some(&"[CLS]"), "{tokens:?}");
    assert_eq!(tokens.iter().filter(|token| **token == "[SEP]").count(), 2, "{tokens:?}");
    for query in [run.as_str(), "tiny task"] {
        assert_eq!(seen(query), serde_json::json!(tokens), "the tokenizer of the run {query}");
    }
    assert!(seen("nowhere").is_null(), "nothing is known of it");
}

#[test]
fn a_classifier_is_trained_evaluated_asked_exported_and_begun_with() {
    let program = with_tables(classes);
    let events = program.run(&["train", "c.toml", "--json"]).expect_code(0).events();
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished", "{last}");
    let run = last["run"].as_str().unwrap();
    let evaluated: Vec<&Value> = events.iter().filter(|event| event["event"] == "evaluated").collect();
    for field in ["loss", "accuracy", "f1", "matthews"] {
        assert!(evaluated.iter().all(|event| event[field].is_number()), "{field}");
    }
    let sample = events.iter().rfind(|event| event["event"] == "sample").unwrap();
    assert!(sample["text"].as_str().unwrap().contains("\u{2192} "), "{sample}");
    let shown = program.show(run);
    let of = |series: &str| number(&shown["metrics"][series]["last"]);
    assert!(of("validation/accuracy") > 0.95, "{}", shown["metrics"]);
    assert!(of("data/padding_share") < 0.1, "{}", shown["metrics"]);
    // From the checkpoint, on the run's rows and on a file; the metrics as a map, too.
    let found = program.run(&["eval", run, "--json", "--which", "last"]).expect_code(0).json();
    assert!((number(&found["metrics"]["accuracy"]) - of("validation/accuracy")).abs() < 1e-9, "{found}");
    assert!((number(&found["loss"]) - of("validation/loss")).abs() < 1e-6, "{found}");
    assert_eq!((&found["unit"], &found["tokens"]), (&"nats per example".into(), &60.into()));
    let again = program.run(&["eval", run, "--data", "dev.tsv", "--json", "--which", "last"]).expect_code(0).json();
    assert_eq!((&again["loss"], &again["metrics"]), (&found["loss"], &found["metrics"]));
    // Other columns are chosen by options here, and not by fields of a config.
    for (head, option) in [("sentence\tlabel\tsecond", "Set --text to"), ("first\tgrade\tsecond", "Set --label to")] {
        program.write("other.tsv", format!("{head}\nthe dog is good\tyes\tthe cat\n"));
        let refused = program.run(&["eval", run, "--data", "other.tsv"]).expect_code(2).expect_words(&[option]);
        assert!(!refused.stderr.contains("Set data."), "{}", refused.stderr);
    }
    let said = program.run(&["eval", run]).expect_code(0).stdout;
    assert!(said.contains("nats per example, on 60 examples") && said.contains("of examples right"), "{said}");
    // What `transformers` opens as a classifier.
    let _ = program.run(&["export", run, "--to", "model", "--which", "last"]).expect_code(0);
    let config = settings(&program, "model");
    assert_eq!(config["architectures"][0], "BertForSequenceClassification");
    assert_eq!(config["id2label"], serde_json::json!({ "0": "no", "1": "yes" }));
    assert_eq!(config["label2id"], serde_json::json!({ "no": 0, "yes": 1 }));
    assert_eq!(config["problem_type"], "single_label_classification");
    let of_directory = program
        .run(&[
            "eval", "model", "--data", "dev.tsv", "--text", "first", "--text", "second", "--label", "label", "--json",
        ])
        .expect_code(0)
        .json();
    assert_eq!(of_directory["metrics"], found["metrics"]);
    // Answers, from the run and from the directory, in the order of the lines.
    program.write("in.txt", "the cat is very good\tthe dog\nthe horse is poor\tthe bird\n");
    let answers =
        |target: &str| program.run(&["predict", target, "--input", "in.txt", "--json"]).expect_code(0).events();
    let (first, second) = (answers(run), answers("model"));
    assert_eq!(first.iter().map(|answer| answer["label"].as_str().unwrap()).collect::<Vec<_>>(), ["yes", "no"]);
    assert_eq!(second.iter().map(|answer| &answer["label"]).collect::<Vec<_>>(), ["yes", "no"]);
    let sum = number(&first[0]["probabilities"]["yes"]) + number(&first[0]["probabilities"]["no"]);
    assert!((sum - 1.0).abs() < 1e-9);
    let plain = program.run_with_input(&["predict", run, "--input", "-"], "the cat is good\tthe dog\n").expect_code(0);
    assert!(plain.stdout.starts_with("yes\tno "), "{}", plain.stdout);
    for (input, words) in
        [("only one\n", "Line 1 has 1 text"), ("a\tb\nc\t\n", "Line 2 has no text"), ("", "The input is empty")]
    {
        let _ = program.run_with_input(&["predict", run, "--input", "-"], input).expect_code(2).expect_words(&[words]);
    }
    // Other classes: the map before them goes on, the classes start fresh, and that is told.
    program.write("train.tsv", table(400, 0, |row| format!("c{}", row % 2)));
    program.write("dev.tsv", table(60, 1000, |row| format!("c{}", row % 2)));
    let begun_with = |more: &[&str]| {
        let arguments = [
            &[
                "train",
                "c.toml",
                "--json",
                "--set",
                "model.initial=model",
                "--set",
                "data.tokenizer.kind=initial",
                "--set",
                "train.steps=2",
                "--set",
                "probe.every=0",
            ],
            more,
        ]
        .concat();
        let events = program.run(&arguments).expect_code(0).events();
        events.into_iter().find(|event| event["event"] == "begun_with").unwrap()["fresh"].clone()
    };
    assert_eq!(begun_with(&[]), serde_json::json!(["classifier.weight", "classifier.bias"]));
    program.write("train.tsv", table(400, 0, classes));
    program.write("dev.tsv", table(60, 1000, classes));
    assert_eq!(begun_with(&[]), serde_json::json!([]));
}

#[test]
fn numbers_are_learnt_with_their_correlations() {
    let program =
        with_tables(|row| format!("{}", if row.is_multiple_of(2) { 4.5 } else { 0.5 } + (row % 4) as f64 / 10.0));
    let run = program.train(CONFIG, &["--set", "task.kind=regression", "--steps", "300"]);
    let found = program.run(&["eval", &run, "--json", "--which", "last"]).expect_code(0).json();
    assert!(number(&found["metrics"]["pearson"]) > 0.9 && number(&found["metrics"]["spearman"]) > 0.7, "{found}");
    assert_eq!(found["unit"], "squared error per example");
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    assert_eq!(settings(&program, "model")["problem_type"], "regression");
    program.write("in.txt", "the cat is good\tthe dog\nthe cat is poor\tthe dog\n");
    let answers = program.run(&["predict", "model", "--input", "in.txt", "--json"]).expect_code(0).events();
    assert!(number(&answers[0]["value"]) > number(&answers[1]["value"]) + 1.0, "{answers:?}");
}

/// Texts before their classes, which are words, in tables of every kind, and without names of the columns.
#[test]
fn tables_of_every_kind_are_trained_on() {
    let rows = |first: usize, count: usize, row: &str| -> String {
        let of = |number: usize| {
            let class = if number.is_multiple_of(2) { "fine" } else { "poor" };
            let text = format!("the {}, which I saw, was {class}", ANIMALS[number % 5]);
            row.replace("TEXT", &text).replace("CLASS", class)
        };
        (first..first + count).map(of).collect()
    };
    for (ending, header, row, [text, label]) in [
        ("jsonl", "", "{\"text\": \"TEXT\", \"class\": \"CLASS\"}\n", ["text", "class"]),
        ("csv", "text,class\n", "\"TEXT\",CLASS\n", ["text", "class"]),
        ("csv", "", "\"TEXT\",CLASS\n", ["0", "1"]),
        ("tsv", "", "TEXT\tCLASS\n", ["0", "1"]),
    ] {
        let program = program();
        let files = ["train", "dev"].map(|part| format!("{part}.{ending}"));
        program.write(&files[0], [header, &rows(0, 40, row)].concat());
        program.write(&files[1], [header, &rows(100, 12, row)].concat());
        program.write("c.toml", CONFIG);
        let columns = [format!("data.text={text}"), format!("data.label={label}")];
        let places = [format!("data.path={}", files[0]), format!("data.validation_path={}", files[1])];
        let changes: [&str; 5] = [&columns[0], &columns[1], &places[0], &places[1], "probe.every=0"];
        let run = program.train(CONFIG, &[&["--steps", "2", "--set"], &changes[..]].concat());
        let what = format!("{ending} with {header:?}");
        let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
        assert_eq!(found["tokens"], 12, "{what}: every row, and no header: {found}");
        assert!(number(&found["loss"]).is_finite(), "{what}: {found}");
        let previewed = program.run(&[&["preview", "c.toml", "--json", "--set"], &changes[..]].concat());
        let previewed = previewed.expect_code(0).json();
        assert_eq!(previewed["answers"]["classes"], serde_json::json!([["fine", 20], ["poor", 20]]), "{what}");
        let seen = previewed["examples"][0]["texts"][0].as_str().unwrap();
        assert_eq!(seen, "the dog, which I saw, was fine", "{what}");
        let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
        assert_eq!(settings(&program, "model")["id2label"], serde_json::json!({ "0": "fine", "1": "poor" }), "{what}");
    }
}

/// Whole documents byte by byte; what stands behind the last position is cut off.
#[test]
fn texts_of_4096_bytes_are_learnt_and_judged_whole() {
    let program = program();
    // With the tokens around it a text of 4,094 bytes fills all positions.
    let text = |end: &str| format!("{}{}", "the dog ".repeat(500), end.repeat(94));
    let row = |number: usize| {
        let (class, end) = if number.is_multiple_of(2) { ("yes", "g") } else { ("no", "p") };
        format!("{class}\t{}\n", text(end))
    };
    let table = |rows: usize| format!("label\ttext\n{}", (0..rows).map(row).collect::<String>());
    program.write("train.tsv", table(4));
    program.write("dev.tsv", table(2));
    let small = ["model.layers=1", "model.heads=1", "model.width=16", "model.feed_forward=16", "train.batch=1"];
    let long = ["data.text=text", "data.sequence_length=4096", "probe.every=0"];
    let run = program.train(CONFIG, &[&["--steps", "1", "--set"], &small[..], &long].concat());
    assert!(number(&program.show(&run)["metrics"]["validation/loss"]["last"]).is_finite());
    let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    assert_eq!((&found["sequence_length"], &found["tokens"]), (&4096.into(), &2.into()));
    let asked = |text: &str| {
        let asked = ["predict", &run, "--input", "-", "--json"];
        program.run_with_input(&asked, &format!("{text}\n")).expect_code(0)
    };
    let (first, last) = (text("g"), text("p"));
    let [whole, other, longer] = [first.clone(), last, first + &"z".repeat(500)].map(|text| asked(&text));
    let answer = |told: &Answer| told.events()[0]["probabilities"].clone();
    assert_ne!(answer(&whole), answer(&other), "the last bytes are read");
    assert_eq!(answer(&whole), answer(&longer), "nothing behind them is");
    assert!(!whole.stderr.contains("cut off"), "{}", whole.stderr);
    let _ = longer.expect_words(&["1 text longer than the model reads: cut off."]);
}

/// A stop and a continuation change no bit of a curve.
#[test]
fn a_stopped_run_goes_on_along_its_curve() {
    let program = with_tables(classes);
    let whole = program.train(CONFIG, &["--steps", "40", "--set", "train.evaluate_every=10"]);
    let training = program.start(&[
        "train",
        "c.toml",
        "--json",
        "--steps",
        "40",
        "--set",
        "train.evaluate_every=10",
        "--set",
        "train.checkpoint_every=5",
    ]);
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    let _ = training.wait_for("checkpointed", |_| true).unwrap();
    training.kill();
    let _ = program.run(&["resume", &run, "--json"]).expect_code(0);
    for series in ["train/loss", "validation/loss", "validation/accuracy"] {
        assert_eq!(program.curve(&run, series), program.curve(&whole, series), "{series}");
    }
}

/// One of each kind of answer about attention.
#[test]
fn variants_of_attention_learn_tasks_too() {
    let program = with_tables(classes);
    for answer in [
        "attention.reuse={ kind = \"first\", layers = 1, heads = 1 }",
        "attention.compatibility={ kind = \"shared_weight\" }",
        "attention.coverage={ kind = \"partial\", k = 8, warmup_steps = 20 }",
    ] {
        let run = program.train(CONFIG, &["--set", answer, "--set", "probe.every=0"]);
        let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
        assert!(number(&found["metrics"]["accuracy"]) > 0.6, "{answer}: {found}");
        program.write("in.txt", "the cat is good\tthe dog\n");
        let _ = program.run(&["predict", &run, "--input", "in.txt"]).expect_code(0);
        let name = answer.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let _ = program.run(&["export", &run, "--to", &name]).expect_code(0);
        let _ = program.run(&["predict", &name, "--input", "in.txt"]).expect_code(0);
    }
}

#[test]
fn what_cannot_be_learnt_is_refused_with_file_line_and_field() {
    let program = with_tables(classes);
    let refused = |changes: &[&str], words: &[&str]| {
        let sets = changes.iter().flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> = ["train", "c.toml"].into_iter().chain(sets).collect();
        let _ = program.run(&arguments).expect_code(2).expect_words(words);
    };
    refused(&["data.text=sentence"], &["data.text", "no column `sentence`", "`first`", "train.tsv"]);
    refused(&["data.label=gold"], &["data.label", "no column `gold`"]);
    refused(&["data.label=4"], &["no column `4`"]);
    program.write("one.tsv", table(20, 0, |_| "yes".to_owned()));
    refused(&["data.path=one.tsv"], &["data.label", "all rows have the label `yes`"]);
    program.write("new.tsv", table(20, 0, |row| if row == 7 { "maybe".to_owned() } else { classes(row) }));
    refused(
        &["data.validation_path=new.tsv"],
        &["data.validation_path", "line 9 has the label `maybe`", "`no`, `yes`"],
    );
    program.write("test.tsv", table(20, 0, |_| "-1".to_owned()));
    refused(&["data.validation_path=test.tsv"], &["headroom predict"]);
    program.write("short.tsv", "label\tfirst\tsecond\nyes\ta\tb\nno\ta\n");
    refused(&["data.path=short.tsv"], &["line 3 has 2 cells", "column `second` (data.text)"]);
    // The columns are those of the training table: what the held-out one lacks is told there.
    program.write("held.tsv", "label\tother\nyes\ta\nno\tb\n");
    refused(&["data.validation_path=held.tsv"], &["data.validation_path: there is no column `first`", "held.tsv"]);
    program.write("empty.tsv", "");
    refused(&["data.path=empty.tsv"], &["no text in it"]);
    refused(&["model.kind=decoder"], &["model.kind", "encoder"]);
    refused(&["data.kind=grammar"], &["data.kind", "table"]);
    refused(&["task.kind=spam"], &["task.kind", "classification, regression"]);
    refused(&["task.kind=regression"], &["data.label", "which is no finite number"]);
    let without_task = CONFIG.replace("[task]\nkind = \"classification\"\n", "");
    program.write("no_task.toml", without_task);
    let _ = program.run(&["train", "no_task.toml"]).expect_code(2).expect_words(&["task.kind", "classification"]);
    // A model that answers takes no text, and one of language no table.
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    program.write("plain.txt", "some words\n");
    let _ = program.run(&["generate", &run, "--prompt", "x"]).expect_code(2);
    let language = "format = 1\nname = \"language\"\nmodel = { kind = \"encoder\", layers = 1, heads = 1, width = 8, feed_forward = 8 }\n\
                    data = { kind = \"grammar\", words = 1000, sequence_length = 16, tokenizer = { kind = \"bytes\" } }\n\
                    train = { steps = 2, batch = 2 }\nprobe = { every = 0 }\n";
    let other = program.train(language, &[]);
    let _ = program
        .run_with_input(&["predict", &other, "--input", "-"], "x\n")
        .expect_code(2)
        .expect_words(&["ends in tokens", "classification"]);
    let _ = program
        .run(&["eval", &other, "--data", "dev.tsv", "--text", "first", "--label", "label"])
        .expect_code(2)
        .expect_words(&["takes plain text"]);
}

#[test]
fn a_table_is_seen_before_anything_is_trained_on_it() {
    let program = with_tables(classes);
    let found = program.run(&["preview", "c.toml", "--json"]).expect_code(0).json();
    let columns: Vec<&str> =
        found["columns"].as_array().unwrap().iter().map(|pair| pair[0].as_str().unwrap()).collect();
    assert_eq!(columns, ["id", "label", "first", "second"]);
    assert_eq!((found["rows"].as_u64(), found["is_whole"].as_bool()), (Some(400), Some(true)));
    assert_eq!(found["answers"]["classes"], serde_json::json!([["no", 200], ["yes", 200]]));
    let tokens = found["examples"][0]["tokens"].as_array().unwrap();
    assert_eq!((tokens[0].as_str(), tokens.last().unwrap().as_str()), (Some("[CLS]"), Some("[SEP]")));
    let text = program.run(&["preview", "c.toml", "--set", "data.text=[\"frist\"]"]).expect_code(0).stdout;
    assert!(text.contains("No row can be read") && text.contains("first"), "{text}");
    let _ = program.run(&["preview", "grammar-decoder"]).expect_code(2).expect_words(&["data.kind"]);
    let _ =
        program.run(&["preview", "c.toml", "--set", "data.path=none.tsv"]).expect_code(2).expect_words(&["none.tsv"]);
}

/// Two domains in which opposite words say the same label: a model of one is wrong about the other.
#[test]
fn runs_are_judged_on_the_data_of_each_other() {
    let program = with_tables(classes);
    let opposite = |row: usize| classes(row + 1);
    program.write("train2.tsv", table(400, 0, opposite));
    program.write("dev2.tsv", table(40, 1000, opposite));
    drop(program.run(&["train", "c.toml", "--steps", "80"]).expect_code(0));
    let other = ["data.path=train2.tsv", "data.validation_path=dev2.tsv"];
    drop(
        program
            .run(&["train", "c.toml", "--name", "opposite", "--steps", "80", "--set", other[0], other[1]])
            .expect_code(0),
    );
    let found = program.run(&["cross", "tiny task", "opposite", "--json"]).expect_code(0).json();
    assert_eq!((&found["metric"], &found["runs"][1]), (&Value::from("accuracy"), &Value::from("opposite")));
    let value = |row: usize, column: usize| number(&found["values"][row][column]);
    assert!(value(0, 0) > 0.9 && value(1, 1) > 0.9, "{found}");
    assert!(value(0, 1) < 0.1 && value(1, 0) < 0.1, "{found}");
    // On its own data it is what `eval` says; and losses go the other way.
    let eval = program.run(&["eval", "tiny task", "--json"]).expect_code(0).json();
    assert_eq!(number(&eval["metrics"]["accuracy"]), value(0, 0));
    let losses = program.run(&["cross", "tiny task", "opposite", "--metric", "loss", "--json"]).expect_code(0).json();
    assert!(number(&losses["values"][0][1]) > 3.0 * number(&losses["values"][0][0]), "{losses}");
    let told = program.run(&["cross", "tiny task", "opposite"]).expect_code(0);
    assert!(told.stdout.contains("judged on") && told.stdout.contains("more is better"), "{}", told.stdout);
    let refused = program.run(&["cross", "tiny task", "opposite", "--metric", "bleu"]);
    assert!(refused.expect_code(2).stderr.contains("It has: loss, accuracy"));
    // A share that was held out is not known to others.
    let toml = CONFIG.replace("validation_path = \"dev.tsv\"\n", "").replace("tiny task", "share");
    program.write("share.toml", toml);
    drop(program.run(&["train", "share.toml", "--steps", "2"]).expect_code(0));
    let refused = program.run(&["cross", "tiny task", "share"]);
    assert!(refused.expect_code(2).stderr.contains("holds out a share of its data"));
}
