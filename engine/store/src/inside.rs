//! What lies in the store's folder: reached from the open folder down, one part after the other, following no link.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::paths::is_checkpoint;
use super::{CheckpointRecord, RunId, Store, StoreError, StorePaths};
use crate::checkpoint::{Removable, check_removable, remove_marked};

/// The folder of all runs' files, and that of a run's checkpoints.
const RUNS: &str = "runs";
const CHECKPOINTS: &str = "checkpoints";

/// A folder inside of the store, step by step from its root; none where it is not there.
///
/// # Errors
/// In words after "it": a part of the way is a link or no folder, or cannot be opened.
fn open(paths: &StorePaths, parts: &[&str]) -> Result<Option<Dir>, String> {
    let told = |error: io::Error| format!("cannot be opened ({error})");
    let mut dir = match Dir::open_ambient_dir(paths.root(), ambient_authority()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        dir => dir.map_err(told)?,
    };
    for part in parts {
        dir = match enter(&dir, part)? {
            Some(inner) => inner,
            None => return Ok(None),
        };
    }
    Ok(Some(dir))
}

/// A folder of an open one; none where it is not there.
fn enter(dir: &Dir, part: &str) -> Result<Option<Dir>, String> {
    let told = |error: io::Error| format!("cannot be opened ({part}: {error})");
    let kind = match dir.symlink_metadata(part) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        there => there.map_err(told)?.file_type(),
    };
    if kind.is_symlink() {
        return Err(format!("is reached through a link ({part}), and links in a store are not followed"));
    }
    if !kind.is_dir() {
        return Err(format!("is no folder ({part})"));
    }
    // A link that took its place since is not followed either.
    dir.open_dir_nofollow(part).map(Some).map_err(told)
}

/// What a run has on disk.
#[derive(Debug, Default)]
pub(crate) struct RunFiles {
    /// Whether the run's folder is there.
    pub is_there: bool,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Looks through a run's folder for anything that stands in the way of removing it.
///
/// # Errors
/// In words after "it": why it stays.
pub(crate) fn check_run(paths: &StorePaths, run: &RunId) -> Result<RunFiles, String> {
    let Some(folder) = open(paths, &[RUNS, run.as_str()])? else { return Ok(RunFiles::default()) };
    let mut files = RunFiles { is_there: true, bytes: 0 };
    for name in names(&folder)? {
        if name != CHECKPOINTS {
            return Err(format!("holds what is not Headroom's ({name:?})"));
        }
        let Some(checkpoints) = enter(&folder, &name)? else { continue };
        files.bytes += checkpoints_of(&checkpoints, run)?.iter().map(|found| found.bytes).sum::<u64>();
    }
    Ok(files)
}

/// Removes a run's folder, checkpoint by checkpoint.
///
/// # Errors
/// In words after "it": why some or all of it stays.
pub(crate) fn remove_run(paths: &StorePaths, run: &RunId) -> Result<(), String> {
    if !check_run(paths, run)?.is_there {
        return Ok(());
    }
    let told = |error: io::Error| format!("cannot be removed ({error})");
    if let Some(checkpoints) = open(paths, &[RUNS, run.as_str(), CHECKPOINTS])? {
        for found in checkpoints_of(&checkpoints, run)? {
            let name = found.name;
            remove_marked(&checkpoints, &name, run.as_str()).map_err(|why| format!("holds {name}, which {why}"))?;
        }
    }
    // Folders go only when they are empty.
    if let Some(folder) = open(paths, &[RUNS, run.as_str()])?
        && folder.symlink_metadata(CHECKPOINTS).is_ok()
    {
        folder.remove_dir(CHECKPOINTS).map_err(told)?;
    }
    match open(paths, &[RUNS])? {
        Some(runs) => runs.remove_dir(run.as_str()).map_err(told),
        None => Ok(()),
    }
}

/// Everything in a run's folder of checkpoints.
///
/// # Errors
/// In words after "it": there is something that does not go.
fn checkpoints_of(checkpoints: &Dir, run: &RunId) -> Result<Vec<Removable>, String> {
    let mut found = Vec::new();
    for name in names(checkpoints)? {
        if !is_ours(&name) {
            return Err(format!("holds what is not Headroom's ({name:?})"));
        }
        let checkpoint = check_removable(checkpoints, &name, run.as_str());
        found.push(checkpoint.map_err(|why| format!("holds {name}, which {why}"))?);
    }
    Ok(found)
}

/// Whether a name is that of a checkpoint, or of what a crash leaves beside one.
fn is_ours(name: &str) -> bool {
    let left = |name: &str| {
        let (checkpoint, rest) = name.strip_prefix('.')?.split_once(".headroom-")?;
        Some(is_checkpoint(checkpoint) && (rest == "old" || rest.starts_with("new-")))
    };
    is_checkpoint(name) || left(name).unwrap_or(false)
}

fn names(dir: &Dir) -> Result<Vec<String>, String> {
    let told = |error: io::Error| format!("cannot be read ({error})");
    let mut names = Vec::new();
    for entry in dir.entries().map_err(told)? {
        let name = entry.map_err(told)?.file_name();
        names.push(name.into_string().map_err(|name| format!("holds what is not Headroom's ({})", name.display()))?);
    }
    names.sort();
    Ok(names)
}

/// Why a checkpoint in its run's folder is not to be read; none where it is, or is not there.
pub(crate) fn checkpoint_problem(paths: &StorePaths, run: &RunId, name: &str) -> Option<String> {
    let look = || {
        let Some(checkpoints) = open(paths, &[RUNS, run.as_str(), CHECKPOINTS])? else { return Ok(()) };
        let Some(checkpoint) = enter(&checkpoints, name)? else { return Ok(()) };
        for entry in checkpoint.entries().into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                let file = entry.file_name();
                return Err(format!(
                    "holds a link ({}), and links in a store are not followed",
                    file.to_string_lossy()
                ));
            }
        }
        Ok(())
    };
    look().err().map(|why: String| format!("it {why}"))
}

impl Store {
    /// The folder in which a run keeps its checkpoints, made if need be.
    ///
    /// # Errors
    /// A part of the way from the store's folder is a link or no folder, or it cannot be made.
    pub fn prepare_checkpoints(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let paths = self.paths();
        let left_alone = |why: String| StoreError::LeftAlone {
            what: format!("The folder of the run {run}"),
            why,
            path: paths.root().to_owned(),
        };
        let mut dir = open(paths, &[]).and_then(|root| root.ok_or_else(|| "is gone".to_owned())).map_err(left_alone)?;
        for part in [RUNS, run.as_str(), CHECKPOINTS] {
            match dir.create_dir(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(left_alone(format!("cannot be made ({error})")));
                }
                _ => {}
            }
            let inner = enter(&dir, part).and_then(|inner| inner.ok_or_else(|| "is gone".to_owned()));
            dir = inner.map_err(left_alone)?;
        }
        Ok(paths.checkpoints(run))
    }

    /// Removes the files of one of a run's checkpoints: only where it lies in the run's own folder of this store, is reached
    /// without a link, and carries the mark of Headroom (see [`crate::checkpoint`]). One that is not there is no error.
    ///
    /// # Errors
    /// It is left alone; the message says why.
    pub fn remove_checkpoint(&self, run: &RunId, path: &Path) -> Result<(), StoreError> {
        let paths = self.paths();
        let left_alone = |why: String| StoreError::LeftAlone {
            what: format!("The checkpoint {}", path.display()),
            why,
            path: paths.root().to_owned(),
        };
        let name = paths.checkpoint_name(run, path);
        // "it is …": the words are told after "it".
        let name = name.map_err(|why| left_alone(why.trim_start_matches("it ").to_owned()))?;
        let Some(checkpoints) = open(paths, &[RUNS, run.as_str(), CHECKPOINTS]).map_err(left_alone)? else {
            return Ok(());
        };
        remove_marked(&checkpoints, &name, run.as_str()).map_err(left_alone)?;
        // What a crash left moved aside would come back under its name.
        remove_marked(&checkpoints, &format!(".{name}.headroom-old"), run.as_str()).map_err(left_alone)
    }

    /// The folders of those of a run's checkpoints that none of `records` names, newest first: what a crash left between a
    /// checkpoint and its record. Those that are not to be read (a link on the way) are left out.
    pub fn unrecorded_checkpoints(&self, run: &RunId, records: &[CheckpointRecord]) -> Vec<PathBuf> {
        let Ok(Some(checkpoints)) = open(self.paths(), &[RUNS, run.as_str(), CHECKPOINTS]) else { return Vec::new() };
        let folder = self.paths().checkpoints(run);
        let is_free =
            |name: &String| is_checkpoint(name) && records.iter().all(|record| record.path != folder.join(name));
        let mut found: Vec<String> = names(&checkpoints).unwrap_or_default().into_iter().filter(is_free).collect();
        found.retain(|name| checkpoint_problem(self.paths(), run, name).is_none());
        // Steps are written with leading zeros.
        found.sort_by(|a, b| b.cmp(a));
        found.into_iter().map(|name| folder.join(name)).collect()
    }

    /// Removes those of a run's checkpoints that no record names, and what crashes left half-written: only for a run that
    /// nobody works on. Where a record cannot be read nothing is removed, since it may be the one that names it.
    pub fn sweep_checkpoints(&self, run: &RunId) {
        let Ok((records, hidden)) = self.checkpoints_and_hidden(run) else { return };
        let Ok(Some(checkpoints)) = open(self.paths(), &[RUNS, run.as_str(), CHECKPOINTS]) else { return };
        let folder = self.paths().checkpoints(run);
        for name in names(&checkpoints).unwrap_or_default() {
            let is_unnamed = hidden == 0 && records.iter().all(|record| record.path != folder.join(&name));
            let is_left = is_ours(&name) && name.contains(".headroom-new-");
            if is_left || (is_checkpoint(&name) && is_unnamed) {
                // What cannot be removed only takes room.
                let _ = remove_marked(&checkpoints, &name, run.as_str());
            }
        }
    }
}
