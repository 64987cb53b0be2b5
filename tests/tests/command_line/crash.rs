//! A program that is killed while it trains loses at most its last steps, and goes on along the very same curve.

use std::{path::PathBuf, time::Duration};

use headroom_engine::store::{OpenMode, RunFilter, RunState, Store};
use headroom_tests::{Chance, Program, TINY_DECODER, TINY_ENCODER, TINY_TRANSLATION};
use serde_json::Value;

use crate::program;

/// Kills of every run here; four runs make 24.
const KILLS: usize = 6;

const STEPS: u64 = 240;

/// Many checkpoints and evaluations, so that many kills fall into one.
fn busy(config: &str) -> String {
    config
        .replace("steps = 60", &format!("steps = {STEPS}"))
        .replace("checkpoint_every = 20", "checkpoint_every = 6")
        .replace("evaluate_every = 20", "evaluate_every = 15")
}

/// Kills a run of `config` again and again, then lets it finish; its curves must be those of a run left in peace.
fn kill_and_compare(config: &str, seed: u64) {
    let config = busy(config);
    let peaceful = program();
    let whole = peaceful.train(&config, &[]);

    let program = program();
    program.write("c.toml", &config);
    let mut chance = Chance::new(seed);
    let mut run: Option<String> = None;
    let (mut reached, mut kills) = (0, 0);
    while kills < KILLS {
        let training = match &run {
            None => program.start(&["train", "c.toml", "--json"]),
            Some(run) => program.start(&["resume", run, "--json"]),
        };
        let queued = training.wait_for("queued", |_| true).unwrap();
        run = Some(queued["run"].as_str().unwrap().to_owned());
        // Before the first step now and then, else somewhere along the way.
        if chance.below(5) > 0 {
            let target = reached + chance.below((STEPS - reached).div_ceil(4));
            let step = training.wait_for("step", |event| event["step"].as_u64().unwrap() >= target);
            assert!(step.is_some(), "the program ended by itself after {kills} kills (seed {seed})");
        }
        std::thread::sleep(Duration::from_micros(chance.below(20_000)));
        training.kill();
        kills += 1;
        let (state, steps_done) = check_after_kill(program.store_path(), run.as_ref().unwrap(), kills, seed);
        if state == RunState::Finished {
            break;
        }
        reached = steps_done.min(STEPS - 20);
    }
    assert!(kills >= 5, "the run was too quick to be killed five times (seed {seed})");

    let run = run.unwrap();
    let events = program.run(&["resume", &run, "--json"]);
    // A kill after the very last step leaves nothing to do.
    if events.code == 0 {
        assert_eq!(events.events().last().unwrap()["state"], "finished");
    } else {
        assert_eq!(program.show(&run)["state"], "finished", "{}", events.stderr);
    }
    for series in ["train/loss", "validation/loss", "train/grad_norm", "train/learning_rate"] {
        let (expected, found) = (peaceful.curve(&whole, series), program.curve(&run, series));
        assert!(!expected.is_empty(), "no {series}");
        let differing = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert_eq!(expected.len(), found.len(), "{series} (seed {seed}), first difference {differing:?}");
        assert_eq!(differing, None, "{series} (seed {seed})");
    }
    let shown = program.show(&run);
    assert_eq!(shown["steps"], STEPS);
    for metric in ["last", "best", "best_step"] {
        let of = |value: &Value| value["metrics"]["validation/loss"][metric].clone();
        assert_eq!(of(&shown), of(&peaceful.show(&whole)), "{metric}");
    }
    assert_no_rubbish(&program, &run);
}

/// The store opens clean and says that the run was interrupted. Returns what it knows of the run.
fn check_after_kill(path: PathBuf, run: &str, kill: usize, seed: u64) -> (RunState, u64) {
    let store =
        Store::open(&path, OpenMode::ReadWrite).unwrap_or_else(|error| panic!("kill {kill}, seed {seed}: {error}"));
    store.verify().unwrap_or_else(|error| panic!("kill {kill}, seed {seed}: {error}"));
    let runs = store.runs(RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].id.as_str(), run);
    assert!(
        matches!(runs[0].state, RunState::Interrupted | RunState::Finished),
        "kill {kill}, seed {seed}: {}",
        runs[0].state
    );
    for checkpoint in store.checkpoints(&runs[0].id).unwrap() {
        assert!(checkpoint.path.join("model.safetensors").is_file(), "{} is not whole", checkpoint.path.display());
    }
    (runs[0].state, runs[0].steps_done)
}

/// A half-written checkpoint of a killed program is not left behind for good.
fn assert_no_rubbish(program: &Program, run: &str) {
    let kept: Vec<PathBuf> = program.show(run)["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|checkpoint| PathBuf::from(checkpoint["path"].as_str().unwrap()))
        .collect();
    let folder = kept[0].parent().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(kept.contains(&path), "{} was left behind", path.display());
    }
}

/// A run as presets make them: the first regular checkpoint would come after the last step.
fn without_checkpoints() -> String {
    busy(TINY_DECODER).replace("checkpoint_every = 6", "checkpoint_every = 500")
}

/// Lets a program train until it told of `step`, and kills it.
fn kill_after(training: headroom_tests::Training, step: u64) {
    assert!(training.wait_for("step", |event| event["step"].as_u64().unwrap() >= step).is_some(), "it ended by itself");
    training.kill();
}

fn best(program: &Program, run: &str) -> Value {
    let shown = program.show(run);
    let kept = shown["checkpoints"].as_array().unwrap().iter();
    kept.clone().find(|kept| kept["kind"] == "best").cloned().unwrap_or_else(|| panic!("no best in {shown}"))
}

#[test]
fn a_crash_before_the_first_checkpoint_loses_what_followed_the_first_evaluation() {
    let config = without_checkpoints();
    let peaceful = program();
    let whole = peaceful.train(&config, &[]);
    let program = program();
    program.write("c.toml", &config);
    let training = program.start(&["train", "c.toml", "--json"]);
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    kill_after(training, 100);
    let dead = best(&program, &run);
    assert!(dead["step"].as_u64().unwrap() >= 60, "{dead}");
    // It starts again, and is killed before it is where it was.
    let training = program.start(&["resume", &run, "--json"]);
    let started = training.wait_for("started", |_| true).unwrap();
    assert_eq!(started["first_step"], 15, "the state of the first evaluation");
    assert!(training.wait_for("evaluated", |event| event["step"] == 30).is_some());
    training.kill();
    assert_eq!(best(&program, &run), dead, "an evaluation that is worse replaces no best");
    let events = program.run(&["resume", &run, "--json"]).expect_code(0).events();
    let started = events.iter().find(|event| event["event"] == "started").unwrap();
    assert_eq!(started["first_step"], 15);
    for series in ["train/loss", "validation/loss", "train/grad_norm"] {
        assert_eq!(peaceful.curve(&whole, series), program.curve(&run, series), "{series}");
    }
    let of = |value: &Value| (value["step"].clone(), value["value"].clone());
    assert_eq!(of(&best(&program, &run)), of(&best(&peaceful, &whole)));
    assert_no_rubbish(&program, &run);
}

/// While a run starts again, other programs that look at it see the new attempt and nothing of the dead one.
#[test]
fn a_run_that_starts_again_is_shown_as_far_as_it_is() {
    let program = program();
    // Long steps after few: the dead attempt is far ahead for a while.
    program.write("c.toml", without_checkpoints().replace("evaluate_batches = 2", "evaluate_batches = 40"));
    let training = program.start(&["train", "c.toml", "--json"]);
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    kill_after(training, 200);
    let dead = program.show(&run)["steps_done"].as_u64().unwrap();
    assert!(dead >= 150, "{dead}");
    let training = program.start(&["resume", &run, "--json"]);
    let _ = training.wait_for("queued", |_| true).unwrap();
    let (mut looks, mut told) = (0, 0);
    loop {
        let shown = program.show(&run);
        let listed = program.run(&["runs", "--json"]).expect_code(0).json();
        while let Some(event) = training.next(Duration::ZERO) {
            told = event["step"].as_u64().unwrap_or(told);
        }
        // Steps are told some thirty times a second.
        if told + 50 >= dead || shown["state"] == "finished" || looks >= 5 {
            break;
        }
        looks += 1;
        let row = listed[0].clone();
        for seen in [shown, row] {
            assert!(
                seen["steps_done"].as_u64().unwrap() < dead,
                "step {told} was told, the dead attempt had {dead}: {seen}"
            );
            let metrics = seen["metrics"].as_object().unwrap();
            for (name, metric) in metrics.iter().filter(|(name, _)| !name.starts_with("system/")) {
                assert!(metric["last_step"].as_u64().unwrap() < dead, "{name}: {metric}");
            }
            assert!(["queued", "running"].contains(&seen["state"].as_str().unwrap()), "{}", seen["state"]);
        }
    }
    training.kill();
    assert!(looks > 0, "the run was too quick to be looked at");
}

#[test]
fn a_killed_decoder_goes_on_along_the_same_curve() {
    kill_and_compare(TINY_DECODER, 1);
}

#[test]
fn a_killed_decoder_goes_on_whenever_it_is_killed() {
    kill_and_compare(TINY_DECODER, 2);
}

#[test]
fn a_killed_encoder_goes_on_along_the_same_curve() {
    kill_and_compare(TINY_ENCODER, 3);
}

#[test]
fn an_encoder_decoder_killed_at_any_time_loses_nothing_and_goes_on_exactly() {
    kill_and_compare(TINY_TRANSLATION, 5);
}

#[test]
fn accumulation_and_two_threads_go_on_along_the_same_curve() {
    let config = TINY_DECODER.replace("threads = 1", "threads = 2").replace("batch = 4", "batch = 2\naccumulation = 2");
    kill_and_compare(&config, 4);
}

/// The arithmetic that decides the bits of a loss is stored with a run: one of an earlier version is kept, one of a newer version is
/// refused rather than continued along another curve.
#[test]
fn a_run_resumes_by_the_numerics_by_which_it_began() {
    let program = program();
    program.write("c.toml", busy(&TINY_ENCODER.replace("batch = 4", "batch = 2\naccumulation = 2")));
    let training = program.start(&["train", "c.toml", "--json"]);
    let queued = training.wait_for("queued", |_| true).unwrap();
    let run = queued["run"].as_str().unwrap().to_owned();
    assert!(training.wait_for("step", |event| event["step"].as_u64().unwrap() >= 20).is_some());
    training.kill();
    assert_eq!(program.show(&run)["numerics"], 3);
    headroom_tests::execute(&program.store_path(), "UPDATE runs SET numerics = 99");
    let refused = program.run(&["resume", &run]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("newer version") && refused.stderr.contains("numerics 99"), "{}", refused.stderr);
    headroom_tests::execute(&program.store_path(), "UPDATE runs SET numerics = NULL");
    let resumed = program.run(&["resume", &run, "--json"]).expect_code(0);
    assert_eq!(resumed.events().last().unwrap()["state"], "finished");
    assert_eq!(program.show(&run)["numerics"], 1, "it stays the version by which the run began");
}
