//! A store that commit b282195 made, with runs that finished and the same runs killed half-way: it opens, its runs are
//! listed, shown, evaluated, analysed and exported, and what was killed goes on along the very same curve.
//!
//! `tests/fixtures/b282195/README.md` says how it was made.

use std::{fs, path::Path};

use headroom_tests::Program;
use serde_json::Value;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/b282195");

/// Runs that finished, and for each its twin of the same config that was killed.
const TWINS: [[&str; 2]; 2] = [["decoder whole", "decoder killed"], ["encoder whole", "encoder killed"]];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The program on a copy of the older store.
fn program() -> Program {
    let program = crate::program();
    copy(&Path::new(FIXTURE).join("store"), program.store_path().parent().unwrap());
    program
}

/// What the older version answered, as JSON.
fn answered(name: &str) -> Value {
    let text = fs::read_to_string(Path::new(FIXTURE).join("answers").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Whether two numbers are one but for the last digits, as processors of other kinds sum them.
fn is_close(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs().max(1e-3),
        _ => found == expected,
    }
}

/// Checks that everything that was answered is answered again.
fn holds(found: &Value, expected: &Value, at: &str) {
    match expected {
        Value::Object(fields) => {
            for (name, expected) in fields {
                holds(&found[name.as_str()], expected, &format!("{at}.{name}"));
            }
        }
        _ => assert!(is_close(found, expected), "{at}: {found} was {expected}"),
    }
}

#[test]
fn runs_are_listed_and_shown_as_they_were() {
    let program = program();
    let runs = program.run(&["runs", "--json"]).expect_code(0).json();
    let names: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for run in TWINS.iter().flatten() {
        let (shown, expected) = (program.show(run), answered(&format!("{}.json", run.replace(' ', "-"))));
        for field in ["id", "name", "parameters", "steps", "metrics"] {
            holds(&shown[field], &expected[field], &format!("{run}.{field}"));
        }
    }
}

#[test]
fn checkpoints_are_evaluated_exported_and_analysed() {
    let program = program();
    for [whole, _] in TWINS {
        let name = whole.replace(' ', "-");
        let found = program.run(&["eval", whole, "--json"]).expect_code(0).json();
        let expected = answered(&format!("{name}-eval.json"));
        for field in ["loss", "perplexity", "accuracy", "masked_accuracy"] {
            if !expected[field].is_null() {
                holds(&found[field], &expected[field], &format!("{whole}.{field}"));
            }
        }
        let folder = program.path(&name);
        let exported = program.run(&["export", whole, "--which", "last", "--to", &folder.to_string_lossy()]);
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        let older = Path::new(FIXTURE).join("exports").join(&name);
        for file in ["model.safetensors", "tokenizer.json"] {
            let expected = fs::read(older.join(file)).unwrap();
            assert!(fs::read(folder.join(file)).unwrap() == expected, "{whole}: {file} is not what it was");
        }
        let keys = |folder: &Path| -> Value {
            let mut keys: Value = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
            // A sentence for people, and where PyTorch finds what computes the model, came later.
            for key in ["headroom_note", "auto_map"] {
                keys.as_object_mut().unwrap().remove(key);
            }
            keys
        };
        assert_eq!(keys(&folder), keys(&older), "{whole}");
        let _ = program.run(&["analyse", whole, "--json", "--examples", "8"]).expect_code(0).json();
    }
}

#[test]
fn killed_runs_go_on_along_the_same_curve() {
    let program = program();
    for [whole, killed] in TWINS {
        let answer = program.run(&["resume", killed, "--json"]).expect_code(0);
        assert_eq!(answer.events().last().unwrap()["state"], "finished");
        let id = |name: &str| program.show(name)["id"].as_str().unwrap().to_owned();
        let (whole, killed) = (id(whole), id(killed));
        for series in ["train/loss", "validation/loss", "train/grad_norm", "train/learning_rate"] {
            let (expected, found) = (program.curve(&whole, series), program.curve(&killed, series));
            assert_eq!(expected.len(), found.len(), "{series}");
            for ((step, expected), (other, found)) in expected.into_iter().zip(found) {
                let (expected, found) = (f64::from_bits(expected), f64::from_bits(found));
                // Processors of other kinds may sum in other orders.
                let limit = 1e-5 * expected.abs().max(1e-3);
                assert!(step == other && (found - expected).abs() <= limit, "{series} {step}: {found} was {expected}");
            }
        }
    }
}
