use serde::{Deserialize, Serialize};

use super::{
    messages::{Command, Event},
    ticket::Ticket,
};

/// A command with its ticket: what goes to the engine. On the wire one JSON object a line,
/// `{"protocol":2,"ticket":7,"command":"load_run","run":"0bkq3m5x2a"}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Returned by everything that follows.
    pub ticket: Ticket,
    /// What is asked.
    #[serde(flatten)]
    pub command: Command,
}

impl<T: Into<Command>> From<T> for Request {
    fn from(command: T) -> Self {
        Self { ticket: Ticket::new(), command: command.into() }
    }
}

/// An event with the ticket of the request that it follows from: what comes from the engine. On the wire one JSON object a
/// line, `{"protocol":2,"ticket":7,"event":"done"}`.
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
