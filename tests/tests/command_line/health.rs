//! Runs whose loss goes wrong without becoming infinite: told while they train, and never called finished.

use headroom_tests::{Answer, Program, TINY_DECODER};
use serde_json::Value;

fn program() -> Program {
    let program = crate::program();
    program.write("c.toml", TINY_DECODER.replace("steps = 60", "steps = 160"));
    program
}

/// A learning rate of 90: each step is as large as the clip allows, and the loss grows past all bounds.
const WILD: [&str; 4] =
    ["--set", "train.learning_rate=90.0", "train.schedule={kind=\"constant\"}", "train.weight_decay=0.0"];

fn train(program: &Program, more: &[&str]) -> Answer {
    let mut arguments = vec!["train", "c.toml"];
    arguments.extend(WILD);
    arguments.extend(more);
    program.run(&arguments)
}

/// The kinds of health that were told, in order.
fn told(events: &[Value]) -> Vec<&str> {
    events.iter().filter(|event| event["event"] == "health").map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_loss_that_grows_and_stays_finite_ends_the_run_as_diverged() {
    let program = program();
    let answer = train(&program, &["--json"]).expect_code(1);
    let answer = answer.expect_words(&["Diverged", "after 160 steps", "did not come back", "learning rate"]);
    let events = answer.events();
    assert_eq!(told(&events), ["unstable", "diverged"]);
    let unstable = events.iter().find(|event| event["event"] == "health").unwrap();
    assert!(unstable["step"].as_u64().unwrap() < 60 && unstable["loss"].as_f64().unwrap() > 6.0, "{unstable}");
    assert!(unstable["message"].as_str().unwrap().contains("lower the learning rate"), "{unstable}");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["state"], &last["step"]), (&"finished".into(), &"diverged".into(), &160.into()));
    let shown = program.show(last["run"].as_str().unwrap());
    assert_eq!((&shown["state"], &shown["health"]["kind"]), (&"diverged".into(), &"diverged".into()));
    assert!(shown["diverged"]["step"].as_u64().unwrap() < 40 && shown["diverged"]["at"].is_null(), "{shown}");
    let runs = program.run(&["runs"]).expect_code(0).stdout;
    assert!(runs.contains(" diverged ") && runs.contains("diverged. The training loss has risen since step"), "{runs}");
    let words = program.run(&["show", "1"]).expect_code(0).stdout;
    assert!(words.contains("did not come back") && words.contains("from step"), "{words}");
    // What it has is not lost.
    let out = program.path("model").display().to_string();
    let _ = program.run(&["export", "1", "--to", &out, "--which", "last"]).expect_code(0);
}

#[test]
fn a_run_that_has_diverged_can_be_told_to_stop_at_once() {
    let program = program();
    let answer = train(&program, &["train.stability={kind=\"watch\", stop=true}", "--json"]).expect_code(1);
    let events = answer.expect_words(&["Diverged"]).events();
    let last = events.last().unwrap();
    assert_eq!(last["state"], "diverged");
    let step = last["step"].as_u64().unwrap();
    assert!((40..120).contains(&step), "{last}");
    let shown = program.show(last["run"].as_str().unwrap());
    let checkpoints = shown["checkpoints"].as_array().unwrap();
    assert!(checkpoints.iter().any(|checkpoint| checkpoint["step"] == step), "{shown}");
}

#[test]
fn a_run_that_nobody_watches_finishes_whatever_its_loss() {
    let program = program();
    let events = train(&program, &["train.stability.kind=off", "--json"]).expect_code(0).events();
    assert_eq!(told(&events), Vec::<&str>::new());
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished");
    let shown = program.show(last["run"].as_str().unwrap());
    assert!(shown["health"].is_null() && shown["config"]["train"]["stability"]["kind"] == "off", "{shown}");
    let _ = program
        .run(&["train", "c.toml", "--set", "train.stability.kind=of"])
        .expect_code(2)
        .expect_words(&["train.stability", "`off`"]);
}

#[test]
fn a_sound_run_is_sound_and_its_config_is_that_of_before() {
    let program = program();
    let run = program.train(TINY_DECODER, &[]);
    let shown = program.show(&run);
    assert_eq!((&shown["state"], &shown["health"]["kind"]), (&"finished".into(), &"sound".into()));
    assert!(shown["config"]["train"].get("stability").is_none(), "configs of before would differ");
    let runs = program.run(&["runs"]).expect_code(0).stdout;
    assert!(runs.contains(" finished ") && !runs.contains("sound"), "{runs}");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_continued_is_judged_by_all_its_steps() {
    let program = program();
    let mut arguments = vec!["train", "c.toml"];
    arguments.extend(WILD);
    arguments.extend(["train.steps=3000", "train.evaluate_every=1000", "train.checkpoint_every=1000", "--json"]);
    let training = program.start(&arguments);
    let unstable = training.wait_for("health", |event| event["kind"] == "unstable").unwrap();
    training.signal("INT");
    let (code, last) = training.wait();
    let (last, run) = (last.unwrap(), unstable["run"].as_str().unwrap());
    assert_eq!((code, &last["state"]), (1, &"stopped".into()), "{last}");
    let shown = program.show(run);
    assert!(["unstable", "diverged"].contains(&shown["health"]["kind"].as_str().unwrap()), "{shown}");
    let answer = program.run(&["resume", run, "--json"]).expect_code(1);
    let events = answer.events();
    assert_eq!(events.last().unwrap()["state"], "diverged");
    // What was known before is told again, not found anew.
    let first = events.iter().find(|event| event["event"] == "health").unwrap();
    assert_eq!((&first["step"], &first["since_step"]), (&last["step"], &shown["health"]["since_step"]), "{first}");
}

#[test]
fn a_race_does_not_count_what_diverged() {
    let program = program();
    let variant = "wild:train.learning_rate=90.0,train.weight_decay=0.0,train.schedule={kind=\"constant\"}";
    let answer = program.run(&["race", "c.toml", "--variant", variant, "--json"]).expect_code(1);
    let table = answer.json();
    let finished: Vec<_> = table["entrants"].as_array().unwrap().iter().map(|entrant| &entrant["finished"]).collect();
    assert_eq!(finished, [&Value::from(1), &Value::from(0)], "{table}");
    let why = table["entrants"][1]["runs"][0]["why"].as_str().unwrap();
    assert!(why.contains("did not come back"), "{why}");
}

/// Trains every preset on built-in text to its end; some minutes on two cores.
#[test]
#[ignore = "trains every preset: cargo test -p headroom-tests --test command_line health -- --ignored"]
fn no_preset_raises_an_alarm() {
    let program = program();
    for preset in headroom_engine::config::presets() {
        if !preset.name.starts_with("grammar-") && preset.name != "random-decoder" {
            continue;
        }
        let events = program.run(&["train", preset.name, "--json"]).expect_code(0).events();
        let told = told(&events);
        println!("{}: {told:?}", preset.name);
        assert!(told.iter().all(|kind| ["plateau", "sound"].contains(kind)), "{}: {told:?}", preset.name);
    }
}
