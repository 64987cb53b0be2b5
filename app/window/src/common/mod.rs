//! What several panels contain: the empty state, the dialog that exports, what can be done with a run, the signs and
//! words of its state, what models are called, how long training will take.

mod blank;
#[cfg(test)]
pub mod driver;
mod expected;
mod export_dialog;
mod exportable;
mod gather;
mod modal;
mod path_mark;
mod pieces;
mod run_json;
mod run_operations;
mod sign;
pub mod state_text;

pub use blank::{blank_ui, no_runs_ui, working_ui};
pub use expected::Expected;
pub use export_dialog::ExportDialog;
pub use exportable::{DataExport, Exportable, FigureFormat, slug};
pub use modal::{dialog_ui, left_by_key};
pub use path_mark::{is_there, leads_nowhere, mark_path};
pub use pieces::pieces;
pub use run_json::run_json;
pub use run_operations::{RunOperation, next_seed, offered, perform};
pub use sign::{paint_eye, paint_pin, pin_ui, state_sign_ui};
