use std::{
    io,
    path::PathBuf,
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Instant,
};

use candle_core::Device;
use tempfile::TempDir;

use super::{
    Event, Target, Ticket,
    export::{card_of, copy},
    job_control::JobControl,
    job_error::JobError,
    outbox::Outbox,
    pace::Pace,
    subject::{self, Subject},
};
use crate::{
    checkpoint::load_model_dir,
    hub::{self, FetchRequest, HubError, HubSettings, PushContents, PushRequest, RepoName},
    store::Store,
    train::dtype_of,
};

/// Something that is asked of a hub.
pub(super) enum HubJob {
    /// What is there.
    Inspect(FetchRequest),
    /// Brings it here.
    Fetch(FetchRequest),
    /// Takes a model there.
    Push { target: Target, name: RepoName, public: bool },
}

/// A transfer in progress, on a thread of its own: a run that trains is not to wait for a network, nor the network for a run.
pub(super) struct Transfer {
    ticket: Option<Ticket>,
    control: Arc<JobControl>,
    thread: JoinHandle<()>,
}

impl Transfer {
    /// Begins.
    pub(super) fn start(store: Store, outbox: Outbox, job: HubJob) -> io::Result<Self> {
        let control = Arc::new(JobControl::default());
        let ticket = outbox.ticket();
        let thread = Builder::new().name("headroom-hub".to_owned()).spawn({
            let control = Arc::clone(&control);
            move || carry_out(&store, &outbox, job, &control)
        })?;
        Ok(Self { ticket, control, thread })
    }

    /// Whether it is the one that this request asked for.
    pub(super) fn is_of(&self, ticket: Ticket) -> bool {
        self.ticket == Some(ticket)
    }

    pub(super) fn stop(&self) {
        self.control.stop();
    }

    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end.
    pub(super) fn join(self) {
        // A panic was told by the hook.
        let _ = self.thread.join();
    }
}

fn carry_out(store: &Store, outbox: &Outbox, job: HubJob, control: &JobControl) {
    let (failed, outcome) = match job {
        HubJob::Inspect(request) => {
            (format!("Nothing could be learnt of {}.", request.name), inspect(&request, control))
        }
        HubJob::Fetch(request) => (format!("{} could not be fetched.", request.name), fetch(outbox, &request, control)),
        HubJob::Push { target, name, public } => {
            let failed = format!("{} could not be uploaded.", Subject::called(store, &target));
            (failed, push(store, outbox, &target, name, public, control))
        }
    };
    outbox.send(outcome.unwrap_or_else(|error| {
        let why = format!("{failed} {}", error.why);
        if error.is_refusal {
            Event::Refused { why }
        } else {
            Event::Failed { run: None, why, what_to_do: String::new() }
        }
    }));
}

impl From<HubError> for JobError {
    fn from(error: HubError) -> Self {
        Self { is_refusal: error.is_refusal(), why: error.to_string() }
    }
}

fn inspect(request: &FetchRequest, control: &JobControl) -> Result<Event, JobError> {
    let settings = HubSettings::from_environment()?;
    if settings.is_offline {
        return Err(HubError::OfflineMode { doing: "asking about a repository".to_owned() }.into());
    }
    let facts = hub::inspect(&settings, request, &|| control.should_stop())?;
    Ok(Event::Inspected { facts: Box::new(facts) })
}

fn fetch(outbox: &Outbox, request: &FetchRequest, control: &JobControl) -> Result<Event, JobError> {
    let settings = HubSettings::from_environment()?;
    let begun = Instant::now();
    let mut pace = Speed::default();
    let fetched = hub::fetch(
        &settings,
        request,
        &mut |progress| {
            let Some(bytes_per_sec) = pace.at(progress.bytes) else { return };
            outbox.send(Event::Fetching {
                name: request.name.clone(),
                file: progress.file.clone(),
                number: progress.number,
                count: progress.count,
                bytes: progress.bytes,
                total_bytes: progress.total_bytes,
                bytes_per_sec,
            });
        },
        &|| control.should_stop(),
    )?;
    Ok(Event::Fetched {
        bytes: fetched.bytes(),
        downloaded: fetched.downloaded(),
        fetched: Box::new(fetched),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

fn push(
    store: &Store,
    outbox: &Outbox,
    target: &Target,
    name: RepoName,
    public: bool,
    control: &JobControl,
) -> Result<Event, JobError> {
    let settings = HubSettings::from_environment()?;
    let begun = Instant::now();
    let (directory, _exported) = directory_of(store, target)?;
    let request = PushRequest { directory, name: name.clone(), public, message: "Upload from Headroom".to_owned() };
    let mut pace = Speed::default();
    let pushed = hub::push(
        &settings,
        &request,
        &mut |progress| {
            let Some(bytes_per_sec) = pace.at(progress.bytes) else { return };
            outbox.send(Event::Pushing {
                name: name.clone(),
                file: progress.file.clone(),
                number: progress.number,
                count: progress.count,
                bytes: progress.bytes,
                total_bytes: progress.total_bytes,
                bytes_per_sec,
            });
        },
        &|| control.should_stop(),
    )?;
    Ok(Event::Pushed {
        target: Subject::called(store, target),
        pushed: Box::new(pushed),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// What would be uploaded. Of a run's checkpoint that is known once it is written as an upload writes it; nothing of that stays.
///
/// # Errors
/// If it is no model directory, or cannot be written as one.
pub(super) fn contents(store: &Store, target: &Target) -> Result<PushContents, JobError> {
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

/// When to tell of the progress, and how fast it is.
#[derive(Default)]
struct Speed {
    begun: Option<(Instant, u64)>,
    pace: Pace,
}

impl Speed {
    /// Bytes a second since the beginning, where it is to be told; what was there before the first call does not count.
    fn at(&mut self, bytes: u64) -> Option<f64> {
        let (begun, before) = *self.begun.get_or_insert_with(|| (Instant::now(), bytes));
        if !self.pace.is_due() {
            return None;
        }
        let seconds = begun.elapsed().as_secs_f64();
        Some(if seconds > 0.0 { bytes.saturating_sub(before) as f64 / seconds } else { 0.0 })
    }
}
