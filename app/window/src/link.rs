//! The window's end of the door: sends commands, drains events into the view model.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use headroom_engine::{
    protocol::{Command, Event, Request},
    worker::EngineError,
};

use crate::{
    door::{Door, Recorder},
    state::State,
};

/// How long draining may take in one frame.
const DRAIN_BUDGET: Duration = Duration::from_millis(8);

/// The door, and what the window does with it once a frame.
pub struct Link {
    door: Door,
}

impl Link {
    /// Starts an engine on a store. `wake` is called, from any thread, when there is something to drain.
    pub fn start(store: PathBuf, wake: Arc<dyn Fn() + Send + Sync>) -> Result<Self, EngineError> {
        Ok(Self { door: Door::start(store, Some(wake))? })
    }

    /// A link without an engine: commands are kept for [`Link::take_recorded`], no event comes by itself. For pictures and
    /// tests of panels, which put events into the view model themselves. See [`Link::feed`].
    pub fn recorder() -> Self {
        Self { door: Door::Recorder(Recorder::default()) }
    }

    fn recorded(&self) -> Option<&Recorder> {
        match &self.door {
            Door::Recorder(recorder) => Some(recorder),
            _ => None,
        }
    }

    /// Lets events wait at a [`Link::recorder`] as if an engine had sent them.
    pub fn feed(&self, more: impl IntoIterator<Item = Event>) {
        if let Some(recorder) = self.recorded() {
            recorder.feed(more);
        }
    }

    /// The number of events that wait at a [`Link::recorder`].
    pub fn waiting(&self) -> usize {
        self.recorded().map_or(0, Recorder::waiting)
    }

    /// The requests that were sent to a [`Link::recorder`] since the last call, with their tickets.
    pub fn take_requests(&self) -> Vec<Request> {
        self.recorded().map(Recorder::take_sent).unwrap_or_default()
    }

    /// The commands that were sent to a [`Link::recorder`] since the last call.
    pub fn take_recorded(&self) -> Vec<Command> {
        self.take_requests().into_iter().map(|request| request.command).collect()
    }

    /// Sends a request, or a command that gets a new ticket; trouble becomes a message that the user sees.
    pub fn send(&self, state: &mut State, request: impl Into<Request>) {
        if let Err(error) = self.door.send(request) {
            let what_to_do = match error {
                EngineError::Busy => "",
                _ => "Restart the program; runs are kept.",
            };
            state.messages.push_error(error.to_string(), what_to_do);
        }
    }

    /// Moves waiting events into the view model, for at most 8 ms, then sends what follows from them. Returns whether
    /// more may wait than fitted into this frame's time.
    pub fn drain(&self, state: &mut State) -> bool {
        let start = Instant::now();
        let more = loop {
            match self.door.take() {
                Some(notice) => state.apply(notice),
                None => break false,
            }
            if start.elapsed() >= DRAIN_BUDGET {
                break true;
            }
        };
        self.send_requests(state);
        more
    }

    /// Sends what follows from events and from what panels want.
    pub fn send_requests(&self, state: &mut State) {
        for request in state.take_requests() {
            self.send(state, request);
        }
    }

    /// Ends the engine; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    pub fn shutdown(self, patience: Duration) {
        self.door.shutdown(patience);
    }
}
