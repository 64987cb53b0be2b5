//! Small inputs after public reports about other tools, each with its right value.

use std::path::{Path, PathBuf};

use headroom_tests::Program;
use serde_json::Value;

use super::{number, program};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/inputs").join(name)
}

/// A program in whose folder everything of a folder of fixtures lies.
fn with(name: &str) -> Program {
    let program = program();
    copy(&program, &fixture(name), Path::new(""));
    program
}

fn copy(program: &Program, from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(program, &path, &name);
        } else {
            program.write(name.to_str().unwrap(), std::fs::read(&path).unwrap());
        }
    }
}

/// SNLI and GLUE write `-` and `-1` where annotators did not agree on a label.
#[test]
fn labels_that_mean_none_are_left_out_and_counted() {
    let program = with("labels");
    let preview = program.run(&["preview", "snli.toml", "--json"]).expect_code(0).json();
    let classes = serde_json::json!({ "classes": [["0", 3], ["1", 3], ["2", 3]] });
    assert_eq!((&preview["answers"], &preview["rows"], &preview["without_label"]), (&classes, &9.into(), &2.into()));
    let words = program.run(&["preview", "snli.toml"]).expect_code(0).stdout;
    assert!(words.contains("2 without a label left out"), "{words}");
    let trained = program.run(&["train", "snli.toml"]).expect_code(0);
    let told = [trained.stdout.as_str(), &trained.stderr].concat();
    assert!(told.contains("2 rows without a label were left out, the first in line 5"), "{told}");
    let found = program.run(&["eval", "snli", "--data", "snli.tsv", "--json"]).expect_code(0).json();
    assert_eq!((&found["tokens"], &found["counts"]["left_out"]), (&9.into(), &2.into()));
    // Where -1 may be a class it is asked about.
    let lines = "premise\thypothesis\tlabel\na\tb\t-1\na\tc\t0\na\td\t1\ne\tf\t-1\ng\th\t0\ni\tj\t1\n";
    program.write("snli.tsv", lines);
    let asked = program.run(&["train", "snli.toml"]).expect_code(2);
    assert!(asked.stderr.contains("task.unlabelled"), "{}", asked.stderr);
    let preview = program.run(&["preview", "snli.toml", "--json"]).expect_code(0).json();
    assert!(preview["question"].as_str().unwrap().contains("\"none\""), "{preview}");
    for (rule, classes) in [("-1", 2), ("none", 3)] {
        let set = format!("task.unlabelled=\"{rule}\"");
        let preview = program.run(&["preview", "snli.toml", "--json", "--set", &set]).expect_code(0).json();
        assert_eq!(preview["answers"]["classes"].as_array().unwrap().len(), classes, "{rule}");
    }
    // Null is missing wherever it stands; 1 and 1.0 are one class.
    let rows = [
        r#"{"premise":"a","hypothesis":"b","label":1}"#,
        r#"{"premise":"a","hypothesis":"c","label":1.0}"#,
        r#"{"premise":"a","hypothesis":"d","label":0}"#,
        r#"{"premise":"a","hypothesis":"e","label":null}"#,
        r#"{"premise":null,"hypothesis":"f","label":0}"#,
    ];
    program.write("rows.jsonl", rows.join("\n"));
    let preview =
        program.run(&["preview", "snli.toml", "--json", "--set", "data.path=rows.jsonl"]).expect_code(0).json();
    let classes = serde_json::json!({ "classes": [["0", 1], ["1", 2]] });
    assert_eq!(
        (&preview["answers"], &preview["without_label"], &preview["without_text"]),
        (&classes, &1.into(), &1.into())
    );
    // A name that stands twice is told with both places.
    program.write("twice.tsv", "label\tpremise\thypothesis\tlabel\n0\ta\tb\t1\n1\ta\tc\t0\n");
    let twice = program.run(&["train", "snli.toml", "--set", "data.path=twice.tsv"]).expect_code(2);
    let wanted = ["`label`", "stands twice", "the columns 0 and 3", "data.label"];
    assert!(wanted.iter().all(|part| twice.stderr.contains(part)), "{}", twice.stderr);
}

#[test]
fn answers_one_character_off_are_skipped_and_the_first_place_is_named() {
    let program = with("squad");
    let off = |more: &[&str]| {
        let arguments = ["preview", "sq.toml", "--json", "--set", "data.path=sq_off.json"];
        program.run(&[&arguments, more].concat())
    };
    let about = off(&[]).expect_code(0).json()["about"].as_str().unwrap().to_owned();
    let wanted = ["2 questions on 1 paragraph", "1 question was left out", "question b", "It stands at character 4."];
    assert!(wanted.iter().all(|part| about.contains(part)), "{about}");
    let strict = off(&["--set", "data.strict=true"]).expect_code(2);
    assert!(strict.stderr.contains("question b"), "{}", strict.stderr);
    let right = program.run(&["preview", "sq.toml", "--json"]).expect_code(0).json();
    assert_eq!(right["about"], "3 questions on 1 paragraph");
}

/// Labels are never scored by their number in silence: the map is said, or names differ by case alone.
#[test]
fn labels_of_other_names_find_the_classes_of_a_model() {
    let program = with("classes");
    let columns = ["--text", "premise", "--text", "hypothesis", "--label", "label", "--json"];
    let eval = |config: &str, data: &str, more: &[&str]| {
        std::fs::copy(program.path(config), program.path("config.json")).unwrap();
        program.run(&[&["eval", ".", "--data", data][..], &columns, more].concat())
    };
    let refused = eval("config_numbered.json", "m_num.tsv", &[]).expect_code(2);
    let told = [refused.stdout.as_str(), &refused.stderr].concat();
    assert!(told.contains("`0`") && told.contains("--labels 0=LABEL_0"), "{told}");
    let map = ["--labels", "0=LABEL_0,1=LABEL_1,2=LABEL_2"];
    let mapped = eval("config_numbered.json", "m_num.tsv", &map).expect_code(0).json();
    assert_eq!((&mapped["tokens"], &mapped["confusion"]["labels"][1]), (&3.into(), &"LABEL_1".into()));
    let other = ["--labels", "0=LABEL_1,1=LABEL_0,2=LABEL_2"];
    let other = eval("config_numbered.json", "m_num.tsv", &other).expect_code(0).json();
    assert!((number(&mapped["loss"]) - number(&other["loss"])).abs() > 1e-6, "another map, another loss");
    let wrong = eval("config_numbered.json", "m_num.tsv", &["--labels", "0=yes,1=LABEL_1,2=LABEL_2"]).expect_code(2);
    let told = [wrong.stdout.as_str(), &wrong.stderr].concat();
    assert!(told.contains("`yes`") && told.contains("`LABEL_0`"), "{told}");
    // The classes in upper case: entailment is the second of them.
    let folded = eval("config_upper.json", "m_words.tsv", &[]).expect_code(0);
    assert!(folded.stderr.contains("`entailment` is `ENTAILMENT`"), "{}", folded.stderr);
    let same = eval("config_numbered.json", "m_num.tsv", &["--labels", "0=LABEL_1,1=LABEL_2,2=LABEL_0"]).expect_code(0);
    assert!((number(&folded.json()["loss"]) - number(&same.json()["loss"])).abs() < 1e-9);
}

#[test]
fn scores_that_know_no_word_of_a_script_say_so() {
    let program = with("script");
    let short = ["--set", "train.steps=2", "--set", "train.evaluate_every=2"];
    let _ = program.run(&[&["train", "ru.toml"][..], &short].concat()).expect_code(0);
    let scored = program.run(&["translate-eval", "ru", "--json", "--max-length", "8"]).expect_code(0).json();
    assert_eq!((&scored["rouge_1"], &scored["bleu_tokenize"]), (&0.0.into(), &"13a".into()));
    assert_eq!(scored["unscored_references"]["without_latin"], 20);
    let told = program.run(&["translate-eval", "ru", "--max-length", "8"]).expect_code(0);
    let told = [told.stdout.as_str(), &told.stderr].concat();
    assert!(told.contains("20 of 20 references without a Latin letter"), "{told}");
    let by =
        |name: &str| program.run(&["translate-eval", "ru", "--json", "--max-length", "8", "--bleu-tokenize", name]);
    assert_eq!(by("char").expect_code(0).json()["bleu_tokenize"], "char");
    let refused = by("ja-mecab").expect_code(2);
    assert!(refused.stderr.contains("dictionary"), "{}", refused.stderr);
}

/// A camera stores a picture as the sensor lies and notes how it is to be turned.
#[test]
fn images_are_turned_as_their_exif_data_say() {
    let program = with("images");
    let _ = program.run(&["train", "im.toml"]).expect_code(0);
    for data in ["img_val", "img_exif"] {
        let found = program.run(&["eval", "im", "--data", data, "--json"]).expect_code(0).json();
        assert_eq!(number(&found["metrics"]["accuracy"]), 1.0, "{data}: {found}");
    }
    // A folder without an image is no class, and is named.
    std::fs::create_dir(program.path("img_train/empty")).unwrap();
    let preview = program.run(&["preview", "im.toml", "--json"]).expect_code(0).json();
    assert_eq!(preview["empty_folders"], serde_json::json!(["empty"]));
    let trained = program.run(&["train", "im.toml", "--set", "train.steps=1"]).expect_code(0);
    let told = [trained.stdout.as_str(), &trained.stderr].concat();
    assert!(told.contains("The folder `empty` holds no PNG or JPEG file"), "{told}");
}

#[test]
fn lines_that_end_in_carriage_returns_alone_are_told() {
    let program = with("lines");
    program.write("tokenizer.json", std::fs::read(fixture("squad/tokenizer.json")).unwrap());
    let refused = program.run(&["train", "pairs_cr.toml"]).expect_code(2);
    let wanted = ["no line feed", "3 lines end in CR alone", "cr.tsv"];
    assert!(wanted.iter().all(|part| refused.stderr.contains(part)), "{}", refused.stderr);
}

/// Special tokens that a user types are text in corpora, tables and predictions alike.
#[test]
fn typed_special_tokens_are_text_everywhere() {
    let program = with("specials");
    program.write("tokenizer.json", std::fs::read(fixture("squad/tokenizer.json")).unwrap());
    let table =
        ["data.kind=table", "data.path=sep.tsv", "data.text=text", "data.label=label", "task.kind=classification"];
    let sets: Vec<&str> = table.iter().flat_map(|set| ["--set", set]).collect();
    let preview = program.run(&[&["preview", "sep.toml", "--json"][..], &sets].concat()).expect_code(0).json();
    let of =
        |row: usize| -> Vec<String> { serde_json::from_value(preview["examples"][row]["tokens"].clone()).unwrap() };
    let (first, second) = (of(0), of(1));
    let count = |tokens: &[String], name: &str| tokens.iter().filter(|token| *token == name).count();
    assert_eq!((count(&first, "[SEP]"), first.last().unwrap().as_str()), (1, "[SEP]"), "{first:?}");
    assert_eq!(count(&second, "[MASK]"), 0, "{second:?}");
    let _ = program.run(&["train", "sep.toml"]).expect_code(0);
    let maps = ["maps", "sep", "--text", "the king [SEP] sleeps [MASK]", "--out", "maps", "--json"];
    let shown = program.run(&maps).expect_code(0).json();
    let tokens: Vec<String> = serde_json::from_value(shown["tokens"].clone()).unwrap();
    assert_eq!((count(&tokens, "[SEP]"), count(&tokens, "[MASK]")), (1, 0), "{tokens:?}");
    // Where words are filled in the mask hides one, and nothing else of the text is special.
    let filled: Value =
        program.run(&["generate", "sep", "--prompt", "the [MASK] sleeps", "--json"]).expect_code(0).json();
    assert_eq!(filled["filled"]["words"].as_array().unwrap().len(), 1, "{filled}");
    let mistyped = program.run(&["generate", "sep", "--prompt", "the [mask] sleeps"]).expect_code(2);
    let told = [mistyped.stdout.as_str(), &mistyped.stderr].concat();
    assert!(told.contains("`[mask]`") && told.contains("Write [MASK]"), "{told}");
}

#[test]
fn pairs_are_read_from_json_lines() {
    let program = with("lines");
    program.write("tokenizer.json", std::fs::read(fixture("squad/tokenizer.json")).unwrap());
    let words = ["the", "king", "man", "river", "town", "old"];
    let lines: Vec<String> = (0..40)
        .map(|number| {
            let (en, de) = (words[number % 6], words[(number + 1) % 6]);
            format!("{{\"id\": {number}, \"translation\": {{\"en\": \"the {en} {de}\", \"de\": \"{de} {en}\"}}}}")
        })
        .collect();
    program.write("p.jsonl", lines.join("\n"));
    let set = ["--set", "data.path=p.jsonl"];
    let asked = program.run(&[&["train", "pairs_cr.toml"][..], &set].concat()).expect_code(2);
    assert!(asked.stderr.contains("`id`, `translation`") && asked.stderr.contains("data.text"), "{}", asked.stderr);
    let text = ["--set", "data.text=[\"translation.en\", \"translation.de\"]"];
    let preview =
        program.run(&[&["preview", "pairs_cr.toml", "--json"][..], &set, &text].concat()).expect_code(0).json();
    assert_eq!((&preview["about"], &preview["examples"][0]["label"]), (&"40 pairs".into(), &"king the".into()));
}
