//! The engine thread: takes [`Command`]s, owns the device and the run queue, sends [`Event`]s.
//!
//! May be used from the window and the command line; everything that crosses this door is plain data.

mod command;
mod device;
mod event;

pub use command::{Command, RunEdit, Target, Which};
pub use device::{DeviceInfo, cores, devices};
pub use event::Event;
mod engine;
pub use engine::{Engine, EngineError, EngineOptions};
