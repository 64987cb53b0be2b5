use std::{path::PathBuf, time::Instant};

use candle_core::Device;
use tempfile::TempDir;

use super::{
    context::JobContext,
    error::JobError,
    export::{card_of, copy},
    job::{Job, Lane, Threads},
    subject::{self, Subject},
    transfer_speed::TransferSpeed,
};
use crate::{
    checkpoint::load_model_dir,
    hub::{self, HubSettings, PushContents, PushRequest},
    protocol::{JobLabel, Target, WorkKind, commands, events},
    store::Store,
    train::dtype_of,
};

/// Takes a model to a hub.
impl Job for commands::Push {
    type Output = events::Pushed;

    const NAME: &'static str = "push";
    const LANE: Lane = Lane::Transfer;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Transfer, Subject::name(&self.target))
    }

    fn threads(&self) -> Threads {
        Threads::Own
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        push(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("{} could not be uploaded.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self { target: Target::Directory(folder.join("absent")), name: "org/absent".parse().unwrap(), public: false }
    }
}

fn push(context: &JobContext, job: &commands::Push) -> Result<events::Pushed, JobError> {
    let commands::Push { target, name, public } = job;
    let settings = HubSettings::from_environment()?;
    let begun = Instant::now();
    let (directory, _exported) = directory_of(&context.store, target)?;
    let request =
        PushRequest { directory, name: name.clone(), public: *public, message: "Upload from Headroom".to_owned() };
    let mut pace = TransferSpeed::default();
    let pushed = hub::push(
        &settings,
        &request,
        &mut |progress| {
            if let Some(transfer) = pace.told(progress) {
                context.outbox.send(events::Pushing { name: name.clone(), transfer });
            }
        },
        &|| context.control.should_stop(),
    )?;
    Ok(events::Pushed {
        target: Subject::called(&context.store, target),
        pushed: Box::new(pushed),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// What would be uploaded. Of a run's checkpoint that is known once it is written as an upload writes it; nothing of that stays.
///
/// # Errors
/// If it is no model directory, or cannot be written as one.
pub(crate) fn contents(store: &Store, target: &Target) -> Result<PushContents, JobError> {
    let (directory, _exported) = directory_of(store, target)?;
    Ok(hub::contents(&directory)?)
}

/// The directory that is uploaded, and the folder that holds it where it was written for this alone: a run's checkpoint leaves
/// without its training state, as an export does.
fn directory_of(store: &Store, target: &Target) -> Result<(PathBuf, Option<TempDir>), JobError> {
    match target {
        Target::Directory(path) => Ok((path.clone(), None)),
        Target::Run { .. } => {
            let scratch = tempfile::tempdir().map_err(|error| {
                JobError::failure(format!(
                    "A temporary folder could not be made: {error}. Free some space, or set TMPDIR."
                ))
            })?;
            Ok((export(store, target, scratch.path().join("model"))?, Some(scratch)))
        }
    }
}

/// Writes a run's checkpoint as a model directory.
fn export(store: &Store, target: &Target, to: PathBuf) -> Result<PathBuf, JobError> {
    let (from, stored) = subject::open(store, target).map_err(JobError::refusal)?;
    let card = stored.as_ref().map(|stored| card_of(store, &stored.run, stored.step)).unwrap_or_default();
    let precision = stored.map(|stored| stored.config.precision).unwrap_or_default();
    let _how = copy(&from, &to, precision, &card).map_err(|error| JobError::failure(error.to_string()))?;
    // What was written opens, or it is not sent.
    let opened = load_model_dir(&to, dtype_of(precision), &Device::Cpu);
    opened.map_err(|error| JobError::failure(error.to_string()))?;
    Ok(to)
}
