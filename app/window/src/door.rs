//! The one way of the window and the command line to the engine, and through it to the store.

use std::{
    cell::RefCell,
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

#[cfg(unix)]
use headroom_engine::worker::ControlClient;
use headroom_engine::{
    protocol::{Event, Notice, Request, Ticket},
    worker::{Engine, EngineError, EngineOptions},
};

/// Requests go in, notices come out; where the engine is, nobody behind the door needs to know.
pub enum Door {
    /// An engine of this program, on threads of its own.
    Engine(Engine),
    /// None: keeps what is sent, and gives what it was fed. For pictures and tests of panels.
    Recorder(Recorder),
    /// The queue of an engine in another process on the same store.
    #[cfg(unix)]
    Socket(ControlClient),
}

/// What stands in for an engine in tests.
#[derive(Default)]
pub struct Recorder {
    sent: RefCell<Vec<Request>>,
    notices: RefCell<VecDeque<Notice>>,
}

impl Recorder {
    /// The requests since the last call.
    pub fn take_sent(&self) -> Vec<Request> {
        self.sent.take()
    }

    /// Lets events wait as if an engine had sent them.
    pub fn feed(&self, more: impl IntoIterator<Item = Event>) {
        self.notices.borrow_mut().extend(more.into_iter().map(Notice::from));
    }

    /// The number of events that wait.
    pub fn waiting(&self) -> usize {
        self.notices.borrow().len()
    }
}

impl Door {
    /// Starts an engine on a store. `wake` is called, from any thread, when there is something to take.
    pub fn start(store: PathBuf, wake: Option<Arc<dyn Fn() + Send + Sync>>) -> Result<Self, EngineError> {
        Engine::start(EngineOptions { store, wake }).map(Self::Engine)
    }

    /// The same for what changes nothing in the store, which may be one that cannot be written.
    pub fn start_for_reading(store: &Path) -> Result<Self, EngineError> {
        Engine::start_for_reading(EngineOptions { store: store.to_owned(), wake: None }).map(Self::Engine)
    }

    /// Doors to the queues of engines in other processes on a store.
    ///
    /// # Errors
    /// They cannot be reached, in words.
    #[cfg(unix)]
    pub fn others(store: &Path) -> Result<Vec<Self>, String> {
        let clients = ControlClient::connect(store).map_err(|error| error.to_string())?;
        Ok(clients.into_iter().map(Self::Socket).collect())
    }

    /// Doors to the queues of engines in other processes on a store.
    ///
    /// # Errors
    /// Always, so far.
    #[cfg(not(unix))]
    pub fn others(_store: &Path) -> Result<Vec<Self>, String> {
        Err("So far the queue of another process can be reached on Linux, macOS and other kinds of Unix only."
            .to_owned())
    }

    /// Sends a request, or a command that gets a new ticket; never blocks.
    ///
    /// # Errors
    /// The engine has ended, or too much waits.
    pub fn send(&self, request: impl Into<Request>) -> Result<Ticket, EngineError> {
        let request = request.into();
        match self {
            Self::Engine(engine) => engine.send(request),
            Self::Recorder(recorder) => {
                let ticket = request.ticket;
                recorder.sent.borrow_mut().push(request);
                Ok(ticket)
            }
            #[cfg(unix)]
            Self::Socket(client) => client.send(&request).map_err(|_| EngineError::Ended),
        }
    }

    /// The next notice, if one is there.
    pub fn take(&self) -> Option<Notice> {
        match self {
            Self::Engine(engine) => engine.try_event(),
            Self::Recorder(recorder) => recorder.notices.borrow_mut().pop_front(),
            #[cfg(unix)]
            Self::Socket(client) => client.wait(Duration::ZERO),
        }
    }

    /// Waits for the next notice; none when `patience` is over.
    pub fn wait(&self, patience: Duration) -> Option<Notice> {
        match self {
            Self::Engine(engine) => engine.wait_event(patience),
            Self::Recorder(_) => self.take(),
            #[cfg(unix)]
            Self::Socket(client) => client.wait(patience),
        }
    }

    /// Ends the engine of this program; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    pub fn shutdown(self, patience: Duration) {
        if let Self::Engine(engine) = self {
            engine.shutdown(patience);
        }
    }
}
