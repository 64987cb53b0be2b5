//! A command's conversation with the engine: it asks, and waits for what follows.

use std::{path::Path, time::Duration};

use headroom_engine::protocol::{Command, Event, Notice, Ticket, events};

use super::{
    error::{CliError, CliResult, joined},
    open, print,
};
use crate::door::Door;

/// How long an event is waited for before the command looks at the signals again.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long the engine may take to write down what is left.
const SHUTDOWN_PATIENCE: Duration = Duration::from_mins(1);

/// An engine on the store, which ends with it.
pub struct Session {
    door: Option<Door>,
}

/// What came of an event.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Heard<T> {
    /// It is what was waited for.
    Answer(T),
    /// It was taken in, or is of no interest.
    Taken,
    /// It is to be dealt with as usual: a warning is told, a failure ends the waiting.
    Usual(Event),
}

impl Session {
    /// Starts the engine on the store; `must_exist` where a command speaks of runs in it.
    pub fn open(given: Option<&Path>, must_exist: bool) -> CliResult<Self> {
        Ok(Self { door: Some(Door::start(store(given, must_exist)?, None)?) })
    }

    /// The same for commands that change nothing in the store, which may be one that cannot be written.
    pub fn open_for_reading(given: Option<&Path>, must_exist: bool) -> CliResult<Self> {
        Ok(Self { door: Some(Door::start_for_reading(&store(given, must_exist)?)?) })
    }

    /// A session with each engine that holds the store in another process; only their queues can be reached.
    pub fn others(given: Option<&Path>) -> CliResult<Vec<Self>> {
        let doors =
            Door::others(&store(given, true)?).map_err(|why| CliError::FailedAt { field: "store", message: why })?;
        Ok(doors.into_iter().map(|door| Self { door: Some(door) }).collect())
    }

    fn door(&self) -> CliResult<&Door> {
        self.door.as_ref().ok_or_else(|| CliError::Failed("The engine has ended.".to_owned()))
    }

    /// Sends a command.
    pub fn send(&self, command: impl Into<Command>) -> CliResult<Ticket> {
        Ok(self.door()?.send(command.into())?)
    }

    /// Sends a command and waits for its answer. `before`: what the engine must not end before, as part of a sentence.
    pub fn ask<T>(
        &self,
        command: impl Into<Command>,
        before: &str,
        mut hear: impl FnMut(Event) -> CliResult<Heard<T>>,
    ) -> CliResult<T> {
        let ticket = self.send(command)?;
        self.follow(ticket, before, |event| event.map_or(Ok(Heard::Taken), &mut hear))
    }

    /// Waits for what follows from a request until `hear` has its answer. What belongs to other requests is passed over;
    /// some twenty times a second at least `hear` is called, without an event where none came.
    pub fn follow<T>(
        &self,
        ticket: Ticket,
        before: &str,
        mut hear: impl FnMut(Option<Event>) -> CliResult<Heard<T>>,
    ) -> CliResult<T> {
        let door = self.door()?;
        loop {
            let notice = door.wait(PATIENCE);
            let ours = notice.filter(|notice| notice.ticket.is_none_or(|of| of == ticket));
            match hear(ours.map(|Notice { event, .. }| event))? {
                Heard::Answer(answer) => return Ok(answer),
                Heard::Usual(Event::Warning(events::Warning { message, .. })) => {
                    print::aside(format!("Warning: {message}"));
                }
                Heard::Usual(Event::Failed(events::Failed { why, what_to_do, .. })) => {
                    return Err(CliError::Failed(joined(&why, &what_to_do)));
                }
                Heard::Usual(Event::Refused(events::Refused { why })) => return Err(CliError::at("run", why)),
                Heard::Usual(Event::Ended) => {
                    return Err(CliError::Failed(format!("The engine ended before {before}.")));
                }
                Heard::Usual(_) | Heard::Taken => {}
            }
        }
    }

    /// Ends the engine, once all of it is written down.
    pub fn end(mut self) {
        self.shutdown();
    }

    fn shutdown(&mut self) {
        if let Some(door) = self.door.take() {
            door.shutdown(SHUTDOWN_PATIENCE);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn store(given: Option<&Path>, must_exist: bool) -> CliResult<std::path::PathBuf> {
    if must_exist { open::existing(given) } else { open::path(given) }
}
