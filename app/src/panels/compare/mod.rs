//! The Compare panel: any runs on one chart, against a baseline, in groups, with a table of the same figures and the
//! differences of their configs.

mod configs;
mod controls;
mod difference;
mod lines;
mod notes;
mod panel;
mod parallel;
mod rows;
mod table;
mod view;

pub use panel::ComparePanel;

#[cfg(test)]
mod tests;
