//! Measuring training steps and texts on the command line.

use std::time::Duration;

use headroom_engine::{
    speed::{Outcome, SweepResult},
    store::MeasuredDevice,
};
use headroom_tests::{Program, TINY_DECODER, example_benchmark};

use crate::program;

/// A sweep of three tiny points and two sides; one side of the last cannot be built.
const SWEEP: [&str; 13] = [
    "bench",
    "sweep",
    "tiny.toml",
    "--axis",
    "model.heads=1,2,3",
    "--side",
    "pre",
    "--side",
    "post:model.norm=post",
    "--steps",
    "3",
    "--name",
    "tiny",
];

#[test]
fn a_sweep_is_measured_kept_shown_and_compared() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let mut arguments = SWEEP.to_vec();
    arguments.extend(["--largest-batch", "--memory", "100000000", "--json"]);
    let answer = program.run(&arguments).expect_code(0).expect_words(&["Point 1 of 3", "model.heads=1"]);
    let record = answer.json();
    let points = record["results"]["points"].as_array().unwrap();
    assert_eq!((points.len(), &record["results"]["is_complete"]), (3, &true.into()));
    let measured = &points[0]["sides"][1];
    assert_eq!((&measured["side"], &measured["outcome"]["kind"]), (&"post".into(), &"measured".into()));
    assert_eq!(measured["outcome"]["times"].as_array().unwrap().len(), 3);
    assert!(measured["outcome"]["predicted_flops"].as_u64().unwrap() > 0);
    assert!(!measured["outcome"]["operations"].as_array().unwrap().is_empty());
    let batch = &measured["largest_batch"];
    assert!(batch["batch"].as_u64().unwrap() > 1 && batch["is_confirmed"] == true, "{batch}");
    assert!(measured["outcome"].get("step_joules").is_none_or(|joules| joules.as_f64().unwrap() > 0.0), "never 0");
    assert!(record.get("driver").is_some() && record.get("git_commit").is_some(), "{record}");
    let refused = &points[2]["sides"][0]["outcome"];
    assert_eq!(refused["kind"], "invalid");
    assert!(refused["reason"].as_str().unwrap().contains("model.width"), "{refused}");

    let csv = program.run(&["bench", "show", "tiny", "--csv"]).expect_code(0).stdout;
    assert_eq!(csv.lines().count(), 1 + 6, "{csv}");
    assert!(csv.starts_with("model.heads,side,outcome,step_secs,"), "{csv}");
    assert!(csv.lines().next().unwrap().ends_with(",step_joules,largest_batch,reason,others_cores"), "{csv}");
    let out = program.path("figures");
    let _ = program.run(&["bench", "show", "1", "--out", &out.display().to_string()]).expect_code(0);
    for name in ["step-time.svg", "step-time.png", "tokens-per-second.csv", "peak-memory.svg", "benchmark.json"] {
        assert!(out.join(name).metadata().is_ok_and(|file| file.len() > 0), "{name}");
    }
    assert_eq!(std::fs::read_to_string(out.join("benchmark.csv")).unwrap(), csv);
    assert!(std::fs::read_to_string(out.join("step-time.svg")).unwrap().contains("Step time"));
    assert!(!out.join("energy-per-token.svg").exists(), "what was not measured has no figure");
    let file = out.join("benchmark.csv").display().to_string();
    let _ = program.run(&["bench", "show", "1", "--out", &file]).expect_code(2);
    let table = program.run(&["bench", "show", "1"]).expect_code(0).stdout;
    assert!(table.contains("largest batch") && table.contains(", f32, "), "{table}");
    assert!(table.contains("post") && table.contains("cannot be built: model.width"), "{table}");
    let list = program.run(&["bench", "list", "--json"]).expect_code(0).json();
    assert_eq!((&list[0]["name"], &list[0]["points"]), (&"tiny".into(), &3.into()));

    let _ = program.run(&arguments).expect_code(0);
    let compared = program.run(&["bench", "compare", "#1", "#2", "--json"]).expect_code(0).json();
    let ratios = compared["ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), 4);
    assert!(ratios.iter().all(|ratio| ratio["ratio"].as_f64().unwrap() > 0.0), "{compared}");
    let told = program.run(&["bench", "compare", "1", "2"]).expect_code(0).stdout;
    assert!(told.contains("second / first") && told.contains("memory") && told.contains("Headroom 0."), "{told}");
}

/// Keeps an example benchmark, after this was done to what was measured.
#[expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]
fn keep(program: &Program, number: u64, slow: f64, change: impl FnOnce(&mut SweepResult)) {
    let mut record = example_benchmark(number, &format!("benchmark {number}"), slow);
    change(&mut record.results);
    let (store, id) = (program.store(), &record.summary.id);
    store.create_benchmark(id, &record.summary.name, &record.spec, MeasuredDevice::default()).unwrap();
    store.update_benchmark(id, &record.results, true).unwrap();
}

#[test]
fn times_that_cannot_be_trusted_are_marked_wherever_they_are_told() {
    let program = program();
    // Others used the machine at the first point; at the third the quartiles of the two sides overlap.
    keep(&program, 1, 1.0, |results| {
        results.points[0].others_cores = Some(1.2);
        let Outcome::Measured(found) = &mut results.points[2].sides[1].outcome else { panic!("it is measured") };
        found.step_secs.lower = 0.0;
    });
    keep(&program, 2, 1.31, |_| ());
    keep(&program, 3, 1.0, |results| results.limits.as_mut().unwrap().product_flops_per_sec = 1e9);
    let disturbed = "data.sequence_length=64: other programs used 1.2 cores meanwhile, so these times may be too long.";
    let told = program.run(&["bench", "show", "1"]).expect_code(0).stdout;
    let neither = "disturbed: other programs used the machine meanwhile, so neither is called faster.";
    for words in ["1.092 disturbed", "1.124 slower", "1.188 unclear", disturbed, neither] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let warnings = program.run(&["bench", "show", "1", "--json"]).expect_code(0).json()["warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    assert!(warnings[0].as_str().unwrap().starts_with(disturbed), "{warnings}");
    let out = program.path("figures");
    let _ = program.run(&["bench", "show", "1", "--out", &out.display().to_string()]).expect_code(0);
    let figure = std::fs::read_to_string(out.join("step-time.svg")).unwrap();
    let note = "Other programs used the machine, so times may be too long: data.sequence_length=64";
    assert!(figure.contains(note), "{figure}");

    let told = program.run(&["bench", "compare", "1", "2"]).expect_code(0).stdout;
    let of_first = format!("First: {disturbed}");
    for words in ["1.310 disturbed", "1.310 slower", neither, &of_first] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(told.matches(" disturbed").count(), 2, "both sides of one point: {told}");
    let compared = program.run(&["bench", "compare", "2", "1", "--json"]).expect_code(0).json();
    for ratio in compared["ratios"].as_array().unwrap() {
        let verdict = if ratio["settings"][0]["value"] == "64" { "disturbed" } else { "faster" };
        assert_eq!(ratio["verdict"], verdict, "{ratio}");
    }
    assert!(compared["warnings"]["second"][0].as_str().unwrap().starts_with(disturbed), "{compared}");

    // A product that is faster than the roof is impossible.
    let impossible = "An operation is faster than the compute limit, which cannot be";
    let told = program.run(&["bench", "show", "3"]).expect_code(0).stdout;
    assert!(told.contains(impossible) && told.contains("data.sequence_length=128, 4 heads"), "{told}");
    let warnings = program.run(&["bench", "show", "3", "--json"]).expect_code(0).json()["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().starts_with(impossible), "{warnings}");
    let sound = program.run(&["bench", "show", "2", "--json"]).expect_code(0).json();
    assert_eq!(sound["warnings"].as_array().map(Vec::len), Some(0), "{sound}");
    assert!(!program.run(&["bench", "show", "2"]).expect_code(0).stdout.contains("disturbed"));
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_measured() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    for (axis, side, words) in [
        ("model.haeds=1,2", "a", ["model.haeds", "`heads`"]),
        ("model.heads", "a", ["has no `=`", "data.sequence_length=128,256,512"]),
        ("model.heads=two", "a", ["model.heads", "a whole number"]),
        ("model.heads=1,2", "a:model.nrom=post", ["model.nrom", "`norm`"]),
        ("model.heads=1,2", "model.norm=post", ["no name", "narrow:"]),
    ] {
        let arguments = ["bench", "sweep", "tiny.toml", "--axis", axis, "--side", side];
        let answer = program.run(&arguments).expect_code(2).expect_words(&words);
        assert_eq!(answer.stdout, "", "{arguments:?}");
    }
    // Every mistake is told.
    let several =
        ["bench", "sweep", "tiny.toml", "--axis", "model.haeds=1,1", "--axis", "train.batch=1,", "--side", "a:b"];
    let words = ["4 problems", "`heads`", "1 is there twice", "one of its values is empty", "`b` has no `=`"];
    let _ = program.run(&several).expect_code(2).expect_words(&words);
    for (axis, words) in [
        ("model.heads=3", ["model.heads=3: model.width", "nothing was measured"]),
        ("model.heads=3,5", ["model.heads=5: model.width", "16 is not divisible by 5"]),
        ("attention.compatibility.kind=symetric", ["symetric", "`symmetric`"]),
    ] {
        let arguments = ["bench", "sweep", "tiny.toml", "--axis", axis, "--steps", "1", "--json"];
        let answer = program.run(&arguments).expect_code(2).expect_words(&words);
        assert_eq!(answer.json()["event"], "refused", "{arguments:?}");
    }
    assert!(!program.store_path().exists(), "a refusal made a store");
    let _ = program.run(&["bench", "show", "nothing"]).expect_code(2);
}

#[test]
fn the_largest_batch_is_found_and_tried() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let arguments = ["bench", "largest-batch", "tiny.toml", "--memory", "100000000", "--json"];
    let found = program.run(&arguments).expect_code(0).json();
    assert!(found["batch"].as_u64().unwrap() > 1 && found["is_confirmed"] == true, "{found}");
    let peak = found["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak <= 100_000_000, "the process holds what was allowed: {found}");
    let told = program.run(&arguments[..5]).expect_code(0).stdout;
    assert!(told.contains("examples fit"), "{told}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_the_first_point_keeps_nothing() {
    use std::io::{BufRead, BufReader};

    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let arguments =
        ["bench", "sweep", "tiny.toml", "--axis", "train.batch=1,2,3", "--steps", "100000", "--name", "endless"];
    // The first point is over before the signal only if it is short: so it has other steps than the rest.
    let mut child = program.command(&arguments).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().starts_with("Point 1 of 3")));
    let kill = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    assert!(told.any(|line| line.unwrap().contains("Stopping. Press Ctrl-C again to quit at once.")));
    let last = told.map(Result::unwrap).last().unwrap_or_default();
    assert!(last.contains("Stopped before a point was measured; nothing is kept"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let list = program.run(&["bench", "list", "--json"]).expect_code(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(0), "{list}");
}

/// A group of a side: seconds, FLOPs and bytes; of steps or of the sources' reading.
#[expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]
fn group(outcome: &serde_json::Value, of: &str, group: &str) -> [f64; 3] {
    let groups = outcome[of].as_array().unwrap();
    let found = groups.iter().find(|found| found["group"] == group).unwrap();
    ["seconds", "flops", "bytes"].map(|field| found[field].as_f64().unwrap())
}

/// The tiny decoder, or an encoder and a decoder of the same sizes.
fn tiny_generator(has_encoder: bool) -> String {
    if !has_encoder {
        return TINY_DECODER.to_owned();
    }
    TINY_DECODER
        .replace("kind = \"decoder\"", "kind = \"encoder_decoder\"")
        .replace("kind = \"grammar\"\nwords = 4000", "kind = \"number_words\"\npairs = 1000")
}

#[test]
fn generation_is_measured_with_every_cache_kept_and_shown() {
    let (layers, heads, d, rows, batch, n) = (2.0, 2.0, 16.0, 4.0, 2.0, 8.0);
    for has_encoder in [false, true] {
        let program = program();
        program.write("tiny.toml", tiny_generator(has_encoder));
        let arguments = [
            "bench",
            "generate",
            "tiny.toml",
            "--axis",
            "source=4,8",
            "--beam",
            "2",
            "--batch",
            "2",
            "--new-tokens",
            "4",
            "--runs",
            "2",
            "--largest-batch",
            "--memory",
            "150000000",
            "--name",
            "texts",
            "--json",
        ];
        let record = program.run(&arguments).expect_code(0).expect_words(&["Point 1 of 2", "source=4"]).json();
        let points = record["results"]["points"].as_array().unwrap();
        assert_eq!((points.len(), &record["results"]["is_complete"]), (2, &true.into()));
        let sides = points[1]["sides"].as_array().unwrap();
        let named: Vec<&str> = sides.iter().map(|side| side["side"].as_str().unwrap()).collect();
        assert_eq!(named, ["none", "key_value", "hidden"]);
        for side in sides {
            let outcome = &side["outcome"];
            assert_eq!((&outcome["kind"], &outcome["texts"]), (&"generated".into(), &2.into()), "{outcome}");
            assert_eq!(outcome["times"].as_array().unwrap().len(), 2);
            assert_eq!(outcome["cache_bytes"], outcome["predicted_cache_bytes"], "{outcome}");
            let largest = &side["largest_batch"];
            assert!(largest["batch"].as_u64().unwrap() > 2 && largest["run_secs"].as_f64().unwrap() > 0.0, "{largest}");
            for name in ["build_query", "attend"] {
                let [seconds, flops, bytes] = group(outcome, "groups", name);
                assert!(seconds > 0.0 && flops > 0.0 && bytes > 0.0, "{name}: {outcome}");
            }
        }
        // Two for each multiply-accumulate of scores and mix, over the positions that a step sees in the mean.
        let of = |side: usize, of: &str, name: &str| group(&sides[side]["outcome"], of, name)[1];
        let written = if has_encoder { 0.0 } else { 2.0 };
        assert_eq!(of(1, "groups", "attend"), layers * 4.0 * rows * d * (n + written));
        // Hidden states are multiplied once for each head, and the mix goes through the heads' values.
        let hidden = heads * 4.0 * rows * d * n + 4.0 * rows * d * written + 2.0 * rows * d * d;
        assert_eq!(of(2, "groups", "attend"), layers * hidden);
        let built = layers * 4.0 * d * d;
        if has_encoder {
            assert_eq!(of(1, "reading_groups", "build_keys_values"), built * batch * n);
            assert_eq!(of(2, "reading_groups", "build_keys_values"), 0.0);
            assert_eq!([of(1, "groups", "build_keys_values"), of(2, "groups", "build_keys_values")], [0.0, 0.0]);
            assert_eq!(of(0, "groups", "build_keys_values"), built * rows * n);
            assert_eq!(of(0, "groups", "attend") / (4.0 * layers * rows * d * n), 3.0, "2, 3 and 4 tokens");
        } else {
            assert_eq!(of(1, "groups", "build_keys_values"), built * rows);
        }

        let csv = program.run(&["bench", "show", "texts", "--csv"]).expect_code(0).stdout;
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 6, "{csv}");
        assert!(lines[0].starts_with("source,cache,outcome,total_secs,"), "{csv}");
        assert!(lines.iter().all(|line| line.matches(',').count() == lines[0].matches(',').count()), "{csv}");
        let table = program.run(&["bench", "show", "1"]).expect_code(0).stdout;
        for words in ["key_value", "build k/v"] {
            assert!(table.contains(words), "{words}: {table}");
        }
        // What is published is of other lengths and beams.
        for words in ["1.4 at 64", "section 4.1.2", "up to 36", "V100"] {
            assert!(!table.contains(words), "{words}: {table}");
        }
        let out = program.path("figures");
        let _ = program.run(&["bench", "show", "1", "--out", &out.display().to_string()]).expect_code(0);
        for name in ["attention-time.svg", "samples-per-second.png", "kept-between-tokens.csv", "benchmark.json"] {
            assert!(out.join(name).metadata().is_ok_and(|file| file.len() > 0), "{name}");
        }
        assert!(!out.join("step-time.svg").exists(), "what was not measured has no figure");
        let _ = program.run(&arguments).expect_code(0);
        let compared = program.run(&["bench", "compare", "1", "2", "--json"]).expect_code(0).json();
        assert_eq!(compared["ratios"].as_array().unwrap().len(), 6, "{compared}");
    }
}

#[test]
fn what_cannot_be_generated_is_refused_before_anything_is_measured() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    program.write("encoder.toml", TINY_DECODER.replace("kind = \"decoder\"", "kind = \"encoder\""));
    let refused: [(&str, &[&str], [&str; 2]); 11] = [
        ("tiny.toml", &["--axis", "source=2,3", "--source", "4", "--new-tokens", "2"], ["`source`", "leave one"]),
        ("encoder.toml", &["--axis", "source=4"], ["generates no text", "model.kind"]),
        ("tiny.toml", &["--axis", "source=4,16", "--new-tokens", "4"], ["need 19 positions", "data.sequence_length"]),
        ("tiny.toml", &["--axis", "source=4", "--new-tokens", "1"], ["at least 2 new tokens", "step"]),
        ("tiny.toml", &["--axis", "source=four"], ["source=four", "a whole number"]),
        ("tiny.toml", &["--axis", "sources=4"], ["sources", "field"]),
        ("tiny.toml", &["--axis", "beams=0,1", "--new-tokens", "2"], ["`beams` is 0", "from 1"]),
        ("tiny.toml", &["--axis", "source=4", "--cache", "all"], ["\"all\" is no cache", "key_value"]),
        ("tiny.toml", &["--axis", "source=4", "--cache", "none,none"], ["named twice", "none"]),
        (
            "tiny.toml",
            &["--axis", "model.heads=3", "--source", "4", "--new-tokens", "4"],
            ["model.width", "nothing was"],
        ),
        ("tiny.toml", &["--axis", "source=4", "--runs", "0", "--new-tokens", "4"], ["0 steps", "nothing to measure"]),
    ];
    for (config, more, words) in refused {
        let arguments = [&["bench", "generate", config], more].concat();
        let answer = program.run(&arguments).expect_code(2).expect_words(&words);
        assert_eq!(answer.stdout, "", "{arguments:?}");
    }
    let _ = program
        .run(&["bench", "generate", "--preset", "widths"])
        .expect_code(2)
        .expect_words(&["length, beams, batch"]);
    assert!(!program.store_path().exists(), "a refusal made a store");
}

#[test]
fn texts_that_do_not_fit_say_what_they_need() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let axis = ["--axis", "batch=1,60000", "--source", "4", "--new-tokens", "4", "--runs", "1", "--memory", "4000000"];
    let arguments = [&["bench", "generate", "tiny.toml", "--json"], &axis[..]].concat();
    let record = program.run(&arguments).expect_code(0).json();
    let sides = |point: usize| record["results"]["points"][point]["sides"].as_array().unwrap();
    assert!(sides(0).iter().all(|side| side["outcome"]["kind"] == "generated"), "{record}");
    for side in sides(1) {
        assert_eq!(side["outcome"]["kind"], "out_of_memory");
        assert!(side["outcome"]["needed_bytes"].as_u64().unwrap() > 4_000_000, "{side}");
    }
}

#[test]
fn a_length_that_is_given_is_the_one_that_is_measured() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let only = ["--source", "6", "--new-tokens", "3", "--runs", "1", "--warmup", "0", "--cache", "key_value"];
    let arguments = [&["bench", "generate", "tiny.toml", "--json"], &only[..]].concat();
    let record = program.run(&arguments).expect_code(0).json();
    let points = record["results"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 1, "{record}");
    assert!(points[0]["settings"].to_string().contains("\"source\""), "{}", points[0]);
    assert!(points[0]["settings"].to_string().contains('6'), "{}", points[0]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_text_in_the_middle() {
    use std::io::{BufRead, BufReader};

    let program = program();
    program.write("tiny.toml", TINY_DECODER);
    let axis = "batch=1,2,3";
    let arguments =
        ["bench", "generate", "tiny.toml", "--axis", axis, "--source", "4", "--new-tokens", "8", "--runs", "1000000"];
    let mut child = program.command(&arguments).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().starts_with("Point 1 of 3")));
    let kill = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    let last = told.map(Result::unwrap).last().unwrap_or_default();
    assert!(last.contains("Stopped before a point was measured; nothing is kept"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let list = program.run(&["bench", "list", "--json"]).expect_code(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(0), "{list}");
}

/// The peak of memory of a side of the tiny point at this length, and which process it is of.
#[cfg(target_os = "linux")]
#[expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]
fn peak(record: &serde_json::Value, length: &str) -> (f64, String) {
    let points = record["results"]["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["settings"][0]["value"] == length).unwrap();
    let outcome = &point["sides"][0]["outcome"];
    let source = outcome["memory_source"].as_str().unwrap().to_owned();
    (outcome["peak_memory_bytes"].as_f64().unwrap(), source)
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_depend_on_what_was_measured_before() {
    let program = program();
    program.write("tiny.toml", TINY_DECODER.replace("width = 16", "width = 64").replace("batch = 4", "batch = 32"));
    let sweep = |lengths: &str, more: &[&str]| {
        let axis = format!("data.sequence_length={lengths}");
        let mut arguments =
            vec!["bench", "sweep", "tiny.toml", "--axis", &axis, "--steps", "1", "--warmup", "0", "--json"];
        arguments.extend(more);
        let record = program.run(&arguments).expect_code(0).json();
        peak(&record, "32")
    };
    let (alone, source) = sweep("32", &[]);
    assert_eq!(source, "own_process");
    let after_longer = sweep("256,32", &[]);
    let after_search = sweep("128,32", &["--largest-batch", "--memory", "200000000"]);
    for (peak, source) in [after_longer, after_search] {
        assert_eq!(source, "own_process");
        let off = (peak - alone).abs();
        assert!(off < (0.05 * alone).max(4.0 * 1024.0 * 1024.0), "{alone} alone, {peak} after others");
    }
    let table = program.run(&["bench", "show", "1"]).expect_code(0).stdout;
    assert!(table.contains("a process of its own for each side"), "{table}");
    let csv = program.run(&["bench", "show", "1", "--csv"]).expect_code(0).stdout;
    assert!(csv.contains(",peak_memory_of,") && csv.contains(",own_process,"), "{csv}");
}

/// Children of a process that measure memory.
#[cfg(target_os = "linux")]
#[expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if status.contains(&format!("PPid:\t{parent}\n")) && line.contains("measure-memory") {
            found.push(id);
        }
    }
    found
}

/// A sweep whose memory takes long to measure, and the process that measures it.
#[cfg(target_os = "linux")]
#[expect(clippy::unwrap_used, clippy::zombie_processes, reason = "test code: whoever gets the process waits for it")]
fn busy_sweep(program: &Program) -> (std::process::Child, u32) {
    program.write("tiny.toml", TINY_DECODER.replace("width = 16", "width = 256").replace("batch = 4", "batch = 64"));
    let axis = "train.accumulation=400";
    let child = program.command(&["bench", "sweep", "tiny.toml", "--axis", axis, "--steps", "1"]).spawn().unwrap();
    let start = std::time::Instant::now();
    loop {
        if let [id] = children(child.id())[..] {
            return (child, id);
        }
        assert!(start.elapsed() < Duration::from_mins(1), "no process measures memory");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
fn is_gone(id: u32) -> bool {
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        if status.is_empty() || status.contains("State:\tZ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_that_measures_memory_outlives_neither_a_stop_nor_a_kill() {
    let program = program();
    let (mut child, measuring) = busy_sweep(&program);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_gone(measuring), "it outlived the program");

    let (mut child, measuring) = busy_sweep(&program);
    let kill = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(kill.success());
    assert!(is_gone(measuring), "it outlived the stop");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn what_a_preset_says_of_measuring_it_runs_as_it_stands() {
    let program = program();
    let text = program.run(&["presets", "reuse-savings"]).expect_code(0).stdout;
    let command = text.split('`').find(|part| part.starts_with("headroom bench ")).unwrap();
    let arguments: Vec<&str> =
        command.split_whitespace().skip(1).chain(["--steps", "1", "--warmup", "0", "--json"]).collect();
    let record = program.run(&arguments).expect_code(0).json();
    let points = record["results"]["points"].as_array().unwrap();
    let lengths: Vec<_> = points.iter().map(|point| point["settings"][0]["value"].as_str().unwrap()).collect();
    assert_eq!(lengths, ["256", "512", "1024"]);
    let (peak, steps): (Vec<f64>, Vec<f64>) = (points[2]["sides"].as_array().unwrap().iter())
        .map(|side| &side["outcome"])
        .map(|outcome| {
            (outcome["peak_memory_bytes"].as_f64().unwrap_or(0.0), outcome["step_secs"]["median"].as_f64().unwrap())
        })
        .unzip();
    assert_eq!((peak.len(), steps.len()), (2, 2), "both sides were measured");
}
