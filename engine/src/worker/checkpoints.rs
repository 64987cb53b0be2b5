//! Which checkpoints a run has, which one is meant, which ones go.

use std::path::{Path, PathBuf};

use super::Which;
use crate::{
    checkpoint::{CheckpointError, remove_model_dir},
    store::{CheckpointKind, CheckpointRecord, RunId, Store},
};

/// The folder of the checkpoint of a step inside the run's checkpoint folder.
pub(super) fn folder(checkpoints: &Path, step: u64) -> PathBuf {
    checkpoints.join(format!("step-{step:08}"))
}

/// The checkpoint that is meant, or in words why there is none.
pub fn choose_checkpoint(records: &[CheckpointRecord], which: Which) -> Result<&CheckpointRecord, String> {
    let newest = records.iter().max_by_key(|record| record.step);
    let found = match which {
        Which::Best => records.iter().find(|record| record.kind == CheckpointKind::Best).or(newest),
        Which::Last => newest,
        Which::Step(step) => records.iter().find(|record| record.step == step),
    };
    found.ok_or_else(|| {
        let mut steps: Vec<u64> = records.iter().map(|record| record.step).collect();
        steps.dedup();
        if steps.is_empty() {
            "The run has no checkpoint yet.".to_owned()
        } else {
            let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
            format!("The run has no checkpoint of {which}. It has those of step {}.", steps.join(", "))
        }
    })
}

/// Removes the folder of a checkpoint that is not needed any more.
pub(super) fn remove(path: &Path) -> Result<(), CheckpointError> {
    remove_model_dir(path)
}

/// Folders of checkpoints that no record names, newest first: what a crash left between a checkpoint and its record.
pub(super) fn unrecorded(store: &Store, run: &RunId, records: &[CheckpointRecord]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(store.paths().checkpoints(run)) else { return Vec::new() };
    let is_named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("step-"));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_named).collect();
    found.retain(|path| records.iter().all(|record| record.path != *path));
    // Steps are written with leading zeros.
    found.sort_by(|a, b| b.cmp(a));
    found
}

/// Removes checkpoint folders that no record names: what a crash left between a checkpoint and its record.
/// Only for a run that does not train.
pub(super) fn sweep(store: &Store, run: &RunId) {
    let Ok(records) = store.checkpoints(run) else { return };
    let Ok(entries) = std::fs::read_dir(store.paths().checkpoints(run)) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("step-") && records.iter().all(|record| record.path != path) {
            let _ = remove(&path);
        } else if name.contains(".headroom-new-") {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(step: u64, kind: CheckpointKind) -> CheckpointRecord {
        CheckpointRecord {
            step,
            path: folder(Path::new("c"), step),
            kind,
            metric: None,
            value: None,
            bytes: 0,
            created_ms: 0,
        }
    }

    #[test]
    fn the_meant_checkpoint_is_found() {
        let records =
            [record(10, CheckpointKind::Best), record(20, CheckpointKind::Last), record(30, CheckpointKind::Last)];
        assert_eq!(choose_checkpoint(&records, Which::Best).unwrap().step, 10);
        assert_eq!(choose_checkpoint(&records, Which::Last).unwrap().step, 30);
        assert_eq!(choose_checkpoint(&records, Which::Step(20)).unwrap().step, 20);
        let why = choose_checkpoint(&records, Which::Step(25)).unwrap_err();
        assert!(why.contains("10, 20, 30"), "{why}");
        assert!(choose_checkpoint(&[], Which::Best).unwrap_err().contains("no checkpoint yet"));
    }
}
