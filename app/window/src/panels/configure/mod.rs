//! The Configure panel: a draft of a run's config, every field of it, what it costs, and Start.
//!
//! Every change is judged at once: by the config's own rules and the model plan on the spot, and by the engine (files,
//! device, memory) a moment later. Start stays off while any problem stands.

mod difference;
mod draft;
mod estimate;
mod field;
mod file;
mod form;
mod heads;
mod history;
mod panel;
mod sections;
mod start;
mod summary;
mod welcome;

pub use estimate::Estimate;
pub(crate) use field::told;
pub use heads::head_grid;
pub use panel::ConfigurePanel;
