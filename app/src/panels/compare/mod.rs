//! The Compare panel: any runs on one chart, against a baseline, in groups, with a table of the same figures and the
//! differences of their configs.

mod configs;
mod lines;
mod panel;
mod rows;
mod view;

pub use panel::ComparePanel;
