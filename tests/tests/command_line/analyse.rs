//! Looks at attention from the command line: while runs train, on demand, on other texts and in other spaces.

use std::fs;

use headroom_tests::{TINY_DECODER, TINY_ENCODER, sentences};
use serde_json::Value;

use crate::program;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn a_run_is_looked_at_while_it_trains_and_on_demand() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--set", "probe.every=4", "train.steps=8"]);
    let live = program.run(&["analyse", &run, "--live", "0", "--json"]).expect_code(0).json();
    assert_eq!((&live["event"], &live["result"]["step"]), (&"analysed".into(), &0.into()));
    let last = program.run(&["analyse", &run, "--live", "--json"]).expect_code(0).json();
    assert_eq!((&last["result"]["step"], &last["result"]["is_own_text"]), (&8.into(), &true.into()));
    let _ = program.run(&["analyse", &run, "--live", "5"]).expect_code(2).expect_words(&["after step 5", "steps 0"]);
    let looked = program.run(&["analyse", &run, "--which", "last", "--examples", "6", "--json"]).expect_code(0).json();
    let result = &looked["result"];
    let similarity = &result["similarity"][0];
    let count = similarity["layers"].as_u64().unwrap() * similarity["heads"].as_u64().unwrap();
    let mean = numbers(&similarity["mean"]);
    assert_eq!(mean.len() as u64, count * count);
    assert!(mean.iter().all(|value| (0.0..=1.0).contains(value)));
    let network = &result["spectra"]["network"];
    let energy: f64 = numbers(&network["values"]).iter().sum();
    let trace = network["trace"].as_f64().unwrap();
    assert!(energy > 0.9 * trace && energy < 1.001 * trace, "{energy} of {trace}");
    assert_eq!(result["captured"]["layers"].as_array().unwrap().len(), similarity["layers"].as_u64().unwrap() as usize);
    let text = program.run(&["analyse", &run, "--similarity", "cosine,linear_cka"]).expect_code(0).stdout;
    for words in ["by cosine", "by linear CKA", "L0"] {
        assert!(text.contains(words), "{text}");
    }
    let show = program.show(&run);
    assert!(show["metrics"]["probe/adjacent_similarity"]["last"].is_number(), "{}", show["metrics"]);
}

#[test]
fn figures_tables_and_arrays_are_written() {
    let program = program();
    let run = program.train(TINY_DECODER, &[]);
    let out = program.path("out");
    let answer = program.run(&["analyse", &run, "--examples", "4", "--out", out.to_str().unwrap()]).expect_code(0);
    assert!(answer.stdout.contains("Wrote "), "{}", answer.stdout);
    for name in ["spectrum", "eigenvalues", "overlap", "captured-query", "similarity-total_variation", "component-1"] {
        let svg = fs::read_to_string(out.join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<text"), "{name}: real text");
        assert!(fs::read(out.join(format!("{name}.png"))).unwrap().starts_with(b"\x89PNG"));
        assert!(fs::read_to_string(out.join(format!("{name}.csv"))).unwrap().lines().count() > 1);
    }
    let array = fs::read(out.join("eigenvalues-network.npy")).unwrap();
    assert!(array.starts_with(b"\x93NUMPY"));
    let all: Value = serde_json::from_slice(&fs::read(out.join("analysis.json")).unwrap()).unwrap();
    assert_eq!(all["examples"], 4);
    // Files of one analysis never stand beside those of another, and nothing is written over.
    let before = fs::read(out.join("analysis.json")).unwrap();
    program.write("config.toml", TINY_DECODER);
    for command in [&["analyse", &run][..], &["analyses", "show", "#1"], &["maps", &run], &["domains", "config.toml"]] {
        let arguments = [command, &["--out", out.to_str().unwrap()]].concat();
        let _ = program.run(&arguments).expect_code(2).expect_words(&["holds files already", "is empty"]);
    }
    assert_eq!(fs::read(out.join("analysis.json")).unwrap(), before);
    assert!(fs::read_dir(&out).unwrap().all(|file| file.unwrap().path().is_file()));
    fs::write(program.path("file"), "x").unwrap();
    let file = program.path("file");
    let _ =
        program.run(&["analyse", &run, "--out", file.to_str().unwrap()]).expect_code(2).expect_words(&["is a file"]);
}

#[test]
fn other_texts_and_other_spaces() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "train.steps=4"]);
    let other = program.train(TINY_DECODER, &["--seed", "9", "--set", "train.steps=4"]);
    let own = program.run(&["analyse", &run, "--subspace", &run, &other, "--json"]).expect_code(0).json();
    let projections = own["result"]["projections"].as_array().unwrap();
    assert_eq!(projections.len(), 2);
    let share = |place: usize, k: usize| numbers(&projections[place]["network"])[k];
    assert!(share(0, 3) > share(1, 3), "no space of four dimensions holds more than the first four of its own");
    let shuffled = program.run(&["analyse", &run, "--shuffled", "--json"]).expect_code(0).json();
    assert!(shuffled["result"]["data"].as_str().unwrap().ends_with("shuffled"));
    // Advice is drawn from what a run was trained for alone.
    let is_own = |look: &Value| look["result"]["is_own_text"].as_bool().unwrap();
    assert!(is_own(&own) && !is_own(&shuffled));
    let text = program.write("other.txt", sentences(200));
    let named = program.run(&["analyse", &run, "--data", text.to_str().unwrap(), "--json"]).expect_code(0).json();
    assert_eq!(named["result"]["data"], "other.txt");
    assert!(!is_own(&named));
    let to = program.path("exported");
    let _ = program.run(&["export", &run, "--to", to.to_str().unwrap()]).expect_code(0);
    // It holds the config of its run, which says on what it was trained.
    let exported = program.run(&["analyse", to.to_str().unwrap(), "--json"]).expect_code(0).json();
    let text_of = |look: &Value| (look["result"]["data"].clone(), look["result"]["examples"].clone());
    assert_eq!((text_of(&exported), is_own(&exported)), (text_of(&own), true));
    let directory = ["analyse", to.to_str().unwrap(), "--data", text.to_str().unwrap(), "--captured", "--json"];
    let captured = program.run(&directory).expect_code(0).json();
    assert!(captured["result"]["captured"]["layers"][0]["all_queries"].is_array());
    assert!(captured["result"]["similarity"].as_array().unwrap().is_empty());
    fs::remove_file(to.join("headroom.toml")).unwrap();
    let _ = program.run(&["analyse", to.to_str().unwrap()]).expect_code(2).expect_words(&["holds no text", "--data"]);
}

#[test]
fn scores_are_restored_from_some_of_their_pairs() {
    let program = program();
    let run = program.train(TINY_DECODER, &[]);
    let out = program.path("restored");
    let arguments = ["analyse", &run, "--reconstruction", "--scope", "layers,L0H1", "--examples", "12"];
    let text = program.run(&[&arguments[..], &["--out", out.to_str().unwrap()]].concat()).expect_code(0).stdout;
    for words in ["pairs of each query", "errors on held-out examples (6)", "squared error 5 %: k = ", "L0H1", "Wrote "]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    for name in
        ["reconstruction-network", "reconstruction-head-0-1-order", "reconstruction-whole", "reconstruction-flops"]
    {
        let svg = fs::read_to_string(out.join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<text"), "{name}: real text");
        assert!(fs::read(out.join(format!("{name}.png"))).unwrap().starts_with(b"\x89PNG"));
        assert!(fs::read_to_string(out.join(format!("{name}.csv"))).unwrap().lines().count() > 1);
    }
    for name in ["reconstruction-network-errors", "reconstruction-layer-0-order", "reconstruction-flops"] {
        assert!(fs::read(out.join(format!("{name}.npy"))).unwrap().starts_with(b"\x93NUMPY"), "{name}");
    }
    let found = program.run(&["analyse", &run, "--reconstruction", "--examples", "12", "--json"]).expect_code(0).json();
    let result = &found["result"]["reconstruction"];
    let tokens = result["tokens"].as_u64().unwrap() as usize;
    assert_eq!((result["examples"].as_u64(), result["held_out_examples"].as_u64()), (Some(6), Some(6)));
    let network = &result["scopes"][0];
    for kind in ["greedy", "eigen", "random"] {
        for part in ["fitted", "held_out"] {
            let errors = numbers(&network[kind][part]);
            assert_eq!((errors.len(), errors[0]), (tokens + 1, 1.0), "{kind} {part}");
            assert!(errors[tokens].abs() < 1e-9);
        }
    }
    let fitted = |kind: &str| numbers(&network[kind]["fitted"])[1];
    assert!(fitted("eigen") <= fitted("greedy") && fitted("greedy") <= fitted("random"));
    assert!(
        found["result"]["spectra"].is_null() && network["factors"].is_null(),
        "nothing large that nobody asked for"
    );
    for (arguments, code, words) in [
        (vec!["analyse", &run, "--scope", "everything"], 2, vec!["everything", "L3H7"]),
        (vec!["analyse", &run, "--scope", "L7H0"], 2, vec!["no head 0 of layer 7", "layers 0 to"]),
    ] {
        let _ = program.run(&arguments).expect_code(code).expect_words(&words);
    }
    let one = program.run(&["analyse", &run, "--reconstruction", "--examples", "1"]).expect_code(0).stdout;
    assert!(one.contains("only one example") && one.contains("not full rank"), "{one}");
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "probe.every=0"]);
    let encoder = program.train(TINY_ENCODER, &["--set", "train.steps=2"]);
    let beyond = format!("{run}@77777");
    program.write("short.txt", "fox");
    program.write("report.pdf", sentences(100));
    for (arguments, code, words) in [
        (vec!["analyse", &run, "--live"], 2, vec!["was not analysed while it trained"]),
        (vec!["analyse", &run, "--similarity", "euclid"], 2, vec!["euclid", "total_variation"]),
        (vec!["analyse", &run, "--tokens", "100000"], 2, vec!["at most 16 tokens"]),
        (vec!["analyse", &run, "--which", "77777"], 2, vec!["no checkpoint"]),
        (vec!["analyse", &run, "--subspace", &beyond], 2, vec!["no checkpoint"]),
        (vec!["analyse", &encoder, "--data", "short.txt"], 2, vec!["no example", "longer than one example"]),
        (vec!["analyse", &run, "--data", "nowhere.txt"], 2, vec!["nowhere.txt"]),
        (vec!["analyse", &run, "--data", "report.pdf"], 2, vec!["report.pdf", "ending"]),
        (vec!["analyse", &encoder, "--tokens", "2"], 2, vec!["2 tokens leave no room", "at least 3"]),
        (vec!["eval", &run, "--which", "77777"], 2, vec!["no checkpoint"]),
        (vec!["eval", &run, "--data", "nowhere.txt"], 2, vec!["nowhere.txt"]),
        (vec!["eval", &run, "--data", "report.pdf"], 2, vec!["report.pdf", "ending"]),
        (vec!["eval", &run, "--coverage", "partial:k=99"], 2, vec!["k is 99", "1 to 15"]),
        (vec!["eval", "nobody"], 2, vec!["nobody"]),
        (vec!["analyse", &run, "--subspace", "nobody"], 2, vec!["nobody"]),
        (vec!["analyse", "nobody"], 2, vec!["nobody"]),
    ] {
        let _ = program.run(&arguments).expect_code(code).expect_words(&words);
    }
}

#[test]
fn both_domains_are_trained_and_looked_at_four_times() {
    let program = program();
    let config = program.write("config.toml", TINY_ENCODER);
    let arguments = ["domains", config.to_str().unwrap(), "--set", "train.steps=4", "--examples", "4", "--json"];
    let answer = program.run(&arguments).expect_code(0).json();
    let looks = answer["looks"].as_array().unwrap();
    assert_eq!(looks.len(), 4);
    for look in looks {
        let text = look["result"]["data"].as_str().unwrap();
        assert_eq!(text.ends_with("shuffled"), look["reads"] == "shuffled", "{text}");
        let name = look["result"]["target"].as_str().unwrap();
        assert!(name.contains(look["trained_on"].as_str().unwrap()), "{name}");
    }
    let runs = program.run(&["runs", "--json"]).expect_code(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 2);
}
