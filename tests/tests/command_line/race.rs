//! Races and sweeps on the command line, from the arguments to the table.

#[cfg(unix)]
use std::{
    process::Command,
    time::{Duration, Instant},
};

use headroom_engine::store::OutcomeKind;
use headroom_tests::TINY_DECODER;
use serde_json::Value;

use crate::program;

/// A handful of steps, so that four runs take a second.
const FEW: [&str; 5] = [
    "--set",
    "train.steps=6",
    "train.evaluate_every=3",
    "train.schedule={kind=\"constant\"}",
    "train.checkpoint_every=0",
];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().chain(more).copied().collect()
}

/// Name, finished runs and mean of the best held-out loss of each.
fn entrants(answer: &Value) -> Vec<(String, u64, f64)> {
    let entrant = |entrant: &Value| {
        let loss = entrant["best_validation_loss"]["mean"].as_f64().unwrap();
        (entrant["name"].as_str().unwrap().to_owned(), entrant["finished"].as_u64().unwrap(), loss)
    };
    answer["entrants"].as_array().unwrap().iter().map(entrant).collect()
}

#[test]
fn a_race_trains_every_variant_with_every_seed_and_compares_them_with_the_baseline() {
    let program = program();
    let race = with(&["race", "tiny.toml", "--families", "symmetric,full", "--seeds", "2", "--json"], &FEW);
    program.write("tiny.toml", TINY_DECODER);
    let answer = program.run(&race).expect_code(0).expect_words(&["Run 1 of 6", "Run 6 of 6"]).json();
    let all = entrants(&answer);
    let names: Vec<_> = all.iter().map(|(name, finished, _)| (name.as_str(), *finished)).collect();
    assert_eq!(names, [("standard", 2), ("symmetric", 2), ("full P 1", 2)]);
    assert_eq!((answer["tag"].as_str(), answer["complete"].as_bool()), (Some("race:tiny decoder"), Some(true)));

    // The same table again from the store, and the figures are those of the runs.
    let again = program.run(&["compare", "--tag", "race:tiny decoder", "--json"]).expect_code(0).json();
    assert_eq!(again["entrants"], answer["entrants"]);
    let baseline = &answer["entrants"][0];
    let symmetric = &answer["entrants"][1];
    let of = |entrant: &Value, run: usize, field: &str| entrant["runs"][run][field].clone();
    let seeds = [0, 1].map(|run| of(symmetric, run, "seed").as_u64().unwrap());
    assert_eq!(seeds, [3, 4], "counted up from the config's");
    let losses = [0, 1].map(|run| {
        let shown = program.show(of(symmetric, run, "id").as_str().unwrap());
        assert_eq!(shown["tags"][0], "race:tiny decoder");
        assert_eq!(shown["config"]["attention"]["compatibility"]["kind"], "symmetric");
        shown["metrics"]["validation/loss"]["best"].as_f64().unwrap()
    });
    let mean = f64::midpoint(losses[0], losses[1]);
    let sd = (losses[0] - losses[1]).abs() / 2.0_f64.sqrt();
    let loss = &symmetric["best_validation_loss"];
    assert!((loss["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{loss}");
    assert!((loss["sd"].as_f64().unwrap() - sd).abs() < 1e-12, "{loss}");
    assert!((loss["delta"].as_f64().unwrap() - (mean - all[0].2)).abs() < 1e-12, "{loss}");
    let judged = &loss["judged"];
    assert_eq!((&judged["rests_on"], &judged["pairs"]), (&"pairs".into(), &2.into()), "{loss}");
    assert!(judged["half_width"].is_number() && judged["verdict"].is_string(), "{loss}");
    assert!(judged["evaluation_examples"].as_u64() > Some(0), "outcomes of single examples were recorded: {loss}");
    assert!(baseline["best_validation_loss"]["judged"].is_null(), "{baseline}");
    assert!(symmetric["parameters"]["delta"].as_f64().unwrap() < 0.0, "a key projection less in each layer");
    assert!(symmetric["flops_per_step"]["delta"].as_f64().unwrap() < 0.0);
    for figure in ["steps_per_sec", "peak_memory_bytes"] {
        assert!(baseline[figure]["mean"].as_f64().unwrap() > 0.0, "{figure}: {baseline}");
    }

    // The baseline is what `train` makes of the plain config: same seed, same data, same order.
    let plain = program.run(&with(&["train", "tiny.toml", "--json"], &FEW)).expect_code(0);
    let plain = plain.events().pop().unwrap()["run"].as_str().unwrap().to_owned();
    let raced = of(baseline, 0, "id").as_str().unwrap().to_owned();
    assert_eq!(program.curve(&plain, "train/loss"), program.curve(&raced, "train/loss"));

    // A second race of that name is told apart; people read a table.
    let text = with(&["race", "tiny.toml", "--variant", "narrow:model.feed_forward=16"], &FEW);
    // How they go is told beside the answer, which is the table.
    let course = ["Run 2 of 2", "Training ", "Step 6 of 6", "Ended as finished"];
    let answer = program.run(&text).expect_code(0).expect_words(&course);
    let told = answer.stdout;
    for words in ["best validation loss", "narrow", "vs baseline: difference from standard", "race:tiny decoder 2"] {
        assert!(told.contains(words), "no {words} in {told}");
    }
    assert!(!told.starts_with('\n') && course.iter().all(|words| !told.contains(words)), "{told}");
    let told = program.run(&["compare", "--tag", "race:tiny decoder 2"]).expect_code(0).stdout;
    assert!(told.contains("narrow"), "{told}");
    let unknown = program.run(&["compare", "--tag", "race:nothing"]).expect_code(2);
    let _ = unknown.expect_words(&["race:nothing", "race:tiny decoder 2"]);
}

#[test]
fn a_race_of_one_seed_is_not_tested_and_the_command_that_it_tells_changes_that() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let variants = ["--variant", "calm:model.dropout=0.0", "--variant", "narrow:model.feed_forward=16"];
    let race = with(&with(&["race", "tiny.toml"], &variants), &FEW);
    let told = program.run(&race).expect_code(0).stdout;
    assert!(told.contains("1 seed each: not tested. Queue 2 more: headroom repeat --tag "), "{told}");
    assert!(!["better", "worse", "unclear"].iter().any(|word| told.contains(&format!(", {word}"))), "{told}");
    let tag = "race:tiny decoder";
    let answer = program.run(&["compare", "--tag", tag, "--json"]).expect_code(0).json();
    let judged = &answer["entrants"][1]["best_validation_loss"]["judged"];
    assert_eq!((&judged["tested"], &judged["seeds"]), (&false.into(), &1.into()), "{answer}");
    assert!(answer["not_tested"]["command"].as_str().unwrap().starts_with("headroom repeat --tag "), "{answer}");
    let entrants = answer["entrants"].as_array().unwrap().len();

    let repeat = ["repeat", "--tag", tag, "--seeds", "3", "--json"];
    let answer = program.run(&repeat).expect_code(0).expect_words(&[&format!("of {}", 2 * entrants)]).json();
    assert!(answer["not_tested"].is_null(), "{answer}");
    for entrant in answer["entrants"].as_array().unwrap() {
        assert_eq!(entrant["finished"], 3, "{answer}");
        let seeds: Vec<u64> =
            entrant["runs"].as_array().unwrap().iter().map(|run| run["seed"].as_u64().unwrap()).collect();
        assert_eq!(seeds, [3, 4, 5], "counted up from the config's");
    }
    let judged = &answer["entrants"][1]["best_validation_loss"]["judged"];
    assert_eq!((&judged["rests_on"], &judged["pairs"]), (&"pairs".into(), &3.into()), "{answer}");
    // There is nothing more to do.
    let again = program.run(&repeat).expect_code(0).expect_words(&["nothing is trained"]).json();
    assert_eq!(again["entrants"], answer["entrants"]);
}

#[test]
fn runs_that_are_named_are_judged_over_the_seeds_that_repeat() {
    let program = program();
    let train = |name: &str, seed: &str, feed_forward: &str| {
        let few = ["--name", name, "--seed", seed, "--set", feed_forward, "train.steps=6", "train.evaluate_every=3"];
        program.train(TINY_DECODER, &few)
    };
    let wide = ["1", "2"].map(|seed| train("wide", seed, "model.feed_forward=32"));
    let narrow = ["1", "2"].map(|seed| train("narrow", seed, "model.feed_forward=16"));
    let all = ["compare", &wide[0], &wide[1], &narrow[0], &narrow[1]];
    let answer = program.run(&with(&all, &["--json"])).expect_code(0).json();
    let names: Vec<_> = entrants(&answer).into_iter().map(|(name, finished, _)| (name, finished)).collect();
    assert_eq!(names, [("wide".to_owned(), 2), ("narrow".to_owned(), 2)]);
    let judged = &answer["entrants"][1]["best_validation_loss"]["judged"];
    assert_eq!((&judged["rests_on"], &judged["pairs"]), (&"pairs".into(), &2.into()), "{answer}");
    // One run against another is told with its difference and not called anything.
    for run in 1..4 {
        let alone = &answer["runs"][run]["metrics"]["validation/loss"]["last_judged"];
        assert!(alone["difference"].is_number(), "{alone}");
        assert!(["none", "same"].contains(&alone["verdict"].as_str().unwrap()), "{alone}");
    }
    let text = program.run(&all).expect_code(0).stdout;
    for words in ["Seeds repeat: what is better or worse is tested over them", "variant", "seed by seed"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    // A seed each: there is nothing to put together.
    let two = ["compare", &wide[0], &narrow[0]];
    let answer = program.run(&with(&two, &["--json"])).expect_code(0).json();
    assert!(answer["entrants"].is_null(), "{answer}");
    let alone = &answer["runs"][1]["metrics"]["validation/loss"]["last_judged"]["verdict"];
    assert!(["not_tested", "same"].contains(&alone.as_str().unwrap()), "one seed each: {answer}");
    assert!(!program.run(&two).expect_code(0).stdout.contains("Seeds repeat"));
}

#[test]
#[cfg(unix)]
fn a_run_that_was_stopped_is_held_against_another_where_both_have_been() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let whole = program.train(TINY_DECODER, &["--steps", "400", "--name", "whole"]);
    let training = program.start(&["train", "tiny.toml", "--json", "--steps", "100000", "--name", "stopped"]);
    let stopped = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    training.wait_for("checkpointed", |event| event["step"].as_u64().unwrap() >= 40).unwrap();
    training.signal("INT");
    assert_eq!(training.wait().0, 1);
    let runs = ["compare", &whole, &stopped];
    let answer = program.run(&with(&runs, &["--json"])).expect_code(0).json();
    assert_eq!(answer["runs"][1]["state"], "stopped", "{answer}");
    let loss = |run: usize| &answer["runs"][run]["metrics"]["validation/loss"];
    let common = [0, 1].map(|run| loss(run)["last_step"].as_u64().unwrap()).into_iter().min().unwrap();
    assert_eq!(loss(1)["last_judged"]["at_step"], common, "{answer}");
    let text = program.run(&runs).expect_code(0).stdout;
    let row = text.lines().find(|row| row.starts_with("validation/loss, last")).unwrap();
    assert!(row.contains(&format!(" at {common}")), "{text}");
}

/// What waited was cancelled for good, while a kill left it to be resumed.
#[test]
#[cfg(unix)]
fn a_race_that_was_ended_goes_on_run_by_run() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER.replace("steps = 60", "steps = 1000000"));
    let child = program.command(&["race", "tiny.toml", "--families", "symmetric", "--seeds", "2"]).spawn().unwrap();
    let states = || -> Vec<(String, String)> {
        let runs = program.run(&["runs", "--json"]);
        let runs = if runs.code == 0 { runs.json() } else { Value::Null };
        let word = |run: &Value, field: &str| run[field].as_str().unwrap().to_owned();
        let all = runs.as_array().into_iter().flatten();
        all.map(|run| (word(run, "id"), word(run, "state"))).collect()
    };
    let deadline = Instant::now() + Duration::from_mins(4);
    loop {
        let now = states();
        if now.len() == 4 && now.iter().any(|(_, state)| state == "running") {
            break;
        }
        assert!(Instant::now() < deadline, "{now:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    let runs = states();
    let count = |wanted: &str| runs.iter().filter(|(_, state)| state == wanted).count();
    assert_eq!((count("stopped"), count("interrupted")), (1, 3), "{runs:?}");
    for (run, _) in &runs {
        assert!(told.contains(&format!("headroom resume {run}")), "{told}");
    }
    let (waited, _) = runs.iter().find(|(_, state)| state == "interrupted").unwrap();
    let resumed = program.start(&["resume", waited, "--json"]);
    resumed.wait_for("step", |_| true).unwrap();
    resumed.signal("INT");
    assert_eq!(resumed.wait().0, 1);
}

#[test]
fn a_sweep_trains_every_combination_and_says_what_it_cannot_train() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let grid = ["sweep", "tiny.toml", "--over", "model.heads=2,3", "--over", "model.layers=1,2"];
    let refused = program.run(&with(&with(&grid, &["--json"]), &FEW)).expect_code(2);
    let refused = refused.expect_words(&["2 of 4 cannot be trained", "model.width", "heads 3, layers 1", "--skip"]);
    let line = refused.events().pop().unwrap();
    assert_eq!((line["event"].as_str(), line["problems"].as_array().unwrap().len()), (Some("refused"), 2));
    assert!(!program.store_path().exists(), "nothing was started");

    let answer = program.run(&with(&with(&grid, &["--skip", "--json"]), &FEW)).expect_code(0).json();
    let names: Vec<String> = entrants(&answer).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["heads 2, layers 1", "heads 2, layers 2"]);
    let left_out = answer["refused"].as_array().unwrap();
    assert_eq!(left_out.len(), 2);
    assert_eq!(left_out[0]["problems"][0]["field"], "model.width");

    let list = ["sweep", "tiny.toml", "--list", "--over", "seed=5,6", "--over", "model.layers=1,1", "--json"];
    let answer = program.run(&with(&list, &FEW)).expect_code(2);
    let _ = answer.expect_words(&["is there twice"]);

    // Every mistake is told, an unknown field before values.
    let wrong = ["sweep", "tiny.toml", "--over", "model.heads=2,2", "--over", "model.laeyrs=1,,2", "--json"];
    let answer = program.run(&wrong).expect_code(2).expect_words(&["3 problems", "`layers`", "2 is there twice"]);
    let problems = answer.events().pop().unwrap()["problems"].clone();
    let fields: Vec<&str> = problems.as_array().unwrap().iter().filter_map(|told| told["field"].as_str()).collect();
    assert_eq!(fields, ["model.laeyrs", "--over", "--over"], "{problems}");
}

#[test]
fn what_cannot_race_is_refused_before_anything_starts() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    for (arguments, words) in [
        (vec!["race", "tiny.toml"], ["nothing to race", "--families"]),
        (vec!["race", "tiny.toml", "--families", "symetric"], ["`symetric`", "`symmetric`"]),
        (vec!["race", "tiny.toml", "--variant", "x:model.widht=8"], ["model.widht", "`width`"]),
        (vec!["race", "tiny.toml", "--variant", "model.width=8"], ["no name", "narrow:"]),
        (vec!["race", "tiny.toml", "--families", "full", "--seeds", "0"], ["--seeds", "1..=100"]),
        (vec!["sweep", "tiny.toml", "--over", "model.layers"], ["no `=`", "model.layers"]),
    ] {
        let _ = program.run(&arguments).expect_code(2).expect_words(&words);
    }
    assert!(!program.store_path().exists());
}

/// `evaluate_batches = 2` was 8 examples at batch 4 and 16 at batch 8, and the runs were compared all the same.
#[test]
fn runs_that_were_evaluated_on_other_examples_are_not_judged_and_those_of_a_race_are() {
    let program = program();
    let few = ["--set", "train.steps=6", "train.evaluate_every=3"];
    let base = program.train(TINY_DECODER, &few);
    let wide = program.train(TINY_DECODER, &with(&few, &["train.batch=8"]));
    let compared = |others: &[&str]| program.run(&with(&["compare"], others)).expect_code(0).stdout;
    let words = "evaluated on 8 and 16 validation examples";
    assert!(compared(&[&base, &wide]).contains(words), "{}", compared(&[&base, &wide]));
    let json = program.run(&["compare", &base, &wide, "--json"]).expect_code(0).json();
    assert!(json["runs"][1]["not_judged"].as_str().unwrap().contains(words), "{json}");
    // Another batch on the same examples.
    let same = program.train(TINY_DECODER, &with(&few, &["train.batch=8", "train.evaluate_examples=8"]));
    let json = program.run(&["compare", &base, &same, "--json"]).expect_code(0).json();
    assert!(json["runs"][1]["not_judged"].is_null(), "{json}");
    let (shown, listed) = (program.show(&base), program.show(&same));
    assert_eq!((&shown["evaluated_examples"], &shown["evaluated_hash"]), (&8.into(), &listed["evaluated_hash"]));
    assert!(shown["validation_examples"].as_u64().unwrap() > 8);
    assert!(program.run(&["show", &base]).expect_code(0).stdout.contains("8 of "));

    program.write("tiny.toml", TINY_DECODER);
    let race = with(&["race", "tiny.toml", "--variant", "large:train.batch=8", "--json"], &few);
    let answer = program.run(&race).expect_code(0).json();
    let entrants = answer["entrants"].as_array().unwrap();
    let examples = |entrant: &Value| {
        assert!(entrant["not_judged"].is_null(), "{entrant}");
        program.show(entrant["runs"][0]["id"].as_str().unwrap())["evaluated_examples"].as_u64().unwrap()
    };
    assert_eq!(entrants.iter().map(examples).collect::<Vec<_>>(), [8, 8]);

    // What the store keeps of single examples adds up to what is told of the evaluation.
    for kind in OutcomeKind::ALL {
        let kept = program.store().example_outcomes(&base.parse().unwrap(), kind).unwrap().unwrap();
        assert_eq!((kept.len(), shown["evaluated_hash"].as_str()), (8, Some(kept.evaluated_hash.as_str())));
        let mean = kept.loss.iter().map(|loss| f64::from(*loss)).sum::<f64>()
            / kept.labels.iter().map(|labels| f64::from(*labels)).sum::<f64>();
        let of = |series: &str| shown["metrics"]["validation/loss"][series].as_f64().unwrap();
        let (told, step) = match kind {
            OutcomeKind::Best => (of("best"), of("best_step")),
            OutcomeKind::Last => (of("last"), of("last_step")),
        };
        assert!((mean - told).abs() < 1e-6 * told && kept.step as f64 == step, "{kind:?}: {mean} and {told}");
    }
}
