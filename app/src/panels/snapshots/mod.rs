//! What panels of analyses share: whose analysis is shown, of which step, the scrubber over steps, colours, and what is
//! said where there is none.

mod ask;
mod empty;
mod frame;
mod look;
mod scrubber;
mod shown;
mod source;

pub use ask::{AskForm, looking_ui};
pub use empty::empty_ui;
pub use frame::{export_ui, has_analysis, of_run_ui};
pub use look::Look;
pub use scrubber::Scrubber;
pub use shown::{Shown, formula, head_name, notes_ui, provenance, with_capital};
pub use source::source_ui;
