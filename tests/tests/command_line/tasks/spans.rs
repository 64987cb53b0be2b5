//! Questions about paragraphs, from the config to the export, through the command line.

use headroom_tests::Program;
use serde_json::{Value, json};

use super::{number, program, settings};

/// A tiny encoder whose windows hold a part of the longer paragraphs.
const CONFIG: &str = r#"
format = 1
name = "tiny answers"
seed = 3
threads = 2
[data]
kind = "squad"
path = "train.json"
validation_path = "dev.json"
sequence_length = 56
tokenizer = { kind = "bytes" }
[task]
kind = "span"
doc_stride = 20
max_answer = 8
[model]
kind = "encoder"
layers = 2
heads = 2
width = 32
feed_forward = 64
norm = "post"
dropout = 0.0
[train]
steps = 500
batch = 16
learning_rate = 3e-3
evaluate_every = 125
stability = { kind = "off" }
[probe]
every = 125
examples = 2
"#;

const WORDS: [&str; 5] = ["zo\u{eb}", "cat", "bird", "and", "na\u{ef}ve"];

/// Some words, then a number in some paragraphs, then words again: the paragraph, and where the number stands in characters.
fn paragraph(number: usize, has_number: bool) -> (String, Option<(String, usize)>) {
    let words = |from: usize, count: usize| -> String {
        (from..from + count).map(|at| WORDS[(number / 2 + at * 3) % 5]).collect::<Vec<_>>().join(" ")
    };
    let (before, after) = (words(0, 1 + number % 7), words(9, 1 + (number / 3) % 6));
    if !has_number {
        return (format!("{before} {after}."), None);
    }
    let answer = (100 + number * 37 % 9000).to_string();
    let start = before.chars().count() + 1;
    (format!("{before} {answer} {after}."), Some((answer, start)))
}

/// A file of `SQuAD` with `count` paragraphs, of which in v2.0 each third has no answer.
fn squad(count: usize, first: usize, is_v2: bool) -> Value {
    let paragraphs: Vec<Value> = (first..first + count)
        .map(|number| {
            let (text, answer) = paragraph(number, !is_v2 || number % 3 != 0);
            let answers: Vec<Value> =
                answer.iter().map(|(text, start)| json!({ "text": text, "answer_start": start })).collect();
            let mut asked = json!({ "id": format!("q{number}"), "question": "how many?", "answers": answers });
            if is_v2 {
                asked["is_impossible"] = answer.is_none().into();
            }
            json!({ "context": text, "qas": [asked] })
        })
        .collect();
    json!({ "version": if is_v2 { "v2.0" } else { "1.1" }, "data": [{ "title": "Words", "paragraphs": paragraphs }] })
}

fn with_questions(is_v2: bool) -> Program {
    let program = program();
    program.write("train.json", squad(300, 0, is_v2).to_string());
    program.write("dev.json", squad(45, 1000, is_v2).to_string());
    program.write("c.toml", CONFIG);
    program
}

#[test]
fn questions_with_and_without_answers_are_learnt_answered_exported_and_begun_with() {
    let program = with_questions(true);
    let events = program.run(&["train", "c.toml", "--json"]).expect_code(0).events();
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished", "{last}");
    let run = last["run"].as_str().unwrap();
    let sample = events.iter().rfind(|event| event["event"] == "sample").unwrap();
    assert!(sample["text"].as_str().unwrap().starts_with("how many? \u{2192} "), "{sample}");
    let found = program.run(&["eval", run, "--json", "--which", "last"]).expect_code(0).json();
    let metric = |name: &str| number(&found["metrics"][name]);
    for name in ["exact_match", "f1", "has_answer_exact_match", "has_answer_f1", "no_answer_accuracy"] {
        assert!(metric(name) > 0.8, "{name}: {found}");
    }
    assert!(metric("best_f1") >= metric("f1") && metric("best_exact_match") >= metric("exact_match"), "{found}");
    assert!(found["metrics"]["best_f1_threshold"].is_number() && metric("loss") < 1.0, "{found}");
    assert_eq!(found["unit"], "nats per example");
    let shown = program.show(run);
    let stored = number(&shown["metrics"]["validation/exact_match"]["last"]);
    assert!((metric("exact_match") - stored).abs() < 1e-9, "{found}");
    // More windows than questions.
    assert!(found["tokens"].as_u64().unwrap() > 45, "{found}");
    let again = program.run(&["eval", run, "--data", "dev.json", "--json", "--which", "last"]).expect_code(0).json();
    assert_eq!((&again["loss"], &again["metrics"]), (&found["loss"], &found["metrics"]));
    let said = program.run(&["eval", run]).expect_code(0).stdout;
    assert!(said.contains("the same as a right one") && said.contains("with the best threshold"), "{said}");
    // As many mistakes as exact match leaves.
    let wrong = program.run(&["eval", run, "--json", "--which", "last", "--mistakes", "100"]).expect_code(0).json();
    let wrong = wrong["mistakes"].as_array().unwrap();
    let judged = (45.0 * (1.0 - metric("exact_match"))).round() as usize;
    assert_eq!(wrong.len(), judged, "{wrong:?}");
    for mistake in wrong {
        let sure = number(&mistake["confidence"]);
        assert!((0.0..=1.0).contains(&sure) && mistake["places"].is_object(), "{mistake}");
    }
    // What `transformers` opens.
    let _ = program.run(&["export", run, "--to", "model", "--which", "last"]).expect_code(0);
    assert_eq!(settings(&program, "model")["architectures"][0], "BertForQuestionAnswering");
    let of_directory = program.run(&["eval", "model", "--data", "dev.json", "--json"]).expect_code(0).json();
    for name in ["exact_match", "f1"] {
        assert!(number(&of_directory["metrics"][name]) > 0.8, "{of_directory}");
    }
    // Answers by characters, from lines and from a file of questions without answers.
    program.write("in.txt", "how many?\tzo\u{eb} and 4711 cat.\nhow many?\tzo\u{eb} and cat.\n");
    for target in [run, "model"] {
        let answers = program.run(&["predict", target, "--input", "in.txt", "--json"]).expect_code(0).events();
        let [first, second] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(
            (&first["answer"], &first["start"], &first["end"]),
            (&"4711".into(), &8.into(), &12.into()),
            "{first}"
        );
        assert!(number(&first["score"]) > number(&first["no_answer_score"]));
        assert_eq!((&second["answer"], &second["start"]), (&Value::Null, &Value::Null), "{second}");
    }
    let never = program
        .run(&["predict", run, "--input", "in.txt", "--json", "--no-answer-threshold", "-1000"])
        .expect_code(0)
        .events();
    assert!(never.iter().all(|answer| answer["answer"].is_null()));
    let plain = program.run(&["predict", run, "--input", "in.txt"]).expect_code(0).stdout;
    assert!(plain.starts_with("4711\t8\t12\tscore ") && plain.contains("[no answer]"), "{plain}");
    let mut secret = squad(6, 2000, true);
    for paragraph in secret["data"][0]["paragraphs"].as_array_mut().unwrap() {
        let asked = paragraph["qas"][0].as_object_mut().unwrap();
        asked.remove("answers");
        asked.remove("is_impossible");
    }
    program.write("test.json", secret.to_string());
    let answers = program.run(&["predict", run, "--input", "test.json", "--json"]).expect_code(0).events();
    let ids: Vec<&str> = answers.iter().map(|answer| answer["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["q2000", "q2001", "q2002", "q2003", "q2004", "q2005"]);
    let _ = program.run(&["eval", run, "--data", "test.json"]).expect_code(2).expect_words(&["headroom predict"]);
    // The head goes on with a run of questions, and starts fresh with one of language.
    let begun_with = |initial: &str| {
        let set = format!("model.initial={initial}");
        let more = ["--set", &set, "--set", "data.tokenizer.kind=initial", "--set", "probe.every=0", "--steps", "2"];
        let events = program.run(&[&["train", "c.toml", "--json"], more.as_slice()].concat()).expect_code(0).events();
        events.into_iter().find(|event| event["event"] == "begun_with").unwrap()["fresh"].clone()
    };
    assert_eq!(begun_with("model"), json!([]));
    let language = CONFIG
        .replace(
            "kind = \"squad\"\npath = \"train.json\"\nvalidation_path = \"dev.json\"",
            "kind = \"grammar\"\nwords = 2000",
        )
        .replace("[task]\nkind = \"span\"\ndoc_stride = 20\nmax_answer = 8\n", "")
        .replace("steps = 500", "steps = 2");
    let other = program.train(&language, &[]);
    let _ = program.run(&["export", &other, "--to", "language"]).expect_code(0);
    assert_eq!(begun_with("language"), json!(["qa_outputs.weight", "qa_outputs.bias"]));
}

#[test]
fn where_every_question_has_an_answer_no_other_metric_is_told_and_one_is_always_given() {
    let program = with_questions(false);
    let run = program.train(CONFIG, &["--steps", "60"]);
    let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    let names: Vec<&String> = found["metrics"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["exact_match", "f1", "loss"]);
    // After so few steps some are wrong: as many as exact match leaves, each with a right answer in its paragraph.
    let judged = program.run(&["eval", &run, "--json", "--mistakes", "100"]).expect_code(0).json();
    let wrong = judged["mistakes"].as_array().unwrap();
    let expected = (45.0 * (1.0 - number(&judged["metrics"]["exact_match"]))).round() as usize;
    assert!(expected > 0 && wrong.len() == expected, "{expected}: {wrong:?}");
    for mistake in wrong {
        let paragraph: Vec<char> = mistake["texts"][1].as_str().unwrap().chars().collect();
        for (answer, place) in [("right", "right"), ("predicted", "predicted")] {
            let ends = mistake["places"][place].as_array().unwrap().iter().map(|end| end.as_u64().unwrap() as usize);
            let [start, end] = ends.collect::<Vec<_>>()[..] else { panic!("{mistake}") };
            let text: String = paragraph[start..end].iter().collect();
            assert_eq!(mistake[answer], text.as_str(), "{mistake}");
        }
        assert_ne!(mistake["right"], mistake["predicted"], "{mistake}");
    }
    program.write("in.txt", "how many?\tcat bird.\n");
    let answers = program.run(&["predict", &run, "--input", "in.txt", "--json"]).expect_code(0).events();
    assert!(answers[0]["answer"].is_string(), "{answers:?}");
}

/// A stop and a continuation change no bit of a curve.
#[test]
fn a_stopped_run_of_questions_goes_on_along_its_curve() {
    let program = with_questions(true);
    let more = ["--steps", "40", "--set", "train.evaluate_every=10", "--set", "model.dropout=0.1"];
    let whole = program.train(CONFIG, &more);
    let arguments = [&["train", "c.toml", "--json", "--set", "train.checkpoint_every=5"], more.as_slice()].concat();
    let training = program.start(&arguments);
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    let _ = training.wait_for("checkpointed", |_| true).unwrap();
    training.kill();
    let _ = program.run(&["resume", &run, "--json"]).expect_code(0);
    for series in ["train/loss", "validation/loss", "validation/f1", "validation/best_f1_threshold"] {
        assert_eq!(program.curve(&run, series), program.curve(&whole, series), "{series}");
    }
}

#[test]
fn questions_that_cannot_be_learnt_are_refused_with_file_place_and_field() {
    let program = with_questions(true);
    let refused = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut file = squad(30, 0, true);
        change(&mut file);
        // The title of an article stands before its paragraphs, as in the files of SQuAD.
        let text = file.to_string().replace(",\"title\":\"Words\"}", "}");
        program.write("bad.json", text.replace("{\"paragraphs\":", "{\"title\":\"Words\",\"paragraphs\":"));
        // Otherwise an answer that stands elsewhere is left out and counted.
        let arguments = ["train", "c.toml", "--set", "data.path=bad.json", "data.strict=true"];
        let _ = program.run(&arguments).expect_code(2).expect_words(words);
    };
    let asked = |file: &mut Value, at: usize| file["data"][0]["paragraphs"][at]["qas"][0].take();
    refused(
        &|file| file["data"][0]["paragraphs"][4]["qas"][0]["answers"][0]["answer_start"] = 3.into(),
        &["data.path", "article \"Words\", paragraph 5, question q4", "answers[0].answer_start", "bad.json"],
    );
    refused(
        &|file| file["data"][0]["paragraphs"][4]["qas"][0]["answers"] = json!([]),
        &["data.path", "question q4", "is_impossible"],
    );
    refused(
        &|file| {
            let old = asked(file, 1);
            file["data"][0]["paragraphs"][1]["qas"][0] = json!({ "id": old["id"] });
        },
        &["`question`", "question q1"],
    );
    refused(&|file| *file = json!({ "questions": [] }), &["no SQuAD file", "`questions`"]);
    program.write("bad.json", "{\"data\": [{]}");
    let bad = ["train", "c.toml", "--set", "data.validation_path=bad.json"];
    let _ = program.run(&bad).expect_code(2).expect_words(&["data.validation_path", "line 1, character 12"]);
    let _ = program
        .run(&["train", "c.toml", "--set", "data.path=c.toml"])
        .expect_code(2)
        .expect_words(&["data.path", ".json, with or without .gz"]);
    for (set, words) in [
        ("task.kind=classification", ["data.kind", "table"]),
        ("data.kind=grammar", ["data.kind", "squad"]),
        ("task.max_answer=0", ["task.max_answer", "too small"]),
        ("model.kind=decoder", ["model.kind", "encoder"]),
    ] {
        let _ = program.run(&["train", "c.toml", "--set", set]).expect_code(2).expect_words(&words);
    }
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    let _ = program
        .run_with_input(&["predict", &run, "--input", "-"], "only a question?\n")
        .expect_code(2)
        .expect_words(&["Line 1 has 1 text", "a tab between"]);
    program.write("t.tsv", "a\tlabel\nx\ty\nz\tw\n");
    let _ = program
        .run(&["eval", &run, "--data", "t.tsv", "--text", "a", "--label", "label"])
        .expect_code(2)
        .expect_words(&["takes a SQuAD file"]);
}
