use std::path::{Path, PathBuf};

use candle_core::Device;

use super::{Event, Which, checkpoints::choose_checkpoint};
use crate::{
    checkpoint::{CheckpointError, InTransformers, ModelDirectory, in_transformers, load_model_dir, save_model_dir},
    config::Precision,
    store::{CheckpointRecord, RunId},
    train::dtype_of,
};

/// Writes a checkpoint as a model directory of its own: what it takes to use the model, without the training state.
pub(super) fn export(
    run: RunId,
    which: Which,
    precision: Precision,
    checkpoints: &[CheckpointRecord],
    to: PathBuf,
) -> Event {
    let failed = |why: String, what_to_do: &str| Event::Failed {
        run: Some(run.clone()),
        why,
        what_to_do: what_to_do.to_owned(),
    };
    let chosen = match choose_checkpoint(checkpoints, which) {
        Ok(chosen) => chosen,
        Err(why) => return failed(why, "Name a checkpoint that exists, or train until the next one."),
    };
    if std::fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!("The folder {} holds files already.", to.display());
        return failed(why, "Choose a new or an empty folder, so that nothing is overwritten.");
    }
    match copy(&chosen.path, &to, precision) {
        Ok(InTransformers { opens, words }) => {
            Event::Exported { run, step: chosen.step, path: to, opens_in_transformers: opens, reason: words }
        }
        // The message says what to do.
        Err(error) => failed(error.to_string(), ""),
    }
}

pub(super) fn copy(from: &Path, to: &Path, precision: Precision) -> Result<InTransformers, CheckpointError> {
    let model = load_model_dir(from, dtype_of(precision), &Device::Cpu)?;
    let directory = ModelDirectory {
        plan: &model.plan,
        tensors: &model.parameters.tensors(),
        tokenizer_json: model.tokenizer_json.as_deref(),
        config: model.config.as_ref(),
        training: None,
        run: None,
        lineage: model.lineage.as_ref(),
    };
    save_model_dir(to, &directory).map(|_| in_transformers(&model.plan))
}
