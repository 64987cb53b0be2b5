//! Runs that end early, noise on what a model reads, parts that stay as they are, and layers that learn more slowly.

use std::time::Duration;

use headroom_engine::{
    checkpoint::load_model_dir,
    config::{DeviceChoice, Precision},
    model::{EmbeddingNoise, ForwardOptions, Model, ModelInput, dtype, open_device},
    protocol::{Command, Event, JobCommand, JobRef, Target, Ticket, Which, commands, events},
    store::RunId,
    worker::{Engine, EngineOptions},
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

/// The tokens of a text: a byte `b` is the token 5 + b, between `[CLS]` and `[SEP]`.
fn tokens(text: &str) -> Vec<u32> {
    [2].into_iter().chain(text.bytes().map(|byte| 5 + u32::from(byte))).chain([3]).collect()
}

/// The mean length of the embeddings, the noise and the loss are worked out here from the exported weights, text by text.
#[test]
fn noise_is_as_long_as_its_share_of_the_embeddings() {
    const SEED: u64 = 7;
    let program = with_tables();
    let run = program.train(CONFIG, &["--set", "data.text=first", "probe.every=0"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let found = program.run(&["eval", &run, "--json", "--noise", "0.25,0.5,1", "--noise-seed", "7"]).expect_code(0);
    let found = found.json();
    let device = open_device(DeviceChoice::Cpu).unwrap();
    let loaded = load_model_dir(&program.path("model"), dtype(Precision::F32), &device).unwrap();
    let clean = Model::frozen(&loaded.plan, &loaded.parameters).unwrap();
    let dev = std::fs::read_to_string(program.path("dev.tsv")).unwrap();
    // Columns are the number, the class and both texts; classes are `no` and `yes`.
    let examples: Vec<(Vec<u32>, usize)> = dev
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|cells| (tokens(cells[2]), usize::from(cells[1] == "yes")))
        .collect();
    assert_eq!(examples.len(), 60);
    // The embeddings that the first layer reads, of all texts one after the other, and the mean loss.
    let read = |model: &Model| -> (Vec<Vec<f64>>, f64) {
        let (mut embeddings, mut loss) = (Vec::new(), 0.0);
        for (ids, class) in &examples {
            let input = ModelInput::new(ids, None, 1, ids.len(), &device).unwrap();
            let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
            let found = model.forward(&input, &options).unwrap();
            let wide = found.hidden[0].to_dtype(dtype(Precision::F64)).unwrap();
            embeddings.extend(wide.to_vec3::<f64>().unwrap().remove(0));
            let logits = found.logits.to_dtype(dtype(Precision::F64)).unwrap().to_vec2::<f64>().unwrap().remove(0);
            loss += logits.iter().map(|logit| logit.exp()).sum::<f64>().ln() - logits[*class];
        }
        (embeddings, loss / examples.len() as f64)
    };
    let length = |x: &[f64]| x.iter().map(|part| part * part).sum::<f64>().sqrt();
    let mean = |lengths: Vec<f64>| lengths.iter().sum::<f64>() / lengths.len() as f64;
    let (embeddings, loss) = read(&clean);
    assert!((number(&found["loss"]) - loss).abs() < 1e-4, "{found} {loss}");
    let whole = mean(embeddings.iter().map(|token| length(token)).collect());
    let noisy = |length: f64| read(&clean.clone().with_noise(Some(EmbeddingNoise { length, seed: SEED })));
    let told = found["noise"].as_array().unwrap();
    assert_eq!(told.len(), 3);
    let mut most = 0.0_f64;
    for (share, told) in [0.25, 0.5, 1.0].into_iter().zip(told) {
        let (moved, wanted) = noisy(share * whole);
        let noise = |(token, clean): (&Vec<f64>, &Vec<f64>)| {
            length(&token.iter().zip(clean).map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        let noise = mean(moved.iter().zip(&embeddings).map(noise).collect());
        assert!((noise / whole - share).abs() < 0.01 * share, "{share}: {noise} of {whole}");
        assert_eq!(number(&told["noise"]), share);
        let loss = number(&told["loss"]);
        assert!((loss - wanted).abs() < 2e-4 * (1.0 + wanted), "{share}: {loss} {wanted}");
        most = most.max((loss - noisy(1.1 * share * whole).1).abs());
    }
    assert!(most > 2e-3, "noise that is a tenth longer gives other losses: {most}");
}

#[test]
fn answers_about_many_texts_end_when_they_are_told_to() {
    let program = with_tables();
    let run: RunId = program.train(CONFIG, &["--set", "train.steps=2", "train.evaluate_every=2"]).parse().unwrap();
    let engine = Engine::start(EngineOptions { store: program.store_path(), wake: None }).unwrap();
    let asks = |count: usize| {
        Command::Job(JobCommand::Predict(commands::Predict {
            target: Target::Run { run: run.clone(), which: Which::Best },
            rows: vec![vec!["a text of a few words".to_owned(), "another".to_owned()]; count],
            images: None,
        }))
    };
    // What comes of a request, and how far it was told to be before.
    let outcome = |wanted: Ticket, mut at_first: Option<Command>| -> (Event, Vec<(usize, usize)>) {
        let mut told = Vec::new();
        loop {
            let notice = engine.wait_event(Duration::from_mins(2)).unwrap();
            match notice.event {
                Event::Predicting(events::Predicting { done, count }) if notice.ticket == Some(wanted) => {
                    told.push((done, count));
                    if let Some(command) = at_first.take() {
                        engine.send(command).unwrap();
                    }
                }
                event @ (Event::Predicted(_) | Event::Failed(_) | Event::Refused(_))
                    if notice.ticket == Some(wanted) =>
                {
                    return (event, told);
                }
                _ => {}
            }
        }
    };
    let many = engine.send(asks(200_000)).unwrap();
    let (ended, told) = outcome(many, Some(Command::Cancel(commands::Cancel { job: JobRef::Ticket(many) })));
    let (Event::Failed(events::Failed { why, .. }) | Event::Refused(events::Refused { why })) = ended else {
        panic!("{ended:?}")
    };
    assert!(why.contains("It was stopped."), "{why}");
    assert!(told.iter().all(|(done, count)| done < count && *count == 200_000), "{told:?}");
    // Others are answered all the same.
    for count in [1, 2] {
        let next = engine.send(asks(count)).unwrap();
        let (answer, _) = outcome(next, None);
        assert!(
            matches!(&answer, Event::Predicted(events::Predicted { outputs, .. }) if outputs.len() == count),
            "{answer:?}"
        );
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

/// How far a tensor of 32-bit numbers moved.
fn distance(before: &[u8], after: &[u8]) -> f64 {
    let numbers = |bytes: &[u8]| -> Vec<f64> {
        let each = bytes.chunks_exact(4).filter_map(|four| four.try_into().ok());
        each.map(|four| f64::from(f32::from_le_bytes(four))).collect()
    };
    let (before, after) = (numbers(before), numbers(after));
    before.iter().zip(&after).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// One step from the same weights on the same rows: the update of a parameter is its rate times one that does not depend on it.
#[test]
fn lower_layers_move_by_their_share_of_the_learning_rate() {
    let program = with_tables();
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    let _ = program.run(&["export", &run, "--to", "before"]).expect_code(0);
    let before = tensors(&program, "before");
    let step = |decay: &str| -> Vec<(String, f64)> {
        let layer_decay = format!("train.layer_decay={decay}");
        let begin = ["model.initial=before", "data.tokenizer.kind=initial", "probe.every=0", "train.weight_decay=0.0"];
        let rate = ["train.schedule={kind=\"constant\"}", "train.learning_rate=1e-2", &layer_decay];
        let arguments = [&["train", "c.toml", "--json", "--steps", "1", "--set"], &begin[..], &rate].concat();
        let events = program.run(&arguments).expect_code(0).events();
        let run = events.last().unwrap()["run"].as_str().unwrap().to_owned();
        let folder = format!("after-{decay}");
        let _ = program.run(&["export", &run, "--to", &folder, "--which", "last"]).expect_code(0);
        let after = tensors(&program, &folder);
        assert_eq!(after.len(), before.len());
        let mut moved = Vec::new();
        for ((name, old), (other, new)) in before.iter().zip(&after) {
            assert_eq!(name, other);
            moved.push((name.clone(), distance(old, new)));
        }
        moved
    };
    let (all, slower) = (step("1.0"), step("0.5"));
    let mut counts = [0; 4];
    for ((name, full), (_, part)) in all.iter().zip(&slower) {
        // What rounding leaves of a gradient that is zero.
        if name.ends_with("key.bias") {
            continue;
        }
        let below_the_head = match name {
            name if name.contains("embeddings") => 3,
            name if name.contains("layer.0.") => 2,
            name if name.contains("layer.1.") => 1,
            _ => 0,
        };
        counts[below_the_head as usize] += 1;
        let share = 0.5_f64.powi(below_the_head);
        assert!(*full > 0.0 && (part / full - share).abs() < 0.01 * share, "{name}: {part} of {full}, not {share}");
    }
    assert!(counts.iter().all(|count| *count > 1), "{counts:?}");
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
