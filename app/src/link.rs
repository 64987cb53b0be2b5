//! The only file that talks to the engine thread: sends commands, drains events into the view model.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use headroom_engine::worker::{Command, Engine, EngineError, EngineOptions};

use crate::state::State;

/// How long draining may take in one frame.
const DRAIN_BUDGET: Duration = Duration::from_millis(8);

/// The window's end of the engine's doors.
pub struct Link {
    engine: Engine,
}

impl Link {
    /// Starts an engine on a store. `wake` is called, from any thread, when there is something to drain.
    pub fn start(store: PathBuf, wake: Arc<dyn Fn() + Send + Sync>) -> Result<Self, EngineError> {
        Ok(Self { engine: Engine::start(EngineOptions { store, wake: Some(wake) })? })
    }

    /// Sends a command; trouble becomes a message that the user sees.
    pub fn send(&self, state: &mut State, command: Command) {
        if let Err(error) = self.engine.send(command) {
            state.messages.push_error(error.to_string(), "Restart the program; runs are kept.".to_owned());
        }
    }

    /// Moves waiting events into the view model. Returns whether more wait than fitted into this frame's time.
    pub fn drain(&self, state: &mut State) -> bool {
        let start = Instant::now();
        while start.elapsed() < DRAIN_BUDGET {
            match self.engine.try_event() {
                Some(event) => state.apply(event),
                None => {
                    for command in state.take_wishes() {
                        self.send(state, command);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Ends the engine; a run in progress is stopped with a checkpoint. Waits at most `patience`.
    pub fn shutdown(self, patience: Duration) {
        self.engine.shutdown(patience);
    }
}
