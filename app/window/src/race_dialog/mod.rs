//! The dialog in which a race, a sweep or a control is set up: what is trained, what each of it costs, with how many seeds.
//!
//! Opened from Configure, the palette, Compare and a run's menu. What it queues trains like any other run.

mod begin_form;
mod control_form;
mod dialog;
mod place;
mod priced;
mod sweep_form;
mod variants;

pub use dialog::RaceDialog;
