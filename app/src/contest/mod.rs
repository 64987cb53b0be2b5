//! The box in which a race or a sweep is set up: what is trained, what each of it costs, with how many seeds.
//!
//! Opened from Configure, the palette, Compare and a run's menu. What it queues trains like any other run.

mod contest_box;
mod plan;
mod sweep_form;
mod variants;

pub use contest_box::ContestBox;
