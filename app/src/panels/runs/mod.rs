//! The Runs panel: every run in the store, filtered, sorted, edited.

mod column;
mod configs;
mod fields;
mod menu;
mod order;
mod panel;

pub use column::{Column, Which};
pub use configs::FlatConfigs;
pub use fields::{RUN_FIELDS, RunFields};
pub use panel::RunsPanel;
