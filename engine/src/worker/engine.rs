use std::{path::PathBuf, sync::Arc, time::Duration};

use thiserror::Error;

use super::{Command, Event};
use crate::store::StoreError;

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

/// The engine and its doors.
pub struct Engine {}

impl Engine {
    /// Opens the store, starts the threads.
    pub fn start(options: EngineOptions) -> Result<Self, EngineError> {
        todo!()
    }

    /// Sends a command; never blocks.
    pub fn send(&self, command: Command) -> Result<(), EngineError> {
        todo!()
    }

    /// The next waiting event, if any.
    pub fn try_event(&self) -> Option<Event> {
        todo!()
    }

    /// Waits for the next event; `None` after `patience` or when the engine has ended.
    pub fn wait_event(&self, patience: Duration) -> Option<Event> {
        todo!()
    }

    /// Ends the engine; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    pub fn shutdown(self, patience: Duration) {
        todo!()
    }
}
