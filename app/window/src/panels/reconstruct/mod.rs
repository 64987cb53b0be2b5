//! The Reconstruct panel: how well scores are restored from some of their pairs, which pairs these are, and any map beside
//! itself put together from k pairs of each query.

mod curves;
mod form;
mod maps;
mod pairs;
mod panel;
mod words;

pub use maps::rebuilt_figures;
pub use panel::ReconstructPanel;
