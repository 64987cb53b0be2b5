//! Runs that end early, parts that stay as they are, and layers that learn more slowly.

use std::time::Duration;

use headroom_engine::{
    store::RunId,
    worker::{Command, Engine, EngineOptions, Event, Target, Ticket, Which},
};
use safetensors::SafeTensors;
use serde_json::Value;

use super::{CONFIG, classes, number, program, table};
use headroom_tests::Program;

fn with_tables() -> Program {
    let program = program();
    program.write("train.tsv", table(400, 0, classes));
    program.write("dev.tsv", table(60, 1000, classes));
    program.write("c.toml", CONFIG);
    program
}

const EARLY: &str = "train.stop_early={ metric = \"validation/accuracy\", patience = 2 }";

#[test]
fn a_run_that_improves_no_more_ends_with_its_best_checkpoint_and_says_so() {
    let program = with_tables();
    // It learns everything at once and then nothing more.
    let more =
        ["--set", EARLY, "train.evaluate_every=20", "train.checkpoint_every=5", "probe.every=0", "train.steps=600"];
    let arguments = [&["train", "c.toml", "--json"], more.as_slice()].concat();
    let events = program.run(&arguments).expect_code(0).events();
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished", "{last}");
    let why = last["why"].as_str().unwrap();
    assert!(why.contains("Accuracy did not improve in 2 evaluations") && why.contains("train.stop_early"), "{why}");
    let step = last["step"].as_u64().unwrap();
    let best = last["best_step"].as_u64().unwrap();
    assert!(step < 600 && step == best + 40, "{last}");
    assert!(why.contains(&format!("of step {best}")), "{why}");
    let run = last["run"].as_str().unwrap();
    // What tells a run that ended early from one that did all that it was to do.
    let shown = program.show(run);
    assert_eq!((shown["steps_done"].as_u64(), shown["steps_total"].as_u64()), (Some(step), Some(600)), "{shown}");
    let accuracy = program.curve(run, "validation/accuracy");
    let of_best = program.run(&["eval", run, "--json"]).expect_code(0).json();
    let highest = accuracy.iter().map(|point| f64::from_bits(point.1)).fold(0.0, f64::max);
    assert!((number(&of_best["metrics"]["accuracy"]) - highest).abs() < 1e-9, "{of_best}");
    // Noise on what it reads.
    let noisy = program.run(&["eval", run, "--json", "--noise", "0,2.0"]).expect_code(0).json();
    let [none, much] = noisy["noise"].as_array().unwrap().as_slice() else { panic!("{noisy}") };
    assert_eq!((&none["loss"], &none["accuracy"]), (&of_best["loss"], &of_best["accuracy"]));
    // Which way the loss goes, a model that learnt so little does not say.
    assert!(number(&much["loss"]).is_finite() && much["loss"] != none["loss"], "{noisy}");
    // Killed on the way, it ends at the same step.
    let training = program.start(&arguments);
    let other = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    let _ = training.wait_for("evaluated", |event| event["step"].as_u64() >= Some(best + 20)).unwrap();
    training.kill();
    let events = program.run(&["resume", &other, "--json"]).expect_code(0).events();
    assert_eq!((&events.last().unwrap()["step"], &events.last().unwrap()["why"]), (&last["step"], &last["why"]));
    assert_eq!(program.curve(&other, "validation/accuracy"), accuracy);
    let refused = |set: &str, words: &[&str]| {
        let _ = program.run(&["train", "c.toml", "--set", set]).expect_code(2).expect_words(words);
    };
    refused(
        "train.stop_early={ metric = \"validation/bleu\" }",
        &["train.stop_early.metric", "validation/accuracy, validation/f1"],
    );
    refused("train.stop_early={ patience = 0 }", &["train.stop_early.patience"]);
}

#[test]
fn answers_about_many_texts_end_when_they_are_told_to() {
    let program = with_tables();
    let run: RunId = program.train(CONFIG, &["--set", "train.steps=2", "train.evaluate_every=2"]).parse().unwrap();
    let engine = Engine::start(EngineOptions { store: program.store_path(), wake: None }).unwrap();
    let asks = |count: usize| Command::Predict {
        target: Target::Run { run: run.clone(), which: Which::Best },
        rows: vec![vec!["a text of a few words".to_owned(), "another".to_owned()]; count],
        images: None,
    };
    // What comes of a request, and how far it was told to be before.
    let outcome = |wanted: Ticket, mut at_first: Option<Command>| -> (Event, Vec<(usize, usize)>) {
        let mut told = Vec::new();
        loop {
            let notice = engine.wait_event(Duration::from_mins(2)).unwrap();
            match notice.event {
                Event::Predicting { done, count } if notice.ticket == Some(wanted) => {
                    told.push((done, count));
                    if let Some(command) = at_first.take() {
                        engine.send(command).unwrap();
                    }
                }
                event @ (Event::Predicted { .. } | Event::Failed { .. } | Event::Refused { .. })
                    if notice.ticket == Some(wanted) =>
                {
                    return (event, told);
                }
                _ => {}
            }
        }
    };
    let many = engine.send(asks(200_000)).unwrap();
    let (ended, told) = outcome(many, Some(Command::CancelPrediction { prediction: many }));
    let (Event::Failed { why, .. } | Event::Refused { why }) = ended else { panic!("{ended:?}") };
    assert!(why.contains("It was stopped."), "{why}");
    assert!(told.iter().all(|(done, count)| done < count && *count == 200_000), "{told:?}");
    // Others are answered all the same.
    for count in [1, 2] {
        let next = engine.send(asks(count)).unwrap();
        let (answer, _) = outcome(next, None);
        assert!(matches!(&answer, Event::Predicted { outputs, .. } if outputs.len() == count), "{answer:?}");
    }
    assert!(engine.shutdown(Duration::from_mins(1)));
}

/// The tensors of a model directory by name, as bytes.
fn tensors(program: &Program, folder: &str) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(program.path(folder).join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut all: Vec<_> = file.tensors().into_iter().map(|(name, view)| (name, view.data().to_vec())).collect();
    all.sort();
    all
}

#[test]
fn parts_that_are_frozen_stay_to_the_last_bit_and_the_others_learn() {
    let program = with_tables();
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    let _ = program.run(&["export", &run, "--to", "before"]).expect_code(0);
    let begin =
        ["--set", "model.initial=before", "data.tokenizer.kind=initial", "probe.every=0", "train.evaluate_every=0"];
    let freeze = ["train.freeze=[\"embeddings\", \"layers.0\"]", "train.layer_decay=0.5"];
    let arguments = [&["train", "c.toml", "--json", "--steps", "6"], begin.as_slice(), &freeze].concat();
    let events = program.run(&arguments).expect_code(0).events();
    let told =
        |event: &&Value| event["message"].as_str().is_some_and(|text| text.contains("stay as they are (train.freeze)"));
    assert!(events.iter().any(|event| told(&event)), "{events:?}");
    let run = events.last().unwrap()["run"].as_str().unwrap();
    let _ = program.run(&["export", run, "--to", "after", "--which", "last"]).expect_code(0);
    let (before, after) = (tensors(&program, "before"), tensors(&program, "after"));
    let mut frozen = 0;
    for ((name, old), (other, new)) in before.iter().zip(&after) {
        assert_eq!(name, other);
        let is_frozen = name.contains("embeddings") || name.contains("layer.0.");
        // A bias of keys has no gradient: the softmax takes it away. What rounding leaves moves it all the same.
        assert!(is_frozen == (old == new) || name.ends_with("key.bias"), "{name}");
        frozen += usize::from(is_frozen);
    }
    assert!(frozen > 16 && frozen < before.len(), "{frozen}");
    let refused = |set: &str, words: &[&str]| {
        let _ = program.run(&["train", "c.toml", "--set", set]).expect_code(2).expect_words(words);
    };
    refused("train.freeze=[\"layers.1-2\"]", &["train.freeze", "no layer 2"]);
    refused("train.freeze=[\"pooler\"]", &["train.freeze", "names no part"]);
    refused("train.layer_decay=0", &["train.layer_decay"]);
}
