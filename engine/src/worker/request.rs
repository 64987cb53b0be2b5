use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Command, Event};

/// Identifies one request of this process. Everything that answers the request or follows from it returns the ticket: answers,
/// progress, failures, the events of the run that it queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(u64);

impl Ticket {
    /// A ticket that nobody else in this process has.
    #[expect(clippy::new_without_default, reason = "two tickets are never the same")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// It as a number, to tell what belongs to different requests apart.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A command with its ticket: what goes to the engine. On the wire one JSON object a line,
/// `{"ticket":7,"command":"load_run","run":"0bkq3m5x2a"}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Returned by everything that follows.
    pub ticket: Ticket,
    /// What is asked.
    #[serde(flatten)]
    pub command: Command,
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self { ticket: Ticket::new(), command }
    }
}

/// An event with the ticket of the request that it follows from: what comes from the engine. On the wire one JSON object a
/// line, `{"ticket":7,"event":"done"}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// The request; none for what nobody asked for, such as the load of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Ticket>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl From<Event> for Notice {
    fn from(event: Event) -> Self {
        Self { ticket: None, event }
    }
}

/// A request or a notice as a line of the wire, with its line feed.
///
/// # Errors
/// A path that is not Unicode.
pub fn to_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(line)
}

/// A request or a notice from a line of the wire.
///
/// # Errors
/// The line is none.
pub fn from_line<T: DeserializeOwned>(line: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(line)
}
