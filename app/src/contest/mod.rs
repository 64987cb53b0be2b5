//! The box in which a race, a sweep or a control is set up: what is trained, what each of it costs, with how many seeds.
//!
//! Opened from Configure, the palette, Compare and a run's menu. What it queues trains like any other run.

mod contest_box;
mod control_form;
mod plan;
mod sweep_form;
mod variants;

pub use contest_box::ContestBox;
