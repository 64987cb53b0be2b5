use std::{ops::ControlFlow, time::Instant};

use candle_core::{DType, Device};

use super::{
    Event,
    job::ConvertJob,
    job_context::JobContext,
    job_control::JobControl,
    job_error::JobError,
    subject::{self, Subject},
};
use crate::{
    attention::ModelPlan,
    checkpoint::{AttentionError, Lineage, ModelDirectory, load_model_dir, save_model_dir, weights_sha256},
    config::{Precision, RunConfig},
    convert::{check, convert},
};

/// Time between two events about the progress.
const LEAST_SECONDS: f64 = 0.033;

/// Makes another model of one, and writes it.
pub(super) fn convert_job(context: &JobContext, job: &ConvertJob, control: &JobControl) {
    let named = Subject::name(&job.target);
    let failed = format!("{named} could not be converted.");
    context.answer_on_threads(("convert", job.threads), &failed, || run(context, job, control, &named));
}

fn run(context: &JobContext, job: &ConvertJob, control: &JobControl, named: &str) -> Result<Event, JobError> {
    let begun = Instant::now();
    if job.to.is_file() || std::fs::read_dir(&job.to).is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!(
            "{} is there already. Name a directory that is empty or does not exist yet, so that nothing is overwritten.",
            job.to.display()
        );
        return Err(JobError::refusal(why));
    }
    let (directory, stored) = subject::open(&context.store, &job.target).map_err(JobError::refusal)?;
    let of_run = stored.as_ref().is_some_and(|stored| stored.config.precision == Precision::F64);
    let dtype = if of_run { DType::F64 } else { DType::F32 };
    let loaded = load_model_dir(&directory, dtype, &Device::Cpu);
    let loaded = loaded.map_err(|error| JobError::refusal(error.to_string()))?;
    check(&loaded.plan, &job.conversion)?;
    let mut told: Option<Instant> = None;
    let converted = convert(&loaded.plan, &loaded.parameters, &job.conversion, &mut |progress| {
        if told.is_none_or(|last| last.elapsed().as_secs_f64() >= LEAST_SECONDS) {
            told = Some(Instant::now());
            context.outbox.send(Event::Converting {
                attention: progress.attention.to_owned(),
                number: progress.number,
                count: progress.count,
                start: progress.start,
                sweep: progress.sweep,
                relative_error: progress.relative_error,
            });
        }
        if control.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (run, step) = stored.as_ref().map(|stored| (stored.run.to_string(), stored.step)).unzip();
    let attentions = converted
        .attentions
        .iter()
        .map(|one| AttentionError { attention: one.attention.clone(), relative_error: one.relative_error });
    let failure = |error: crate::checkpoint::CheckpointError| JobError::failure(error.to_string());
    let lineage = Lineage {
        from: directory.display().to_string(),
        run,
        step,
        weights_sha256: weights_sha256(&directory).map_err(failure)?,
        by: job.conversion.words(),
        attentions: attentions.collect(),
        before: loaded.lineage.map(Box::new),
    };
    let config = loaded.config.or_else(|| stored.map(|stored| stored.config));
    let config = config.map(|config| config_of(config, &converted.plan));
    // Asked once more before anything is written: the last attention may have needed no search.
    if control.should_stop() {
        return Err(JobError::failure("It was stopped; nothing was written."));
    }
    let tensors = converted.parameters.tensors();
    let contents = ModelDirectory {
        tokenizer_json: loaded.tokenizer_json.as_deref(),
        config: config.as_ref(),
        lineage: Some(&lineage),
        ..ModelDirectory::of(&converted.plan, &tensors)
    };
    let saved = save_model_dir(&job.to, &contents).map_err(failure)?;
    Ok(Event::Converted {
        target: named.to_owned(),
        conversion: job.conversion.clone(),
        path: job.to.clone(),
        bytes: saved.bytes,
        parameters_before: loaded.parameters.count(),
        parameters: converted.parameters.count(),
        attentions: converted.attentions,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// The config of a run that would train the model that came out.
fn config_of(mut config: RunConfig, plan: &ModelPlan) -> RunConfig {
    let attention = &mut config.attention;
    attention.compatibility = plan.stack.compatibility.clone();
    let cross = plan.stack.cross.as_ref().map(|cross| &cross.compatibility);
    let encoder = plan.encoder.as_deref().map(|encoder| &encoder.compatibility);
    for (answers, compatibility) in [(&mut attention.cross, cross), (&mut attention.encoder, encoder)] {
        if let (Some(answers), Some(compatibility)) = (answers, compatibility) {
            answers.compatibility = Some(compatibility.clone());
        }
    }
    // Layers that were chosen to match parameters are those of the model now.
    if attention.match_parameters.take().is_some() {
        config.model.layers = plan.stack.layers;
    }
    config
}
