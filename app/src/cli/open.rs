//! Where the store is, and the ways into it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use headroom_engine::store::{OpenMode, RunFilter, RunId, RunRecord, Store, StoreError, StorePaths};
#[cfg(feature = "window")]
use headroom_engine::worker::EngineError;

use super::{
    error::{CliError, CliResult},
    hint,
};
use crate::compare::names_apart;

/// So many runs are named where none fits.
const NEWEST: usize = 5;
/// So often an empty file is looked at again, so far apart: another program may be making a store of it just now.
const TRIES: usize = 10;
const APART: Duration = Duration::from_millis(20);

/// The store's database file: as given (a file, or the folder of one), else where it usually is.
pub fn path(given: Option<&Path>) -> CliResult<PathBuf> {
    match given {
        Some(given) if given.as_os_str().is_empty() => {
            Err(CliError::at("store", "--store is empty. Name a database file or the folder of one."))
        }
        Some(given) => Ok(StorePaths::database_at(given)),
        None => {
            let usual = StorePaths::default_location().map(|paths| paths.database().to_owned());
            usual.ok_or_else(|| {
                let variable = StorePaths::VARIABLE;
                let message =
                    format!("There is no home folder to keep runs in. Name a store with --store or {variable}.");
                CliError::at("store", message)
            })
        }
    }
}

/// The store's database file, which must be there and hold something. Reading makes no store of an empty file: that may be anything.
pub fn existing(given: Option<&Path>) -> CliResult<PathBuf> {
    let path = path(given)?;
    if !path.exists() {
        return Err(StoreError::Missing { path }.into());
    }
    for _ in 0..TRIES {
        if !is_empty(&path) {
            return Ok(path);
        }
        std::thread::sleep(APART);
    }
    let message = format!(
        "There is no store there: the file is empty. Train something into it, or name another place with --store or \
         {}; this file was left as it is: {}",
        StorePaths::VARIABLE,
        path.display()
    );
    Err(CliError::at("store", message))
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Whether nobody named a store and there is none yet.
pub fn is_not_yet(given: Option<&Path>) -> CliResult<bool> {
    Ok(given.is_none() && !path(given)?.exists())
}

/// Opens the store to read runs; none where nobody named a store and there is none yet.
///
/// Opened for writing where that is possible, so that runs of programs that died are told from running ones.
pub fn reading(given: Option<&Path>) -> CliResult<Option<Store>> {
    if is_not_yet(given)? {
        return Ok(None);
    }
    let path = existing(given)?;
    let store = Store::open_to_read(&path)?;
    clean_up(&path);
    Ok(Some(store))
}

/// Opens the store to read a run that must be there.
pub fn reading_existing(given: Option<&Path>) -> CliResult<Store> {
    match reading(given)? {
        Some(store) => Ok(store),
        None => Err(StoreError::Missing { path: path(given)? }.into()),
    }
}

/// The store, opened to read, and the run in it that is meant.
pub fn reading_run(given: Option<&Path>, query: &str) -> CliResult<(Store, RunRecord)> {
    let store = reading_existing(given)?;
    let record = run(&store, given, query)?;
    Ok((store, record))
}

/// Opens the store to change what is written about runs that must be there.
pub fn writing(given: Option<&Path>) -> CliResult<Store> {
    let path = existing(given)?;
    let store = Store::open(&path, OpenMode::ReadWrite)?;
    clean_up(&path);
    Ok(store)
}

/// Removes what engines that were killed left beside the database; the store itself removes its own files.
#[cfg(unix)]
fn clean_up(path: &Path) {
    headroom_engine::worker::remove_stale_sockets(&StorePaths::for_database(path));
}

#[cfg(not(unix))]
fn clean_up(_: &Path) {}

/// What each run is called, so that no two are called the same: told apart among all runs, as in the window.
pub fn names(store: &Store) -> CliResult<BTreeMap<RunId, String>> {
    let runs = store.runs(RunFilter { include_archived: true, include_deleted: false })?;
    let names = names_apart(&runs);
    Ok(runs.into_iter().map(|run| run.id).zip(names).collect())
}

/// Whether no run is meant, rather than one of several.
pub fn is_no_run(given: Option<&Path>, query: &str) -> bool {
    match reading(given) {
        Ok(Some(store)) => matches!(store.run(query), Err(StoreError::NoSuchRun { .. })),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// The run that is meant, also by what lists call it; where there is none, the message names the newest and how to list all.
/// `given` is `--store`.
pub fn run(store: &Store, given: Option<&Path>, query: &str) -> CliResult<RunRecord> {
    store.run(query).or_else(|error| {
        let StoreError::NoSuchRun { nearest, .. } = &error else { return Err(error.into()) };
        let called = names(store).unwrap_or_default();
        let mut meant = called.iter().filter(|(_, name)| *name == query.trim());
        if let (Some((run, _)), None) = (meant.next(), meant.next()) {
            return store.run(run.as_str()).map_err(CliError::from);
        }
        let runs = store.runs(RunFilter::default()).unwrap_or_default();
        let mut message = error.to_string();
        if runs.is_empty() {
            message += " The store holds no runs: ";
            message += &store.paths().database().display().to_string();
            return Err(CliError::at("run", message));
        }
        if nearest.is_empty() {
            message += if runs.len() > NEWEST { " The newest:" } else { " There are:" };
            for run in runs.iter().rev().take(NEWEST) {
                let name = called.get(&run.id).unwrap_or(&run.name);
                message.extend(["\n  ", run.id.as_str(), "  ", name.as_str()]);
            }
            message.push('\n');
        } else {
            message.push(' ');
        }
        Err(CliError::at("run", format!("{message}List all with: {}", hint::command("runs", given))))
    })
}

/// Opens the window.
#[cfg(feature = "window")]
pub fn window(given: Option<&Path>) -> CliResult {
    crate::window::run_window(path(given)?).map_err(|error| match error.downcast_ref::<EngineError>() {
        Some(EngineError::Store(cause)) => CliError::of_store(cause, format!("{error:#}")),
        _ => CliError::Failed(format!("{error:#}")),
    })
}

/// Says that this program was built without the window.
#[cfg(not(feature = "window"))]
pub fn window(_: Option<&Path>) -> CliResult {
    let message = "This program was built without the window, for machines without a screen. List its commands with: headroom help";
    Err(CliError::Failed(message.to_owned()))
}
