//! What panels of analyses share: whose analysis is shown, of which step, the scrubber over steps, colours, and what is
//! said where there is none.

mod empty;
mod look;
mod scrubber;
mod shown;

pub use empty::empty_ui;
pub use look::Look;
pub use scrubber::Scrubber;
pub use shown::{Shown, formula, head_name, notes_ui, provenance, with_capital};
