//! A program that is killed while it trains loses at most its last steps, and goes on along the very same curve.
#![expect(clippy::panic, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use std::{path::PathBuf, time::Duration};

use headroom_engine::store::{OpenMode, RunFilter, RunState, Store};
use headroom_tests::{Chance, Program, TINY_DECODER, TINY_ENCODER, TINY_TRANSLATION};
use serde_json::Value;

/// Kills of every run here; four runs make 24.
const KILLS: usize = 6;

const STEPS: u64 = 240;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_headroom-under-test"))
}

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
    program.write("c.toml", &busy(&TINY_ENCODER.replace("batch = 4", "batch = 2\naccumulation = 2")));
    let training = program.start(&["train", "c.toml", "--json"]);
    let queued = training.wait_for("queued", |_| true).unwrap();
    let run = queued["run"].as_str().unwrap().to_owned();
    assert!(training.wait_for("step", |event| event["step"].as_u64().unwrap() >= 20).is_some());
    training.kill();
    assert_eq!(program.show(&run)["numerics"], 2);
    headroom_tests::execute(&program.store_path(), "UPDATE runs SET numerics = 99");
    let refused = program.run(&["resume", &run]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("newer version") && refused.stderr.contains("numerics 99"), "{}", refused.stderr);
    headroom_tests::execute(&program.store_path(), "UPDATE runs SET numerics = NULL");
    let resumed = program.run(&["resume", &run, "--json"]).expect_code(0);
    assert_eq!(resumed.events().last().unwrap()["state"], "finished");
    assert_eq!(program.show(&run)["numerics"], 1, "it stays the version by which the run began");
}
