//! The panels: what each shows, and what the window gives them to show it.
//!
//! A panel reads [`crate::state::State`], asks for what it shows (`state.series.want`, `state.want_record`), and tells
//! what the user wants as [`Action`](crate::context::Action)s. It never blocks, never talks to the engine and never reads a file.

pub mod adviser;
pub mod analysis;
pub mod compare;
pub mod configure;
pub mod generate;
pub mod heads;
pub mod inspector;
pub mod live;
mod model_choice;
pub mod models;
pub mod reconstruct;
pub mod redundancy;
mod registry;
mod run_picker;
pub mod runs;
pub mod spectra;
pub mod speed;

pub use registry::Panels;
pub(crate) use run_picker::run_choices_ui;
