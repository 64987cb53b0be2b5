//! The only file that talks to the engine thread: sends commands, drains events into the view model.

use std::{
    cell::RefCell,
    collections::VecDeque,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use headroom_engine::worker::{Command, Engine, EngineError, EngineOptions, Event, Notice, Request};

use crate::state::State;

/// How long draining may take in one frame.
const DRAIN_BUDGET: Duration = Duration::from_millis(8);

/// The window's end of the engine's doors.
pub struct Link {
    door: Door,
}

enum Door {
    Engine(Engine),
    /// Keeps what would have been sent and gives the events that it was given; for pictures and tests of panels.
    Recorder {
        kept: RefCell<Vec<Request>>,
        events: RefCell<VecDeque<Notice>>,
    },
}

impl Link {
    /// Starts an engine on a store. `wake` is called, from any thread, when there is something to drain.
    pub fn start(store: PathBuf, wake: Arc<dyn Fn() + Send + Sync>) -> Result<Self, EngineError> {
        let engine = Engine::start(EngineOptions { store, wake: Some(wake) })?;
        Ok(Self { door: Door::Engine(engine) })
    }

    /// A link without an engine: commands are kept for [`Link::take_recorded`], no event comes by itself. For pictures and
    /// tests of panels, which put events into the view model themselves. See [`Link::feed`].
    pub fn recorder() -> Self {
        Self { door: Door::Recorder { kept: RefCell::default(), events: RefCell::default() } }
    }

    /// Lets events wait at a [`Link::recorder`] as if an engine had sent them.
    pub fn feed(&self, more: impl IntoIterator<Item = Event>) {
        if let Door::Recorder { events, .. } = &self.door {
            events.borrow_mut().extend(more.into_iter().map(Notice::from));
        }
    }

    /// The number of events that wait at a [`Link::recorder`].
    pub fn waiting(&self) -> usize {
        match &self.door {
            Door::Engine(_) => 0,
            Door::Recorder { events, .. } => events.borrow().len(),
        }
    }

    /// The commands that were sent to a [`Link::recorder`] since the last call.
    pub fn take_recorded(&self) -> Vec<Command> {
        match &self.door {
            Door::Engine(_) => Vec::new(),
            Door::Recorder { kept, .. } => kept.take().into_iter().map(|request| request.command).collect(),
        }
    }

    /// Sends a request, or a command that gets a new ticket; trouble becomes a message that the user sees.
    pub fn send(&self, state: &mut State, request: impl Into<Request>) {
        let request = request.into();
        let engine = match &self.door {
            Door::Engine(engine) => engine,
            Door::Recorder { kept, .. } => return kept.borrow_mut().push(request),
        };
        if let Err(error) = engine.send(request) {
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
        let next = || match &self.door {
            Door::Engine(engine) => engine.try_event(),
            Door::Recorder { events, .. } => events.borrow_mut().pop_front(),
        };
        let more = loop {
            match next() {
                Some(notice) => state.apply(notice),
                None => break false,
            }
            if start.elapsed() >= DRAIN_BUDGET {
                break true;
            }
        };
        self.send_wishes(state);
        more
    }

    /// Sends the commands that follow from events and from what panels want.
    pub fn send_wishes(&self, state: &mut State) {
        for command in state.take_wishes() {
            self.send(state, command);
        }
    }

    /// Ends the engine; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    pub fn shutdown(self, patience: Duration) {
        if let Door::Engine(engine) = self.door {
            engine.shutdown(patience);
        }
    }
}
