//! The frame of the panels of analyses: whose analysis is shown, the scrubber over its steps, the form that asks for
//! another one, what is said where there is none, and the colours of maps.

mod empty;
mod form;
mod frame;
mod map_style;
mod scrubber;
mod shown;
mod source;

pub use empty::empty_ui;
pub use form::{AnalysisForm, Sample, asked_ui};
pub use frame::{About, AnalysisFrame, export_menu_ui, has_analysis, undo_delete};
pub use map_style::MapStyle;
pub use scrubber::Scrubber;
pub use shown::{Shown, formula, head_name, notes_ui, provenance, with_capital};
pub use source::source_ui;
