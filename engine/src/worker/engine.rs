use std::{
    path::PathBuf,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Sender, TrySendError, bounded};
use thiserror::Error;

use super::{message::Message, scheduler::Scheduler};
use crate::{
    protocol::{Command, Notice, Outbox, Request, Ticket},
    store::{OpenMode, Store, StoreError},
};

/// Commands that may wait before [`EngineError::Busy`].
const WAITING_COMMANDS: usize = 4096;

/// How an engine is started.
pub struct EngineOptions {
    /// The store's database file; made when it does not exist.
    pub store: PathBuf,
    /// Called from the engine's threads whenever an event was sent, to wake a sleeping window.
    pub wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// Why the engine could not be started or reached.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("The engine could not start a thread: {0}.")]
    Thread(std::io::Error),
    /// The engine's thread has ended.
    #[error("The engine has ended.")]
    Ended,
    /// Too many commands wait.
    #[error("The engine is busy: too many commands wait. Try again in a moment.")]
    Busy,
}

/// The engine and its doors: commands in, events out. Dropping it without [`Engine::shutdown`] ends it in the background.
pub struct Engine {
    messages: Sender<Message>,
    outbox: Outbox,
    scheduler: Option<JoinHandle<()>>,
}

impl Engine {
    /// Opens the store and starts the threads.
    pub fn start(options: EngineOptions) -> Result<Self, EngineError> {
        Self::start_on(Store::open(&options.store, OpenMode::ReadWrite)?, options, true)
    }

    /// The same for questions that change nothing, evaluations and exports: a store that cannot be written is opened for
    /// reading only.
    pub fn start_for_reading(options: EngineOptions) -> Result<Self, EngineError> {
        Self::start_on(Store::open_to_read(&options.store)?, options, false)
    }

    fn start_on(store: Store, options: EngineOptions, is_controlled: bool) -> Result<Self, EngineError> {
        let writer = store.writer_if_any();
        let outbox = Outbox::new(options.wake);
        let (messages, inbox) = bounded(WAITING_COMMANDS);
        let scheduler = Scheduler::new(store, writer, outbox.clone(), inbox, messages.clone(), is_controlled)
            .map_err(EngineError::Thread)?;
        let scheduler = std::thread::Builder::new()
            .name("headroom-scheduler".to_owned())
            .spawn(move || scheduler.work())
            .map_err(EngineError::Thread)?;
        Ok(Self { messages, outbox, scheduler: Some(scheduler) })
    }

    /// Sends a request, or a command that gets a new ticket; never blocks.
    pub fn send(&self, request: impl Into<Request>) -> Result<Ticket, EngineError> {
        let request = request.into();
        let ticket = request.ticket;
        self.messages.try_send(Message::Request { request: Box::new(request), asker: None }).map_err(|error| {
            match error {
                TrySendError::Full(_) => EngineError::Busy,
                TrySendError::Disconnected(_) => EngineError::Ended,
            }
        })?;
        Ok(ticket)
    }

    /// The next waiting event, if any.
    pub fn try_event(&self) -> Option<Notice> {
        self.outbox.take()
    }

    /// Waits for the next event; `None` when `patience` is over.
    pub fn wait_event(&self, patience: Duration) -> Option<Notice> {
        self.outbox.wait(patience)
    }

    /// Ends the engine; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    /// Returns whether everything ended in time.
    pub fn shutdown(mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        // One that was told before is waited for all the same.
        if matches!(self.send(Command::Shutdown), Err(EngineError::Busy)) {
            return false;
        }
        let Some(scheduler) = self.scheduler.take() else { return true };
        while !scheduler.is_finished() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        scheduler.join().is_ok()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.messages.try_send(Message::Request { request: Box::new(Command::Shutdown.into()), asker: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::AnalysisSpec,
        config::from_toml,
        jobs::{Lane, Place},
        protocol::{Event, JobLabel, JobRef, Target, commands, events},
        store::{AnalysisId, RunState},
    };

    /// A run that does not end by itself.
    const LONG: &str = r#"
format = 1
name = "long"
threads = 1
[data]
kind = "grammar"
words = 1000
sequence_length = 16
tokenizer = { kind = "bytes" }
[model]
kind = "decoder"
layers = 1
heads = 2
width = 16
feed_forward = 32
[train]
steps = 1000000
batch = 2
"#;

    /// Whether the engine tells that just this waits, before long.
    fn tells(engine: &Engine, is_meant: impl Fn(&[JobLabel]) -> bool) -> bool {
        while let Some(notice) = engine.wait_event(Duration::from_mins(1)) {
            if matches!(&notice.event, Event::Queue(events::Queue { waiting, .. }) if is_meant(waiting)) {
                return true;
            }
        }
        false
    }

    #[test]
    fn an_analysis_that_waits_is_moved_as_a_run_is() {
        let folder = tempfile::TempDir::new().unwrap();
        let options = EngineOptions { store: folder.path().join("headroom.db"), wake: None };
        let engine = Engine::start(options).unwrap();
        let config = from_toml(LONG).unwrap();
        let enqueue =
            || Request::from(commands::Enqueue { config: Box::new(config.clone()), base_dir: PathBuf::new() });
        let analysis = AnalysisId::new();
        let analyse = commands::Analyse {
            analysis: analysis.clone(),
            target: Target::Directory(folder.path().to_owned()),
            data: None,
            spec: Box::new(AnalysisSpec::default()),
            subspaces: Vec::new(),
            base_dir: PathBuf::new(),
        }
        .into();
        let to = |position: usize| Request::from(commands::Move { run: analysis.clone(), position });
        let is_analysis = |job: &JobLabel| job.analysis.as_ref() == Some(&analysis);
        for command in [enqueue(), enqueue(), analyse, to(0)] {
            engine.send(command).unwrap();
        }
        assert!(tells(&engine, |waiting| {
            matches!(waiting, [first, last] if is_analysis(first) && last.run.is_some())
        }));
        // Behind the last one, however far that is.
        engine.send(to(usize::MAX)).unwrap();
        assert!(tells(&engine, |waiting| {
            matches!(waiting, [first, last] if first.run.is_some() && is_analysis(last))
        }));
        assert!(engine.shutdown(Duration::from_mins(1)));
    }

    /// Events of a request until one that `is_last`.
    fn answers(engine: &Engine, ticket: Ticket, is_last: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut told = Vec::new();
        while let Some(notice) = engine.wait_event(Duration::from_mins(1)) {
            if notice.ticket == Some(ticket) {
                told.push(notice.event);
                if told.last().is_some_and(&is_last) {
                    return told;
                }
            }
        }
        panic!("no end in {told:?}")
    }

    #[test]
    fn every_job_has_its_place_in_the_queue_and_is_cancelled_there() {
        let folder = tempfile::TempDir::new().unwrap();
        let options = EngineOptions { store: folder.path().join("headroom.db"), wake: None };
        let engine = Engine::start(options).unwrap();
        let config = Box::new(from_toml(LONG).unwrap());
        let run = engine.send(commands::Enqueue { config, base_dir: PathBuf::new() }).unwrap();
        answers(&engine, run, |event| matches!(event, Event::Started(_)));
        let (mut expected, mut tickets): (Vec<(JobLabel, Place)>, Vec<Ticket>) = Default::default();
        for command in crate::jobs::examples(folder.path()) {
            let job = crate::jobs::job_of(command.clone());
            if job.lane() == Lane::Transfer || job.refusal().is_some() {
                continue;
            }
            let place = match job.place() {
                Place::First => 0,
                Place::BehindAnswers => expected.iter().take_while(|(_, place)| *place == Place::BehindAnswers).count(),
                Place::Last => expected.len(),
            };
            expected.insert(place, (job.label(), job.place()));
            tickets.push(engine.send(Command::Job(command)).unwrap());
        }
        assert!(tickets.len() > 6, "{expected:?}");
        let labels: Vec<JobLabel> = expected.into_iter().map(|(label, _)| label).collect();
        assert!(tells(&engine, |waiting| waiting == labels));
        for ticket in tickets {
            engine.send(commands::Cancel { job: JobRef::Ticket(ticket) }).unwrap();
            let is_last = |event: &Event| matches!(event, Event::Refused(_) | Event::AnalyseEnded(_));
            answers(&engine, ticket, is_last);
        }
        // The one in progress is stopped by its ticket too, with a checkpoint.
        engine.send(commands::Cancel { job: JobRef::Ticket(run) }).unwrap();
        let told = answers(&engine, run, |event| matches!(event, Event::Finished(_)));
        assert!(
            matches!(told.last(), Some(Event::Finished(events::Finished { state: RunState::Stopped, .. }))),
            "{told:?}"
        );
        assert!(engine.shutdown(Duration::from_mins(1)));
    }
}
