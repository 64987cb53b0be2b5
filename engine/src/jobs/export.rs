use std::path::{Path, PathBuf};

use candle_core::Device;

use super::checkpoints::choose_checkpoint;
use crate::{
    checkpoint::{
        CheckpointError, InTransformers, ModelCard, ModelDirectory, in_transformers, load_model_dir, save_model_dir,
    },
    config::Precision,
    objective::Metric,
    protocol::{Event, Which, events},
    store::{CheckpointRecord, RunId, Store},
    train::dtype_of,
};

/// Writes a checkpoint as a model directory of its own: what it takes to use the model, without the training state.
pub(crate) fn export(
    store: &Store,
    run: RunId,
    which: Which,
    precision: Precision,
    checkpoints: &[CheckpointRecord],
    to: PathBuf,
) -> Event {
    let failed = |why: String, what_to_do: &str| {
        Event::Failed(events::Failed { run: Some(run.clone()), why, what_to_do: what_to_do.to_owned() })
    };
    let chosen = match choose_checkpoint(checkpoints, which) {
        Ok(chosen) => chosen,
        Err(why) => return failed(why.into(), "Name a checkpoint that exists, or train until the next one."),
    };
    if std::fs::read_dir(&to).is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!("The folder {} holds files already.", to.display());
        return failed(why, "Choose a new or an empty folder, so that nothing is overwritten.");
    }
    let card = card_of(store, &run, chosen.step);
    match copy(&chosen.path, &to, precision, &card) {
        Ok(InTransformers { opens, words }) => Event::Exported(events::Exported {
            run,
            step: chosen.step,
            path: to,
            opens_in_transformers: opens,
            reason: words,
        }),
        // The message says what to do.
        Err(error) => failed(error.to_string(), ""),
    }
}

/// What the card of a run's checkpoint says: what was measured at its step.
pub(crate) fn card_of(store: &Store, run: &RunId, step: u64) -> ModelCard {
    let Ok(record) = store.run(run.as_str()) else { return ModelCard::default() };
    let summary = record.summary;
    let value_at = |series: &String| {
        let metric = Metric::find(series).filter(|metric| metric.of_sums.is_some())?;
        let data = store.series(run, series, None).ok()?;
        // The last attempt's, where a step was done more than once.
        let (_, value) = data.steps.iter().zip(&data.values).rev().find(|(at, _)| **at == step)?;
        Some((metric.title.to_owned(), *value, metric.unit.to_owned()))
    };
    let metrics = summary.metrics.keys().filter_map(value_at).collect();
    ModelCard { name: summary.name, run: Some((run.to_string(), step)), metrics }
}

pub(crate) fn copy(
    from: &Path,
    to: &Path,
    precision: Precision,
    card: &ModelCard,
) -> Result<InTransformers, CheckpointError> {
    let model = load_model_dir(from, dtype_of(precision), &Device::Cpu)?;
    let directory = ModelDirectory {
        plan: &model.plan,
        tensors: &model.parameters.tensors(),
        tokenizer_json: model.tokenizer_json.as_deref(),
        config: model.config.as_ref(),
        training: None,
        run: None,
        lineage: model.lineage.as_ref(),
        labels: model.labels.as_ref(),
        normalisation: model.normalisation.as_ref(),
        card: Some(card),
    };
    save_model_dir(to, &directory).map(|_| in_transformers(&model.plan))
}
