use std::path::PathBuf;

use super::{Event, Which, checkpoints::choose};
use crate::{
    checkpoint::export_model_dir,
    store::{CheckpointRecord, RunId},
};

/// Writes a checkpoint as a model directory of its own: what it takes to use the model, without the training state.
pub(super) fn export(run: RunId, which: Which, checkpoints: &[CheckpointRecord], to: PathBuf) -> Event {
    let failed = |why: String, what_to_do: &str| Event::Failed {
        run: Some(run.clone()),
        why,
        what_to_do: what_to_do.to_owned(),
    };
    let chosen = match choose(checkpoints, which) {
        Ok(chosen) => chosen,
        Err(why) => return failed(why, "Name a checkpoint that exists, or train until the next one."),
    };
    match export_model_dir(&chosen.path, &to) {
        Ok(()) => Event::Exported { run, step: chosen.step, path: to },
        Err(error) => failed(error.to_string(), "Nothing was left behind. Choose another folder or checkpoint."),
    }
}
