//! The Speed panel: how long training steps and the generation of texts take, at which sizes, with which variant; what
//! memory; and how near each operation comes to what the machine can do.
//!
//! A measurement is a job in the engine's queue: it never shares the machine with a run that trains here.

mod form;
mod list;
mod panel;
mod points;
mod roofline;
mod texts;

pub use panel::SpeedPanel;
pub use points::standing;
