//! A store that cannot be written while a run trains: nothing is lost, nothing piles up, and the exit code says it.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;

use headroom_engine::store::StorePaths;
use headroom_tests::{Program, TINY_DECODER, hold};

use crate::program;

/// A run that takes some seconds, with many checkpoints.
fn config(steps: u64) -> String {
    TINY_DECODER
        .replace("steps = 60", &format!("steps = {steps}"))
        .replace("checkpoint_every = 20", "checkpoint_every = 25")
        .replace("evaluate_every = 20", "evaluate_every = 50")
}

const SERIES: [&str; 3] = ["train/loss", "validation/loss", "train/grad_norm"];

fn checkpoints(program: &Program, run: &str) -> usize {
    let folder = StorePaths::for_database(&program.store_path()).checkpoints(&run.parse().unwrap());
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_run_whose_record_cannot_be_written_says_where_it_is() {
    let config = config(300);
    let peaceful = program();
    let whole = peaceful.train(&config, &[]);

    let program = program();
    program.write("c.toml", &config);
    let training = program.start(&["train", "c.toml", "--json"]);
    let started = training.wait_for("step", |_| true).unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    let holder = hold(&program.store_path());
    let (code, last) = training.wait();
    let last = last.unwrap();
    assert_eq!((code, &last["event"], &last["state"]), (1, &"finished".into(), &"finished".into()), "{last}");
    let told = last["unwritten"].as_str().unwrap();
    let (_, path) = told.rsplit_once(": ").unwrap();
    assert!(Path::new(path).is_file() && Path::new(path).extension().is_some_and(|ending| ending == "spill"), "{told}");
    // Two to go on from, and the best.
    assert!(checkpoints(&program, &run) <= 3, "{} checkpoints", checkpoints(&program, &run));
    drop(holder);
    assert_eq!(program.show(&run)["state"], "finished", "the next command brings it in");
    assert!(!Path::new(path).exists());
    for series in SERIES {
        assert_eq!(program.curve(&run, series), peaceful.curve(&whole, series), "{series}");
    }
}

#[test]
fn in_words_it_is_not_called_finished() {
    let program = program();
    let path = program.write("c.toml", config(150));
    let first = program.run(&["train", path.to_str().unwrap(), "--set", "train.steps=1"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let mut child = program.command(&["train", path.to_str().unwrap()]).spawn().unwrap();
    // Held once the run is there.
    let began = std::time::Instant::now();
    while program.store().runs(headroom_engine::store::RunFilter::default()).unwrap().len() < 2 {
        assert!(began.elapsed().as_secs() < 60 && child.try_wait().unwrap().is_none(), "no second run");
    }
    let holder = hold(&program.store_path());
    let output = child.wait_with_output().unwrap();
    drop(holder);
    let (told, stdout) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("Trained, but not recorded") && told.contains(".spill"), "{told}");
    assert!(!stdout.contains("Finished"), "{stdout}");
}

/// The file size limit of a process stands for a disk: beyond it writes fail, with the disk full or broken.
#[cfg(target_os = "linux")]
#[test]
fn files_that_cannot_grow_for_a_while_cost_no_point() {
    let config = config(3000);
    let peaceful = program();
    let whole = peaceful.train(&config, &[]);

    let program = program();
    program.write("c.toml", &config);
    // The database is there before, so that only what is added to it finds no room.
    program.train(&config.replace("steps = 3000", "steps = 1"), &[]);
    let limited = "trap '' XFSZ; ulimit -S -f 512; exec \"$0\" \"$@\"";
    let arguments = ["-c", limited, crate::BINARY, "train", "c.toml", "--json"];
    let training = program.start_with("sh", &arguments);
    let queued = training.wait_for("queued", |_| true).unwrap();
    let run = queued["run"].as_str().unwrap().to_owned();
    let told = training.wait_for("warning", |event| event["message"].as_str().unwrap().contains("held in memory"));
    assert!(told.is_some(), "neither the database nor a file beside it was written on");
    let lift = ["--pid", &training.id().to_string(), "--fsize=unlimited:"];
    assert!(Command::new("prlimit").args(lift).status().unwrap().success());
    assert!(
        training.wait_for("warning", |event| event["message"].as_str().unwrap().contains("written again")).is_some()
    );
    let (code, last) = training.wait();
    assert_eq!((code, &last.as_ref().unwrap()["state"]), (0, &"finished".into()), "{last:?}");
    for series in SERIES {
        assert_eq!(program.curve(&run, series), peaceful.curve(&whole, series), "{series}");
    }
    assert!(checkpoints(&program, &run) <= 3);
}

/// The program trained on into a file without a name, and ended with 0.
#[cfg(unix)]
#[test]
fn a_database_that_is_removed_while_a_run_trains_is_told_of_and_nothing_is_lost() {
    let config = config(400);
    let peaceful = program();
    let whole = peaceful.train(&config, &[]);

    let program = program();
    program.write("c.toml", &config);
    let training = program.start(&["train", "c.toml", "--json"]);
    let started = training.wait_for("step", |event| event["step"].as_u64().unwrap() > 50).unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    let database = program.store_path();
    std::fs::remove_file(&database).unwrap();
    let told = training.wait_for("warning", |event| event["message"].as_str().unwrap().contains("removed or replaced"));
    assert!(told.is_some(), "the program does not say that its database is gone");
    let (code, last) = training.wait();
    let last = last.unwrap();
    assert_eq!((code, &last["event"], &last["state"]), (1, &"finished".into(), &"finished".into()), "{last}");
    let told = last["unwritten"].as_str().unwrap();
    let (_, spill) = told.rsplit_once(": ").unwrap();
    assert!(
        Path::new(spill).is_file() && Path::new(spill).extension().is_some_and(|ending| ending == "spill"),
        "{told}"
    );
    assert!(!database.exists(), "nothing is made in the place of what was removed");
    let copies = std::fs::read_dir(database.parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    let copies: Vec<_> = copies.filter(|path| path.extension().is_some_and(|ending| ending == "copy")).collect();
    let [copy] = &copies[..] else { panic!("one copy: {copies:?}") };
    assert!(told.contains(&copy.display().to_string()), "{told}");
    // A store that is made there meanwhile does not take what is another's.
    let other = program.train(&config.replace("steps = 400", "steps = 1"), &[]);
    assert_ne!(other, run);
    assert!(Path::new(spill).is_file(), "what belongs to the removed store stays");
    // As the message says.
    std::fs::rename(copy, &database).unwrap();
    assert_eq!(program.show(&run)["state"], "finished");
    assert!(!Path::new(spill).exists());
    for series in SERIES {
        assert_eq!(program.curve(&run, series), peaceful.curve(&whole, series), "{series}");
    }
}
