//! Between the trainer's state and the checkpoint's.

use candle_core::Device;
use serde::{Deserialize, Serialize};

use super::{checkpoints, context::JobContext, train_run::TrainRun, unready::Unready};
use crate::{
    attention::ModelPlan,
    checkpoint::{
        BestMetric, CheckpointError, Lineage, LoadedModel, TrainingState, load_model_dir, load_training_state,
    },
    config::Coverage,
    data::Normalisation,
    objective::{Labels, judging_metric},
    protocol::events,
    store::{CheckpointKind, NewCheckpoint, StoreError, series_names},
    train::{Progress, Resume, TrainError, Trainer, dtype_of},
};

/// What the loop keeps beside step, tokens and best metric.
#[derive(Default, Serialize, Deserialize)]
struct Loop {
    train_us: u64,
    #[serde(rename = "is_look_due")]
    is_evaluation_due: bool,
    #[serde(default)]
    evaluations_since_best: u64,
    #[serde(default)]
    counted_step: Option<u64>,
    /// The loss of the best evaluation where another metric judges: to the last digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    best_loss: Option<String>,
}

/// All that a checkpoint needs beside the weights to be resumed from.
pub(crate) fn training_state(trainer: &Trainer) -> Result<TrainingState, TrainError> {
    let progress = trainer.progress();
    let name = judging_metric(trainer.config()).map_or(series_names::VALIDATION_LOSS, |metric| metric.series);
    let best = progress.best_value.zip(progress.best_step).map(|(value, step)| BestMetric {
        name: name.to_owned(),
        value,
        step,
    });
    let rest = Loop {
        train_us: (progress.train_secs * 1e6) as u64,
        is_evaluation_due: progress.is_evaluation_due,
        evaluations_since_best: progress.evaluations_since_best,
        counted_step: progress.counted_step,
        best_loss: progress.best_validation_loss.map(|loss| loss.to_string()),
    };
    Ok(TrainingState {
        step: progress.step,
        tokens: progress.tokens,
        best,
        optimiser: trainer.moments()?,
        progress: serde_json::to_value(rest).unwrap_or_default(),
    })
}

/// What is said of a checkpoint that was written before the optimiser counted steps by parameter.
const BY_THE_RUN: &str = "This checkpoint was written by an earlier version, in which the map R got the optimiser's \
     correction of the run's step and not of its own. It goes on as it began, so that the run stays one.";

/// Whether R joined after a warm-up and is as old as the run all the same.
fn counts_by_the_run(job: &TrainRun, resume: &Resume) -> bool {
    let is_late = match &job.config.attention.coverage {
        Coverage::Partial(partial) => partial.from.is_none() && partial.warmup_steps > 0,
        Coverage::Full(_) | Coverage::Eigen(_) => false,
    };
    let names = || resume.moments.keys().map(String::as_str);
    let is_map = |name: &str| name.contains("restore.weight");
    is_late
        && resume.parameters.has_coverage()
        && names().any(is_map)
        && !names().any(|name| is_map(name) && name.strip_suffix(".step").is_some())
}

/// What a checkpoint holds to go on from.
pub(crate) struct Found {
    pub(crate) resume: Resume,
    /// The model that was saved.
    pub(crate) plan: ModelPlan,
    pub(crate) tokenizer_json: Option<String>,
    pub(crate) lineage: Option<Lineage>,
    /// What its outputs stand for, where it has a task.
    pub(crate) labels: Option<Labels>,
    /// Mean and deviation of images, where it reads images.
    pub(crate) normalisation: Option<Normalisation>,
}

/// The newest checkpoint from which training can go on exactly; none where the run has not come to its first one.
///
/// Damaged ones are passed over with a warning, as long as there is an older one. Where a crash left checkpoints that could
/// not be recorded, on a disk that was full, and there is none that was recorded, these are gone on from.
///
/// # Errors
/// If there are checkpoints, but none that can be used: to begin again at the first step is not what was asked for.
pub(crate) fn newest_state(context: &JobContext, job: &TrainRun, device: &Device) -> Result<Option<Found>, Unready> {
    let warn = |message: String| context.outbox.send(events::Warning { run: Some(job.run.clone()), message });
    let unreadable = |error: StoreError| Unready::Refused { why: error.to_string(), what_to_do: String::new() };
    let mut records = context.store.checkpoints(&job.run).map_err(unreadable)?;
    records.sort_by_key(|record| std::cmp::Reverse(record.step));
    records.dedup_by(|a, b| a.path == b.path);
    let unrecorded = checkpoints::unrecorded(&context.store, &job.run, &records);
    let mut damaged = Vec::new();
    for record in &records {
        if let Some(problem) = &record.problem {
            damaged.push(format!("The checkpoint of step {} is not used: {problem}.", record.step));
        }
    }
    let usable = records.iter().filter(|record| record.problem.is_none()).map(|record| &record.path);
    for path in usable.chain(&unrecorded) {
        match load(path, job, device) {
            Ok(Some(found)) => {
                let resume = &found.resume;
                for why in &damaged {
                    warn(format!("A checkpoint cannot be used, so an older one is tried. {why}"));
                }
                if counts_by_the_run(job, resume) {
                    warn(BY_THE_RUN.to_owned());
                }
                if unrecorded.contains(path) {
                    let step = resume.progress.step;
                    warn(format!(
                        "The run goes on from step {step}, whose checkpoint was not recorded before its program ended. Points \
                         of that time may be missing."
                    ));
                    let bytes = context.store.folder_bytes(path);
                    let (kind, path) = (CheckpointKind::Last, path.clone());
                    let checkpoint = NewCheckpoint { step, path, kind, metric: None, value: None, bytes };
                    context.store.record_checkpoint(&job.run, checkpoint).map_err(unreadable)?;
                }
                checkpoints::sweep(&context.store, &job.run);
                return Ok(Some(found));
            }
            Ok(None) => {}
            Err(error) => damaged.push(error.to_string()),
        }
    }
    let Some(newest) = damaged.first() else {
        checkpoints::sweep(&context.store, &job.run);
        return Ok(None);
    };
    let of_run = match damaged.len() {
        1 => "The run's checkpoint cannot be used".to_owned(),
        count => format!("None of the run's {count} checkpoints can be used"),
    };
    Err(Unready::Refused {
        why: format!(
            "{of_run}, so it cannot go on. Put the files back from a copy and resume again, or train it anew: `headroom show \
             {}` prints its config, for `headroom train`. Of the newest: {newest}",
            job.run
        ),
        // The message says it, since a path ends it.
        what_to_do: String::new(),
    })
}

/// A checkpoint's state; none where it was written without one (the best so far, between two resumable ones).
fn load(path: &std::path::Path, job: &TrainRun, device: &Device) -> Result<Option<Found>, CheckpointError> {
    let state = match load_training_state(path, device) {
        Err(CheckpointError::NoTrainingState { .. }) => return Ok(None),
        state => state?,
    };
    let model = load_model_dir(path, dtype_of(job.config.precision), device)?;
    let rest: Loop = serde_json::from_value(state.progress).unwrap_or_default();
    let progress = Progress {
        step: state.step,
        tokens: state.tokens,
        train_secs: rest.train_us as f64 / 1e6,
        best_validation_loss: match rest.best_loss.and_then(|loss| loss.parse().ok()) {
            Some(loss) => Some(loss),
            None => state.best.as_ref().map(|best| best.value),
        },
        best_value: state.best.as_ref().map(|best| best.value),
        evaluations_since_best: rest.evaluations_since_best,
        counted_step: rest.counted_step,
        best_step: state.best.as_ref().map(|best| best.step),
        is_evaluation_due: rest.is_evaluation_due,
    };
    let LoadedModel { plan, parameters, tokenizer_json, lineage, labels, normalisation, .. } = model;
    let resume = Resume { parameters, moments: state.optimiser, progress };
    Ok(Some(Found { resume, plan, tokenizer_json, lineage, labels, normalisation }))
}
