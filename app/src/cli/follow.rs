use std::path::{Path, PathBuf};

use headroom_engine::{
    config::counted,
    protocol::{Command, Event, events},
    store::{RunId, RunState},
    text::escaped_line,
    train::Health,
};

use crate::findings::analyses_left_out;

use super::{
    error::{CliError, CliResult, joined},
    hint, open, plain, print,
    progress::Progress,
    session::{Heard, Session},
    signals,
};

/// Follows one run from its place in the queue to its end.
pub struct Follower {
    progress: Progress,
    /// The run, once it is known.
    run: Option<RunId>,
    /// The run was put in the queue.
    is_queued: bool,
    /// Training began.
    is_started: bool,
    /// The engine was told to stop the run, and how often training had begun by then.
    stop_sent: Option<bool>,
    /// What to tell about a failure.
    failure: Option<String>,
    /// How its loss behaves, as was told last.
    health: Health,
    /// `--store`, for the command that goes on with the run.
    store: Option<PathBuf>,
}

impl Follower {
    /// A follower of `run`, or of the run that will be queued next.
    pub fn new(run: Option<RunId>, store: Option<&Path>, json: bool) -> Self {
        Self {
            progress: Progress::new(json),
            run,
            is_queued: false,
            is_started: false,
            stop_sent: None,
            failure: None,
            health: Health::Sound,
            store: store.map(Path::to_owned),
        }
    }

    /// Sends the command that queues the run, shows what happens, ends the engine.
    pub fn follow(mut self, session: Session, command: impl Into<Command>) -> CliResult {
        signals::listen();
        let outcome = self.until_end(&session, command);
        self.progress.clear();
        session.end();
        outcome.and_then(|end| self.tell_end(&end))
    }

    /// Shows events until the run's last one, and returns that.
    fn until_end(&mut self, session: &Session, command: impl Into<Command>) -> CliResult<Event> {
        let ticket = session.send(command)?;
        session.follow(ticket, "the run did", |event| {
            self.stop_if_wanted(session)?;
            let Some(event) = event else { return Ok(Heard::Taken) };
            match &event {
                Event::Queued(events::Queued { run, .. }) if self.run.is_none() || self.is_ours(run) => {
                    self.run = Some(run.clone());
                    self.is_queued = true;
                    self.progress.show(&event)?;
                }
                Event::Failed(events::Failed { run, why, what_to_do })
                    if run.as_ref().is_none_or(|run| self.is_ours(run)) =>
                {
                    let message = joined(why, what_to_do);
                    if !self.is_queued {
                        return Err(CliError::BadInput(message));
                    }
                    if self.progress.is_json() {
                        self.progress.show(&event)?;
                    }
                    if run.is_some() {
                        self.failure = Some(message);
                    } else if !self.progress.is_json() {
                        print::aside(format!("Warning: {message}"));
                    }
                }
                Event::Warning(events::Warning { run, message })
                    if run.as_ref().is_none_or(|run| self.is_ours(run)) =>
                {
                    if self.progress.is_json() {
                        self.progress.show(&event)?;
                    } else {
                        print::aside(format!("Warning: {message}"));
                    }
                }
                Event::Started(events::Started { run, .. }) if self.is_ours(run) => {
                    self.is_started = true;
                    self.progress.show(&event)?;
                }
                Event::Finished(events::Finished { run, .. }) if self.is_ours(run) => return Ok(Heard::Answer(event)),
                Event::Health(events::Health { run, health, .. }) if self.is_ours(run) => {
                    self.health = *health;
                    self.progress.show(&event)?;
                }
                Event::BegunWith(events::BegunWith { run, .. })
                | Event::Checkpointed(events::Checkpointed { run, .. })
                | Event::Evaluated(events::Evaluated { run, .. })
                | Event::PairsChosen(events::PairsChosen { run, .. })
                | Event::Paused(events::Paused { run, .. })
                | Event::Preparing(events::Preparing { run, .. })
                | Event::Resumed(events::Resumed { run, .. })
                | Event::Sample(events::Sample { run, .. })
                | Event::Step(events::Step { run, .. })
                    if self.is_ours(run) =>
                {
                    self.progress.show(&event)?;
                }
                Event::Ended => {
                    let hint = self.run.as_ref().map(|run| format!(" Go on with: {}", self.resume_command(run)));
                    return Err(CliError::Failed(format!(
                        "The engine ended before the run did.{}",
                        hint.unwrap_or_default()
                    )));
                }
                _ => {}
            }
            Ok(Heard::Taken)
        })
    }

    fn is_ours(&self, run: &RunId) -> bool {
        self.run.as_ref() == Some(run)
    }

    /// Passes the user's wish to stop on: once, and once more should training begin only after.
    fn stop_if_wanted(&mut self, session: &Session) -> CliResult {
        if signals::is_stop_wanted() && self.is_queued && self.stop_sent.is_none_or(|then| then != self.is_started) {
            if self.stop_sent.is_none() {
                print::aside("Stopping after this step, with a checkpoint. Press Ctrl-C again to quit at once.");
            }
            self.stop_sent = Some(self.is_started);
            session.send(Command::Stop)?;
        }
        Ok(())
    }

    /// The last line, and the exit code.
    fn tell_end(mut self, end: &Event) -> CliResult {
        if self.progress.is_json() {
            self.progress.show(end)?;
            // Its last event says how it ended, whatever the exit code.
            print::answered();
        }
        let Event::Finished(events::Finished {
            run,
            name,
            state,
            step,
            best_validation_loss,
            best_step,
            train_secs,
            why,
            unwritten,
            ..
        }) = end
        else {
            return Ok(());
        };
        let unwritten = unwritten.as_deref().unwrap_or_default();
        let name = escaped_line(name);
        let why = self.failure.clone().or_else(|| why.clone()).unwrap_or_default();
        let best = match (best_validation_loss, best_step) {
            (Some(loss), Some(step)) => {
                format!(" Best validation loss {} at step {}.", plain::number(*loss), plain::count(*step))
            }
            _ => String::new(),
        };
        let (steps, time) = (counted(*step, "step"), plain::duration(*train_secs));
        let loss = self.health.why();
        let go_on = format!("Go on with: {}", self.resume_command(run));
        match state {
            RunState::Finished => {
                if !unwritten.is_empty() {
                    let text = format!("Trained, but not recorded: {name} ({run}), {steps} in {time}.{best}");
                    return Err(CliError::Failed(spaced(&[&text, &loss, unwritten])));
                }
                let text = format!("Finished: {name} ({run}), {steps} in {time}.{best}");
                let left_out = self.analyses_left_out(run).unwrap_or_default();
                let text = spaced(&[&text, &why, &loss, &left_out]);
                if self.progress.is_json() { Ok(()) } else { unless_left(print::line(text)) }
            }
            RunState::Stopped => Err(CliError::Failed(spaced(&[
                &format!("Stopped: {name} ({run}), after {steps}.{best}"),
                &loss,
                &go_on,
                unwritten,
            ]))),
            RunState::Cancelled => Err(CliError::Failed(format!("Cancelled: {name} ({run}), before its first step."))),
            RunState::Diverged => {
                let text = format!("Diverged: {name} ({run}), after {steps}.{best}");
                Err(CliError::Failed(spaced(&[&text, &why, unwritten])))
            }
            // What was given could not be used: nothing was trained.
            RunState::Failed if !self.is_started && *step == 0 => Err(CliError::BadInput(why)),
            RunState::Failed => {
                let text = format!("Failed: {name} ({run}), after {steps}.");
                Err(CliError::Failed(spaced(&[&text, &why, &go_on, unwritten])))
            }
            other => Err(CliError::Failed(spaced(&[
                &format!("The run ended as {other}: {name} ({run}), after {steps}."),
                &why,
                &go_on,
                unwritten,
            ]))),
        }
    }

    /// How many analyses of its attention a run has, if some were left out. A store that cannot be read tells nothing.
    fn analyses_left_out(&self, run: &RunId) -> Option<String> {
        let (store, record) = open::reading_run(self.store.as_deref(), run.as_str()).ok()?;
        Some(analyses_left_out(&record, &store.live_analyses(run).ok()?)? + ".")
    }

    fn resume_command(&self, run: &RunId) -> String {
        hint::command(&format!("resume {run}"), self.store.as_deref())
    }
}

/// The parts that say something, with a space between.
fn spaced(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// A run that finished is done, whether or not anybody still reads.
fn unless_left(outcome: CliResult) -> CliResult {
    match outcome {
        Err(CliError::ReaderLeft) => Ok(()),
        other => other,
    }
}
