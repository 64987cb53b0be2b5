//! Advice on the command line: from a trained run to what it could save, trained beside it, and what came out.
#![expect(clippy::panic, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use headroom_tests::{Program, TINY_ENCODER};
use serde_json::Value;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_headroom-under-test"))
}

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

    // Asked again later, from either side.
    let later = program.run(&["advise", &run, "--outcome", "--json"]).expect_code(0).json();
    assert_eq!(later["outcomes"][0], trained);
    let text = program.run(&["advise", advised, "--outcome"]).expect_code(0).stdout;
    for words in ["tiny encoder: 2 heads borrow, d_k", "trained beside it", "predicted", "came out", "step 20"] {
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
