//! The engine and its doors: takes [`Command`](crate::protocol::Command)s, owns the device and the run queue, sends [`Event`](crate::protocol::Event)s.
//!
//! Three threads work behind the doors: the scheduler (queue, store, answers; never computes), the engine thread (one job at
//! a time: train, evaluate, measure) and the monitor (the load of the machine and its GPUs once a second). Checks, exports and
//! transfers from and to a hub get threads of their own. May be used from the window and the command line; everything that crosses these doors is plain data.

mod check;
#[cfg(unix)]
mod control;
mod engine;
mod engine_thread;
mod message;
mod models;
mod scheduler;
mod transfer;
mod viewer;

pub use check::model_facts;
#[cfg(unix)]
pub use control::{ControlClient, ControlError, remove_stale_sockets};
pub use engine::{Engine, EngineError, EngineOptions};
