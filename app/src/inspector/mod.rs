//! What is known and can be done about one run: the inspector at the right of the window, and the parts of it that
//! panels share (the words of a state, the menu of a run, the box in which something is exported).

mod blank;
#[cfg(test)]
pub mod driver;
#[cfg(test)]
pub mod examples;
mod export_box;
mod facts;
mod figure_format;
mod gather;
mod json;
mod mixing;
mod operations;
mod panel;
mod sign;
pub mod state_text;
mod taking;

pub use blank::{blank_ui, no_runs_ui, working_ui};
pub use export_box::ExportBox;
pub use figure_format::FigureFormat;
pub use json::run_json;
pub use mixing::MixingView;
pub(crate) use operations::base_dir;
pub use operations::{RunOperation, next_seed, offered, perform};
pub use panel::Inspector;
pub use sign::{paint_eye, paint_pin, pin_ui, state_sign_ui};
pub use taking::Taking;

#[cfg(test)]
mod tests;
