//! Which checkpoints a run has, which one is meant, which ones go.

use std::path::{Path, PathBuf};

use super::refusal::Refusal;
use crate::{
    protocol::Which,
    store::{CheckpointKind, CheckpointRecord, RunId, Store, StoreError},
    text::listed,
};

/// The folder of the checkpoint of a step inside the run's checkpoint folder.
pub(crate) fn folder(checkpoints: &Path, step: u64) -> PathBuf {
    checkpoints.join(format!("step-{step:08}"))
}

/// Where the checkpoint of a step is to be written. The folder around it is made, and lies in the store for certain.
pub(crate) fn place(store: &Store, run: &RunId, step: u64) -> Result<PathBuf, StoreError> {
    Ok(folder(&store.prepare_checkpoints(run)?, step))
}

/// Removes the files of one of a run's checkpoints that is not needed any more.
///
/// # Errors
/// It cannot be removed, or is not ours to remove.
pub(crate) fn remove(store: &Store, run: &RunId, path: &Path) -> Result<(), StoreError> {
    store.remove_checkpoint(run, path)
}

/// The checkpoint that is meant, or why there is none.
pub fn choose_checkpoint(records: &[CheckpointRecord], which: Which) -> Result<&CheckpointRecord, Refusal> {
    let newest = records.iter().max_by_key(|record| record.step);
    let found = match which {
        Which::Best => records.iter().find(|record| record.kind == CheckpointKind::Best).or(newest),
        Which::Last => newest,
        Which::Step(step) => records.iter().find(|record| record.step == step),
    };
    if let Some(CheckpointRecord { step, problem: Some(problem), .. }) = found {
        return Err(Refusal::BadCheckpoint { step: *step, problem: problem.clone() });
    }
    found.ok_or_else(|| {
        let mut steps: Vec<u64> = records.iter().map(|record| record.step).collect();
        steps.dedup();
        if steps.is_empty() {
            "The run has no checkpoint yet.".into()
        } else {
            let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
            Refusal::NoCheckpoint { which: which.to_string(), steps: listed(&steps) }
        }
    })
}

/// Folders of checkpoints that no record names, newest first: what a crash left between a checkpoint and its record.
pub(crate) fn unrecorded(store: &Store, run: &RunId, records: &[CheckpointRecord]) -> Vec<PathBuf> {
    store.unrecorded_checkpoints(run, records)
}

/// Removes checkpoint folders that no record names: what a crash left between a checkpoint and its record.
/// Only for a run that does not train.
pub(crate) fn sweep(store: &Store, run: &RunId) {
    store.sweep_checkpoints(run);
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
            problem: None,
        }
    }

    #[test]
    fn the_meant_checkpoint_is_found() {
        let records =
            [record(10, CheckpointKind::Best), record(20, CheckpointKind::Last), record(30, CheckpointKind::Last)];
        assert_eq!(choose_checkpoint(&records, Which::Best).unwrap().step, 10);
        assert_eq!(choose_checkpoint(&records, Which::Last).unwrap().step, 30);
        assert_eq!(choose_checkpoint(&records, Which::Step(20)).unwrap().step, 20);
        let why = choose_checkpoint(&records, Which::Step(25)).unwrap_err().to_string();
        assert!(why.contains("10, 20, 30"), "{why}");
        assert!(choose_checkpoint(&[], Which::Best).unwrap_err().to_string().contains("no checkpoint yet"));
        let mut elsewhere = records;
        elsewhere[0].problem = Some("it is elsewhere".to_owned());
        let why = choose_checkpoint(&elsewhere, Which::Best).unwrap_err().to_string();
        assert_eq!(why, "The checkpoint of step 10 is not used: it is elsewhere.");
        assert_eq!(choose_checkpoint(&elsewhere, Which::Last).unwrap().step, 30);
    }
}
