//! Models that score some pairs of each row: chosen after a warm-up or by another run, trained, stopped, killed, continued,
//! loaded; and models trained with all pairs that are evaluated with some.

use headroom_tests::{Program, TINY_DECODER, TINY_ENCODER};
use serde_json::Value;

use crate::program;

const STEPS: u64 = 60;
const WARM_UP: u64 = 25;

fn partial(config: &str, restore: &str, more: &str) -> String {
    format!(
        "{config}\n[attention]\ncoverage = {{ kind = \"partial\", k = 5, restore = \"{restore}\", examples = 12{more} }}\n"
    )
}

fn warmed_up(config: &str, restore: &str) -> String {
    partial(config, restore, &format!(", warmup_steps = {WARM_UP}"))
}

fn loss(program: &Program, arguments: &[&str]) -> Value {
    let mut all = vec!["eval"];
    all.extend(arguments);
    all.push("--json");
    program.run(&all).expect_code(0).json()
}

/// Killed once while all pairs are scored and once after, a run still gives the curve of one left in peace.
#[test]
fn a_run_goes_on_along_its_curve_before_and_after_its_pairs_were_chosen() {
    for (config, restore) in [(TINY_DECODER, "per_layer"), (TINY_ENCODER, "common"), (TINY_DECODER, "fixed")] {
        let config = warmed_up(config, restore);
        let peaceful = program();
        peaceful.write("c.toml", &config);
        let answer = peaceful.run(&["train", "c.toml", "--json"]).expect_code(0);
        let events = answer.events();
        let chosen: Vec<&Value> = events.iter().filter(|event| event["event"] == "pairs_chosen").collect();
        let [chosen] = chosen.as_slice() else { unreachable!("pairs are chosen once: {events:?}") };
        assert_eq!((&chosen["step"], &chosen["k"]), (&Value::from(WARM_UP), &Value::from(5)));
        let error = chosen["score_error"].as_f64().unwrap();
        assert!((0.0..0.9).contains(&error), "{error}");
        let whole = events.last().unwrap()["run"].as_str().unwrap().to_owned();

        let program = program();
        program.write("c.toml", &config);
        let mut run: Option<String> = None;
        // In the warm-up past a checkpoint, between the choice and the next checkpoint, and past that.
        for at in [22, 30, 44] {
            let training = match &run {
                None => program.start(&["train", "c.toml", "--json"]),
                Some(run) => program.start(&["resume", run, "--json"]),
            };
            let queued = training.wait_for("queued", |_| true).unwrap();
            run = Some(queued["run"].as_str().unwrap().to_owned());
            training.wait_for("step", |event| event["step"].as_u64().unwrap() >= at).unwrap();
            training.kill();
        }
        let run = run.unwrap();
        let events = program.run(&["resume", &run, "--json"]);
        // A kill after the very last step leaves nothing to do.
        assert!(events.code == 0 || program.show(&run)["state"] == "finished", "{}", events.stderr);
        for series in ["train/loss", "validation/loss", "train/grad_norm"] {
            let (expected, found) = (peaceful.curve(&whole, series), program.curve(&run, series));
            assert!(!expected.is_empty());
            assert_eq!(expected, found, "{series} of {restore}");
        }
        let shown = program.show(&run);
        assert_eq!(shown["steps"], STEPS);
        assert_eq!(shown["parameters"], peaceful.show(&whole)["parameters"]);

        // As a model directory it is the same model.
        let _ = program.run(&["export", &run, "--to", "model", "--which", "last"]).expect_code(0);
        let text: String = headroom_tests::sentences(80);
        program.write("text.txt", text);
        let stored = loss(&program, &[&run, "--which", "last", "--data", "text.txt"]);
        let exported = loss(&program, &["model", "--data", "text.txt"]);
        assert_eq!(stored["loss"], exported["loss"]);
        let config: Value = serde_json::from_slice(&std::fs::read(program.path("model/config.json")).unwrap()).unwrap();
        assert_eq!(config["headroom_attention"]["coverage"]["k"], 5);
        assert_eq!(config["headroom_attention"]["coverage"]["restore"], restore);
        // Of a model that leaves out pairs itself, no others are left out.
        let _ = program
            .run(&["eval", &run, "--coverage", "partial:k=3"])
            .expect_code(2)
            .expect_words(&["trained to leave out pairs"]);
        // What the model came to before its pairs were chosen is not its best.
        let best = shown["metrics"]["validation/loss"]["best_step"].as_u64().unwrap();
        assert!(best > WARM_UP, "best at step {best}");
        let told = program.run(&["show", &run]).expect_code(0).stdout;
        assert!(told.contains("after step 25, until which all were scored"), "{told}");
    }
}

#[test]
fn pairs_come_from_another_run_of_the_same_kind() {
    let program = program();
    let exact = program.train(TINY_DECODER, &[]);
    let config = partial(TINY_DECODER, "common", ", from = \"tiny decoder\"")
        .replace("\"tiny decoder\"\nseed", "\"second\"\nseed");
    program.write("c.toml", &config);
    let answer = program.run(&["train", "c.toml", "--json"]).expect_code(0);
    let events = answer.events();
    let chosen = events.iter().find(|event| event["event"] == "pairs_chosen").unwrap();
    assert_eq!(chosen["step"], 0);
    let last = events.last().unwrap();
    assert_eq!(last["state"], "finished");
    let second = last["run"].as_str().unwrap();
    // 16 positions, 5 computed: 11 * 12 / 2 restored ones, once for all layers.
    let count = |run: &str| program.show(run)["parameters"].as_u64().unwrap();
    assert_eq!(count(second) - count(&exact), 66 * 5);

    for (from, config, words) in [
        ("nobody", TINY_DECODER, &["attention.coverage.from", "nobody"][..]),
        ("second", TINY_DECODER, &["leaves out pairs itself"]),
        ("tiny decoder", TINY_ENCODER, &["same model.kind"]),
    ] {
        // Under a name of its own, so that the other one stays the only one of its name.
        let config = partial(config, "fixed", &format!(", from = \"{from}\"")).replace("name = \"tiny", "name = \"bad");
        program.write("bad.toml", config);
        let _ = program.run(&["train", "bad.toml"]).expect_code(2).expect_words(words);
    }
}

#[test]
fn a_model_trained_with_all_pairs_is_evaluated_with_some() {
    let program = program();
    for config in [TINY_DECODER, TINY_ENCODER] {
        let run = program.train(config, &[]);
        let exact = loss(&program, &[&run]);
        assert_eq!(exact["coverage"], Value::Null);
        let mut errors: Vec<(f64, f64)> = Vec::new();
        for k in [1, 4, 15] {
            let of = |kind: &str| {
                let found = loss(&program, &[&run, "--coverage", &format!("{kind}:k={k}"), "--examples", "40"]);
                assert!(found["coverage"].as_str().unwrap().contains(&k.to_string()), "{found}");
                if k == 15 {
                    // One key of sixteen is left out, or one direction, in one layer of two.
                    let difference = found["loss"].as_f64().unwrap() - exact["loss"].as_f64().unwrap();
                    assert!(difference.abs() < 0.02, "{kind}: {difference}");
                }
                found["score_error"].as_f64().unwrap()
            };
            let (partial, eigen) = (of("partial"), of("eigen"));
            assert!(eigen <= partial + 1e-9, "{eigen} and {partial} at {k}");
            errors.push((partial, eigen));
        }
        assert!(errors.windows(2).all(|pair| pair[1].0 <= pair[0].0 && pair[1].1 <= pair[0].1), "{errors:?}");
        for (coverage, words) in [
            ("partial:k=16", "from 1 to 15"),
            ("eigen:k=0", "from 1 to 15"),
            ("partial:k=2,restore=common", "Nothing is trained here"),
        ] {
            let _ = program.run(&["eval", &run, "--coverage", coverage]).expect_code(2).expect_words(&[words]);
        }
        let _ = program
            .run(&["eval", &run, "--coverage", "parial:k=2"])
            .expect_code(2)
            .expect_words(&["Did you mean `partial`?"]);
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_trained() {
    let program = program();
    let refuse = |coverage: &str, words: &[&str]| {
        program.write("c.toml", format!("{TINY_DECODER}\n[attention]\ncoverage = {{ {coverage} }}\n"));
        program.run(&["train", "c.toml"]).expect_code(2).expect_words(words)
    };
    let _ = refuse("kind = \"eigen\", k = 4", &["projecting scores", "headroom eval"]);
    let _ = refuse("kind = \"partial\", k = 16", &["16 is too large", "from 1 to 15"]);
    let _ = refuse("kind = \"partial\", k = 4, warmup_steps = 60", &["60 steps of warm-up leave nothing of 60 steps"]);
    let _ = refuse("kind = \"partial\", k = 4, warmup_steps = 0", &["attention.coverage.from"]);
}
