//! Databases that are removed or replaced while a program trains into them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use headroom_engine::store::{OpenMode, Store};

use crate::{Chance, Program, TINY_DECODER};

/// Ways to remove or replace the files of a store.
const WAYS: [&str; 6] = ["database", "all files", "log", "replaced", "moved", "folder"];
const STEPS: u64 = 300;
const SERIES: [&str; 3] = ["train/loss", "validation/loss", "train/grad_norm"];

/// Counts of removals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Removals {
    /// Databases that were removed.
    pub removed: u64,
    /// Runs whose program ended with 1, said so, and lost nothing.
    pub whole: u64,
}

fn config() -> String {
    TINY_DECODER.replace("steps = 60", &format!("steps = {STEPS}"))
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", database.display()))
}

fn remove(database: &Path, way: &str) -> std::io::Result<()> {
    let side_files = || ["-wal", "-shm"].iter().try_for_each(|ending| fs::remove_file(beside(database, ending)));
    match way {
        "database" => fs::remove_file(database),
        "all files" => fs::remove_file(database).and_then(|()| side_files()),
        "log" => fs::remove_file(beside(database, "-wal")),
        "replaced" => {
            let other = database.with_file_name("other.db");
            drop(Store::open(&other, OpenMode::ReadWrite).map_err(std::io::Error::other)?);
            side_files()?;
            fs::rename(other, database)
        }
        "moved" => fs::rename(database, beside(database, ".moved")),
        _ => fs::remove_dir_all(database.parent().unwrap_or(database)),
    }
}

/// Trains once in peace and once more, removes the database at a moment of the seed's choosing, puts it together again as the
/// program says, and tells what is missing.
pub fn remove_while_training(binary: &Path, seed: u64, counts: &mut Removals) -> Vec<String> {
    let mut chance = Chance::new(seed);
    let way = WAYS[seed as usize % WAYS.len()];
    let peaceful = Program::new(binary);
    let whole = peaceful.train(&config(), &[]);
    let program = Program::new(binary);
    program.write("c.toml", config());
    let database = program.store_path();
    let training = program.start(&["train", "c.toml", "--json"]);
    let step = 1 + chance.below(STEPS / 2);
    let reached = training.wait_for("step", |event| event["step"].as_u64().is_some_and(|at| at >= step));
    let run = reached.and_then(|event| event["run"].as_str().map(str::to_owned)).expect("a step");
    remove(&database, way).expect("files to remove");
    counts.removed += 1;
    let (code, last) = training.wait();
    let mut faults = Vec::new();
    if code != 1 {
        faults.push(format!("it ended with {code}"));
    }
    // As the message says, whose last word is the spill file.
    let told = last.and_then(|last| last["unwritten"].as_str().map(str::to_owned)).unwrap_or_default();
    let spill = told.rsplit_once(": ").map(|(_, path)| PathBuf::from(path));
    let copy = told.split_once("is in ").and_then(|(_, rest)| Some(PathBuf::from(rest.split_once(": put it")?.0)));
    fs::create_dir_all(database.parent().expect("a folder")).expect("a folder");
    if let Some(copy) = &copy {
        fs::copy(copy, &database).and_then(|_| fs::remove_file(copy)).expect("the copy that was told of");
    }
    if let Some(spill) = spill.filter(|spill| spill.is_file() && spill.parent() != database.parent()) {
        let place = database.with_file_name(spill.file_name().unwrap_or_default());
        fs::copy(&spill, place).and_then(|_| fs::remove_file(&spill)).expect("the file that was told of");
    }
    for series in SERIES {
        let (expected, found) = (peaceful.curve(&whole, series), program.curve(&run, series));
        if expected != found {
            faults.push(format!("{} of {} points of {series}", found.len(), expected.len()));
        }
    }
    counts.whole += u64::from(faults.is_empty());
    faults.into_iter().map(|fault| format!("removed {way} at step {step} (seed {seed}): {fault}: {told}")).collect()
}
