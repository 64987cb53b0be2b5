//! Advice on the command line: from a trained run to what it could save, trained beside it, and what came out.

use std::{fs, path::Path};

use headroom_engine::{analysis::AnalysisSpec, store::AnalysisId};
use headroom_tests::{Program, TINY_ENCODER};
use serde_json::Value;

use crate::program;

fn row(outcome: &Value, what: &str) -> Value {
    let rows = outcome["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["what"].as_str().unwrap().starts_with(what));
    found.unwrap_or_else(|| panic!("no {what} in {outcome}")).clone()
}

#[test]
fn what_is_advised_is_trained_beside_its_run_and_compared_with_what_was_predicted() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--set", "probe.every=10", "train.steps=20", "probe.examples=4"]);
    let before = program.show(&run);

    // Everything can be asked without training anything. Dragged to the ends, all and none of the heads borrow.
    let advise = |arguments: &[&str]| {
        let all: Vec<&str> = ["advise", &run, "--json"].iter().chain(arguments).copied().collect();
        program.run(&all).expect_code(0).json()
    };
    let all = advise(&["--similarity", "0"]);
    assert_eq!((&all["heads"]["replaced"], &all["analysis"]["step"]), (&2.into(), &20.into()));
    assert_eq!(all["config"]["attention"]["reuse"]["kind"], "custom");
    assert_eq!(all["present"]["parameters"], before["parameters"], "counted with the vocabulary of the run");
    assert!(all["proposed"]["flops_per_step"].as_u64() < all["present"]["flops_per_step"].as_u64());
    let none = advise(&["--similarity", "1"]);
    assert!(none["why_not"].as_str().unwrap().starts_with("No head could borrow"), "{none}");
    assert_eq!(advise(&["--step", "0"])["analysis"]["step"], 0);
    let energy = advise(&["--energy", "0.5"]);
    assert_eq!((energy["heads"].is_null(), &energy["config"]["attention"]["reuse"]["kind"]), (true, &"none".into()));
    let d_k = energy["dimensions"]["d_k"].as_u64().unwrap();
    assert_eq!(energy["config"]["attention"]["compatibility"]["d_k"], d_k);
    assert!((1..=16).contains(&d_k));
    let text = program.run(&["advise", &run, "--similarity", "0"]).expect_code(0).stdout;
    for words in ["Heads that could borrow", "2 of 4", "L1H0 uses the map of L0H", "Memory in all", "kind = \"custom\""]
    {
        assert!(text.contains(words), "no {words} in {text}");
    }
    // An analysis that was asked for since is named, with what advises from it. What measures pairs is said to do so alone.
    let since = ["analyse", &run, "--similarity", "--captured", "--examples", "8", "--json"];
    let since = program.run(&since).expect_code(0).json()["analysis"].as_str().unwrap().to_owned();
    let of_it = format!("advise {run} --analysis {since}");
    let text = program.run(&["advise", &run]).expect_code(0).stdout;
    assert!(text.contains("16 tokens") && text.contains(&of_it), "{text}");
    assert!(text.contains(&format!("analyse {run} --reconstruction\n")), "{text}");
    let text = program.run(&["advise", &run, "--analysis", &since]).expect_code(0).stdout;
    assert!(text.contains("8 examples of 16 tokens") && !text.contains(&of_it), "{text}");
    assert!(text.contains(&format!("analyse {run} --similarity --captured --reconstruction")), "{text}");
    assert_eq!(program.run(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 1);

    // Trained beside the run itself.
    let train = ["advise", &run, "--similarity", "0", "--energy", "0.5", "--train", "--again", "--json"];
    let trained = program.run(&train).expect_code(0).json();
    let (advised, beside) = (trained["run"].as_str().unwrap(), trained["beside"].as_str().unwrap());
    assert_eq!((&trained["source"], &trained["state"]), (&run.as_str().into(), &"finished".into()));
    let (after, again) = (program.show(advised), program.show(beside));
    for field in ["seed", "data", "train", "probe", "model"] {
        assert_eq!(after["config"][field], before["config"][field], "{field}");
        assert_eq!(again["config"][field], before["config"][field], "{field}");
    }
    assert_eq!(program.curve(beside, "train/loss"), program.curve(&run, "train/loss"));
    for one in [&run, &advised.to_owned(), &beside.to_owned()] {
        assert_eq!(program.show(one)["tags"][0], "advice:tiny encoder");
    }
    let parameters = row(&trained, "Parameters");
    assert_eq!(
        (&parameters["predicted"], &parameters["came_out"]),
        (&parameters["came_out"], &parameters["predicted"])
    );
    assert_eq!(parameters["came_out"].as_f64(), after["parameters"].as_f64());
    assert_eq!(row(&trained, "FLOPs")["predicted"], row(&trained, "FLOPs")["came_out"]);
    assert!(row(&trained, "Time of a step")["came_out"].as_f64().unwrap() > 0.0);
    assert!((row(&trained, "Borrowed maps")["came_out"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    assert_eq!(row(&trained, "Best validation loss")["predicted"], Value::Null);
    assert!(row(&trained, "Its difference")["came_out"].is_number());
    let judged = &trained["loss_judged"];
    assert_eq!(judged["rests_on"], "nothing", "one seed each: {judged}");
    assert!(["not_tested", "same"].contains(&judged["verdict"].as_str().unwrap()), "{judged}");

    // Asked again later, from either side.
    let later = program.run(&["advise", &run, "--outcome", "--json"]).expect_code(0).json();
    assert_eq!(later["outcomes"][0], trained);
    let text = program.run(&["advise", advised, "--outcome"]).expect_code(0).stdout;
    let untested = "1 seed each: not tested";
    // Losses that are written alike need no test.
    let more = if judged["verdict"] == "not_tested" { "not tested. Queue 2 more: headroom repeat " } else { untested };
    for words in
        ["tiny encoder: 2 heads borrow, d_k", "trained beside it", "predicted", "came out", "step 20", untested, more]
    {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn what_cannot_be_advised_says_why() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--set", "train.steps=4"]);
    for (arguments, words) in [
        (vec!["advise", &run], vec!["was not analysed", "headroom analyse"]),
        (vec!["advise", &run, "--step", "4"], vec!["not analysed after step 4", "no step"]),
        (vec!["advise", &run, "--analysis", "x"], vec!["no analysis x", "It has none"]),
        (vec!["advise", &run, "--similarity", "2"], vec!["--similarity", "0 to 1"]),
        (vec!["advise", &run, "--outcome"], vec!["Nothing was advised", "--train"]),
        (vec!["advise", &run, "--again"], vec!["--train"]),
        (vec!["advise", "nobody"], vec!["nobody"]),
    ] {
        let _ = program.run(&arguments).expect_code(2).expect_words(&words);
    }
    let _ = program.run(&["analyse", &run, "--similarity", "--examples", "4", "--json"]).expect_code(0);
    let advice = program.run(&["advise", &run, "--energy", "0.9", "--json"]).expect_code(0).json();
    assert!(advice["dimensions"]["missing"].as_str().unwrap().contains("did not include the weights"), "{advice}");
    let refused = ["advise", &run, "--error", "0.1", "--train"];
    let _ = program.run(&refused).expect_code(2).expect_words(&["reconstruction first", "Nothing was started"]);
    // Scores of another text say nothing of the run's own.
    let shuffled = ["analyse", &run, "--shuffled", "--reconstruction", "--examples", "4", "--json"];
    let shuffled = program.run(&shuffled).expect_code(0).json();
    assert!(shuffled["result"]["reconstruction"].is_object());
    let _ = program.run(&refused).expect_code(2).expect_words(&["reconstruction first"]);
    assert_eq!(program.run(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 1);
}

/// A run that trains an initial model further keeps that model's attention: a config was proposed that was refused when it started.
#[test]
fn a_run_that_was_trained_further_is_advised_conversions_of_its_model() {
    let program = program();
    let first = program.train(TINY_ENCODER, &["--steps", "2"]);
    let initial = format!("model.initial={first}");
    let tokenizer = "data.tokenizer={ kind = \"initial\" }";
    let probes = ["--set", &initial, tokenizer, "probe.every=4", "train.steps=4", "probe.examples=4"];
    let run = program.train(TINY_ENCODER, &probes);
    let wished = ["--similarity", "0", "--energy", "0.5"];
    let advise = |parts: &[&str]| program.run(&[&["advise", &run], parts].concat());
    let advice = advise(&[&wished[..], &["--json"]].concat()).expect_code(0).json();
    assert!(advice["config"].is_null() && advice["heads"]["replaced"].as_u64() > Some(0), "{advice}");
    assert!(advice["why_not"].as_str().unwrap().contains("keeps the attention of that model"), "{advice}");
    let conversions = advice["conversions"].as_array().unwrap();
    assert_eq!(conversions.len(), 2, "{advice}");
    let refused = advise(&[&wished[..], &["--train"]].concat()).expect_code(2);
    let _ = refused.expect_words(&["keeps the attention of that model", "Nothing was started"]);
    let text = advise(&wished).expect_code(0).stdout;
    assert!(!text.contains("As a config") && text.contains("model.initial"), "{text}");
    // The commands do what is predicted, without a text of their own, and a run begins with what they make.
    for one in conversions {
        let command = one["command"].as_str().unwrap();
        assert!(text.contains(command), "{text}");
        let words: Vec<&str> = command.split_whitespace().skip(1).chain(["--json"]).collect();
        let done = program.run(&words).expect_code(0).events().pop().unwrap();
        assert_eq!(done["parameters"], one["costs"]["parameters"], "{command}: {done}");
    }
    let made = conversions[1]["to"].as_str().unwrap();
    let config = program.run(&["show", made, "--further"]).expect_code(0).stdout;
    program.write("further.toml", config);
    let _ = program.run(&["train", "further.toml", "--steps", "2"]).expect_code(0);
    // What a config may change is proposed as one; so is nothing.
    let none = advise(&["--similarity", "1", "--json"]).expect_code(0).json();
    assert!(none["conversions"].as_array().unwrap().is_empty() && none["config"].is_object(), "{none}");
}

/// A golden model with a text and a tokenizer of its vocabulary, its own where it has one.
fn golden(program: &Program, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf").join(name);
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        if let Ok(bytes) = fs::read(from.join(file)) {
            program.write(&format!("{name}/{file}"), bytes);
        }
    }
    if !program.path(name).join("tokenizer.json").exists() {
        let vocabulary: serde_json::Map<String, Value> =
            (0..37).map(|id| (if id == 0 { "<unk>".to_owned() } else { format!("w{id}") }, id.into())).collect();
        let tokenizer = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null, "decoder": null,
            "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
        });
        program.write(&format!("{name}/tokenizer.json"), tokenizer.to_string());
    }
    let words = ["the layer", "reads the attention", "w3 w9", "of heads", "w5 w17", "and scores", "w30"];
    let text: Vec<&str> = (0..600_usize).map(|place| words[(place * place + place / 3) % words.len()]).collect();
    program.write("text.txt", text.join(" ") + " ");
}

const ANALYSE: [&str; 8] = ["--data", "text.txt", "--examples", "12", "--tokens", "16", "--json", "--similarity"];

/// The id under which an analysis is kept.
fn analysed(program: &Program, target: &str, parts: &[&str]) -> String {
    let all: Vec<&str> = ["analyse", target].iter().chain(&ANALYSE).chain(parts).copied().collect();
    program.run(&all).expect_code(0).json()["analysis"].as_str().unwrap().to_owned()
}

#[test]
fn a_model_directory_is_advised_conversions_whose_commands_do_what_was_predicted() {
    let program = program();
    golden(&program, "bert_mlm");
    let newest = || program.store().analyses().unwrap()[0].clone();
    let plain = analysed(&program, "bert_mlm", &["--captured"]);
    let target = newest().target;
    assert!(Path::new(&target).is_absolute() && target.ends_with("bert_mlm"), "{target}");
    let advise = |arguments: &[&str]| {
        let all: Vec<&str> = ["advise", "bert_mlm", "--json"].iter().chain(arguments).copied().collect();
        program.run(&all).expect_code(0).json()
    };
    // Without reconstruction, pairs are left out with the reason and nothing else is.
    let some = advise(&["--similarity", "0", "--error", "0.5"]);
    assert_eq!(some["analysis"]["id"], plain.as_str());
    assert_eq!(some["conversions"].as_array().unwrap().len(), 1, "{some}");
    assert!(some["left_out"][0].as_str().unwrap().contains("Analyse reconstruction first"), "{some}");
    let text = program.run(&["advise", "bert_mlm", "--error", "0.5"]).expect_code(0).stdout;
    for words in ["Heads that could borrow", "headroom analyse", "--reconstruction", "text.txt"] {
        assert!(text.contains(words), "no {words} in {text}");
    }

    let whole = analysed(&program, "bert_mlm", &["--captured", "--reconstruction"]);
    // The words of the text in random order are measured too, and not advised from.
    let shuffled = analysed(&program, "bert_mlm", &["--captured", "--shuffled"]);
    let refused = program.run(&["advise", "bert_mlm", "--analysis", &shuffled]).expect_code(2);
    let _ = refused.expect_words(&["random order", "the text itself"]);
    let all = advise(&["--similarity", "0.5", "--energy", "0.8", "--error", "0.5"]);
    assert_eq!((&all["analysis"]["id"], &all["why_not"]), (&whole.as_str().into(), &Value::Null), "{all}");
    let conversions = all["conversions"].as_array().unwrap();
    let kinds: Vec<&str> = conversions.iter().map(|one| one["conversion"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["borrow", "collaborative", "coverage"], "{all}");
    assert_eq!(advise(&["--analysis", &plain])["analysis"]["id"], plain.as_str());
    let text = program.run(&["advise", "bert_mlm", "--similarity", "0.5", "--energy", "0.8"]).expect_code(0).stdout;
    for one in &conversions[..2] {
        assert!(text.contains(one["command"].as_str().unwrap()), "{text}");
    }

    // What is printed is what does it: each command as a shell would take it apart.
    let before = program.run(&["show", "bert_mlm", "--json"]).expect_code(0).json();
    assert_eq!(all["present"]["parameters"], before["parameters"]);
    for one in conversions {
        let command = one["command"].as_str().unwrap();
        let mut words: Vec<&str> = command.split_whitespace().skip(1).collect();
        words.push("--json");
        let done = program.run(&words).expect_code(0).events().pop().unwrap();
        assert_eq!(done["parameters"], one["costs"]["parameters"], "{command}: {done}");
        if one["conversion"]["kind"] == "borrow" {
            let borrowers = all["heads"]["heads"].as_array().unwrap();
            let borrowers = borrowers.iter().filter(|head| head["does"] == "borrows").count();
            assert!(
                borrowers > 0 && done["found"].as_str().unwrap().starts_with(&format!("{borrowers} of 12 heads")),
                "{done}"
            );
        }
        let made = program.run(&["show", one["to"].as_str().unwrap(), "--json"]).expect_code(0).json();
        assert_eq!(made["parameters"], one["costs"]["parameters"]);
    }
    assert_eq!(all["proposed"], conversions[2]["costs"]);
    // Names that are taken are not proposed again.
    let again = advise(&["--similarity", "0.5"]);
    assert_eq!(again["conversions"][0]["to"], "bert_mlm-borrow0.5-2");
    // What came out cannot be converted further, and says so.
    let last = conversions[2]["to"].as_str().unwrap();
    let _ = analysed(&program, last, &["--captured"]);
    let done = program.run(&["advise", last, "--similarity", "0", "--json"]).expect_code(0).json();
    assert!(done["why_not"].as_str().unwrap().contains("does not score every pair"), "{done}");
    assert!(done["conversions"].as_array().unwrap().is_empty());

    // An analysis of an earlier version, which did not keep where its text was, and named the folder as it was typed.
    let store = program.store();
    let known = store.analyses().unwrap().into_iter().filter(|one| one.target == target).collect::<Vec<_>>();
    let mut older = store.analysis(&whole.parse().unwrap()).unwrap();
    (older.target, older.text) = ("./bert_mlm".to_owned(), None);
    for one in known {
        store.set_analysis_deleted(&one.id, true).unwrap();
    }
    let id = AnalysisId::new();
    store.record_analysis(&id, None, &AnalysisSpec::default(), &older).unwrap();
    drop(store);
    let absolute = program.path("bert_mlm");
    let answer = program.run(&["advise", absolute.to_str().unwrap(), "--similarity", "0.5"]).expect_code(0).stdout;
    assert!(answer.contains("--data TEXT ") && answer.contains("text.txt"), "{answer}");
}

#[test]
fn model_directories_that_cannot_be_advised_say_why() {
    let program = program();
    for name in ["bert_mlm", "llama", "vit", "bart"] {
        golden(&program, name);
    }
    let command = format!("headroom analyse {} --data TEXT", program.path("llama").display());
    for (arguments, words) in [
        (vec!["advise", "llama"], vec!["was not analysed", command.as_str()]),
        (vec!["advise", "llama", "--train"], vec!["--train", "is converted", "model.initial"]),
        (vec!["advise", "llama", "--outcome"], vec!["--outcome", "headroom convert"]),
        (vec!["advise", "llama", "--step", "3"], vec!["--step", "--analysis"]),
        (vec!["advise", "vit"], vec!["was not analysed"]),
        (vec!["advise", "bart"], vec!["one stack"]),
        (vec!["advise", "./nowhere"], vec!["./nowhere"]),
        (vec!["advise", "llama", "--similarity", "2"], vec!["--similarity", "0 to 1"]),
    ] {
        let _ = program.run(&arguments).expect_code(2).expect_words(&words);
    }
    // Another model's analysis is none of this one, and one that compared by another measure says nothing of borrowing.
    let other = analysed(&program, "bert_mlm", &[]);
    let _ = program.run(&["advise", "llama", "--analysis", &other]).expect_code(2).expect_words(&["It has none"]);
    let _ = analysed(&program, "llama", &["cosine"]);
    let _ = program.run(&["advise", "llama"]).expect_code(2).expect_words(&[
        "total variation",
        "headroom analyse",
        "text.txt",
    ]);
    // What was measured is told of attention that no conversion starts from.
    let _ = analysed(&program, "llama", &["total_variation", "--captured", "--reconstruction"]);
    let arguments = ["advise", "llama", "--similarity", "0", "--energy", "0.8", "--error", "0.5"];
    let text = program.run(&arguments).expect_code(0).stdout;
    assert_eq!(text.matches("turned by their positions").count(), 1, "{text}");
    for words in ["Heads that could borrow", "4 of 8", "Nothing to convert"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    assert!(!text.contains("headroom convert"), "{text}");
}
