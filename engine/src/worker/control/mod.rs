//! The control socket: through it `headroom queue`, `pause`, `stop` and their like reach an engine of another process on the
//! same store.
//!
//! The process that holds the engine makes `control.sock` in the store's folder ([`ControlServer`]), readable and writable
//! for its user alone, and removes it at its end; a second engine on the store takes `control-2.sock`, and so on. A request is a
//! line, a [`super::Request`] as JSON; its notices come back as lines, with the ticket of the request. Requests that start,
//! read or change runs are refused: the socket is for the queue.

mod client;
mod server;

pub use client::{ControlClient, ControlError};
pub(super) use server::ControlServer;
pub use server::remove_stale_sockets;

use super::{Command, Event};

/// Whether the socket takes a command.
fn is_allowed(command: &Command) -> bool {
    matches!(
        command,
        Command::ListQueue
            | Command::Pause
            | Command::Resume
            | Command::Stop
            | Command::Checkpoint
            | Command::Cancel { .. }
            | Command::CancelMeasure { .. }
            | Command::CancelAnalysis { .. }
            | Command::Move { .. }
    )
}

/// Whether an event is the last that answers a command that the socket takes.
fn ends(command: &Command, event: &Event) -> bool {
    match event {
        Event::Done | Event::Refused { .. } | Event::Failed { .. } | Event::Ended => true,
        Event::Queue { .. } => matches!(command, Command::ListQueue),
        _ => false,
    }
}
