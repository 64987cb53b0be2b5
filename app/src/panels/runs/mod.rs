//! The Runs panel: every run in the store, filtered, sorted, edited.

mod cells;
mod column;
mod configs;
mod eyes;
mod fields;
mod menu;
mod order;
mod panel;
mod table_columns;

pub use column::{Column, Which};
pub use configs::FlatConfigs;
pub use fields::{RUN_FIELDS, RunFields};
pub use panel::RunsPanel;

#[cfg(test)]
mod tests;
