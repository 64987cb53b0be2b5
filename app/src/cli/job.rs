//! One background job of a command: asked for, shown as it goes on, ended by Ctrl-C, and its answer.

use std::time::{Duration, Instant};

use headroom_engine::protocol::{Command, Event, JobRef, JobRequest, Progress, Ticket, commands, events};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    error::{CliError, CliResult, joined},
    print,
    session::{Heard, Session},
    signals,
};

/// Time between two objects of progress that scripts read.
const OBJECT_EVERY: Duration = Duration::from_secs(1);

/// Steps of a bar.
const BAR_STEPS: u64 = 1000;

/// Display of progress.
pub(super) enum Shown {
    /// A bar, on a terminal.
    Bar(ProgressBar),
    /// A line for each stage, on standard error.
    Lines {
        /// The last one.
        last: String,
    },
    /// A JSON object a line, once a second.
    Json {
        /// Time of the last one.
        told: Option<Instant>,
    },
    /// Not at all.
    Silent,
}

impl Shown {
    /// For people; scripts, which read JSON, get the answer alone.
    pub(super) fn beside_answer(json: bool) -> Self {
        if json { Self::Silent } else { Self::for_people() }
    }

    /// For people, and for scripts that read a stream of JSON.
    pub(super) fn streamed(json: bool) -> Self {
        if json { Self::Json { told: None } } else { Self::for_people() }
    }

    /// Lines, which stay.
    pub(super) fn lines() -> Self {
        Self::Lines { last: String::new() }
    }

    fn for_people() -> Self {
        if !print::is_terminal() {
            return Self::lines();
        }
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %");
        Self::Bar(ProgressBar::new(BAR_STEPS).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    fn show(&mut self, event: &Event, progress: &dyn Progress) -> CliResult {
        match self {
            Self::Bar(bar) => {
                if let Some(share) = progress.share() {
                    bar.set_position((share * BAR_STEPS as f64) as u64);
                    print::beside(bar, progress.stage());
                }
            }
            Self::Lines { last } => {
                if let Some(line) = progress.line().filter(|line| line != last) {
                    print::aside(&line);
                    *last = line;
                }
            }
            Self::Json { told } => {
                if told.is_none_or(|last| last.elapsed() >= OBJECT_EVERY) {
                    *told = Some(Instant::now());
                    print::json_line(event)?;
                }
            }
            Self::Silent => {}
        }
        Ok(())
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Passes the user's wish to stop on, once.
#[derive(Default)]
pub(super) struct StopOnce {
    is_told: bool,
}

impl StopOnce {
    /// Cancels all jobs of a request where the user wants to stop.
    pub(super) fn cancel(&mut self, session: &Session, ticket: Ticket) -> CliResult {
        if signals::is_stop_wanted() && !self.is_told {
            self.is_told = true;
            print::aside("Stopping. Press Ctrl-C again to quit at once.");
            session.send(commands::Cancel { job: JobRef::Ticket(ticket) })?;
        }
        Ok(())
    }
}

/// Asks for a job and waits for its answer; Ctrl-C cancels it. `field` is the argument that a failure names, `heard` is called with
/// all other events of the job.
pub(super) fn run_job<J: JobRequest>(
    session: &Session,
    job: J,
    field: &'static str,
    shown: Shown,
    heard: impl FnMut(Event) -> CliResult,
) -> CliResult<J::Output> {
    signals::listen();
    run_command(session, job, field, shown, heard)
}

/// The same of any command that one event answers. Of one that leaves nothing behind, Ctrl-C ends the program at once.
pub(super) fn run_command<T: TryFrom<Event, Error = Box<Event>>>(
    session: &Session,
    command: impl Into<Command>,
    field: &'static str,
    mut shown: Shown,
    mut heard: impl FnMut(Event) -> CliResult,
) -> CliResult<T> {
    let ticket = session.send(command)?;
    let mut stop = StopOnce::default();
    session.follow(ticket, "it was done", |event| {
        stop.cancel(session, ticket)?;
        let Some(event) = event else { return Ok(Heard::Taken) };
        if let Some(progress) = event.progress() {
            shown.show(&event, progress)?;
        }
        match event {
            Event::Failed(events::Failed { why, what_to_do, .. }) => {
                Err(CliError::FailedAt { field, message: joined(&why, &what_to_do) })
            }
            Event::Refused(events::Refused { why }) => Err(CliError::at(field, why)),
            event @ (Event::Warning(_) | Event::Ended) => Ok(Heard::Usual(event)),
            event => match T::try_from(event) {
                Ok(answer) => Ok(Heard::Answer(answer)),
                Err(other) => heard(*other).map(|()| Heard::Taken),
            },
        }
    })
}

/// Takes an event that is of no interest.
#[expect(clippy::unnecessary_wraps, reason = "one of the ways in which commands take events in")]
pub(super) fn ignored(_event: Event) -> CliResult {
    Ok(())
}
