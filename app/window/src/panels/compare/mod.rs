//! The Compare panel: any runs on one chart, against a baseline, in groups, with a table of the same figures and the
//! differences of their configs.

mod axes;
mod charts;
mod configs;
mod controls;
mod courses;
mod difference;
mod figures;
mod lines;
mod more_seeds;
mod notes;
mod panel;
mod parallel;
mod rows;
mod samples;
mod scatter;
mod table;
mod view;
mod workspace;

pub use figures::{stored_figures, stored_scatter};
pub use panel::ComparePanel;
pub use view::View;

#[cfg(test)]
mod tests;
