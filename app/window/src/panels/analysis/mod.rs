//! The frame of the panels of analyses: whose analysis is shown, the scrubber over its steps, the form that asks for
//! another one, what is said where there is none or it cannot be read, and the colours of maps.

mod form;
mod frame;
mod map_style;
mod options;
mod scrubber;
mod shown;
mod source;
mod subject;

pub use form::{AnalysisForm, FormOptions, FormWords, failure_ui, pending_ui, which_words};
pub use frame::{About, AnalysisFrame, FoundAnalysis, export_menu_ui, failed_ui, undo_delete};
pub use map_style::MapStyle;
pub use options::AnalysisOptions;
pub use scrubber::Scrubber;
pub use shown::{Shown, formula, head_name, notes_ui, provenance};
pub use subject::{Subject, typed_text};
