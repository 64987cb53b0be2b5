//! The Runs panel: every run in the store, filtered, sorted, grouped, edited, one or several at a time.

mod bar;
mod cells;
mod chooser;
mod column;
mod delete_dialog;
mod export_several;
mod fields;
mod groups;
mod head;
mod memory;
mod menu;
mod order;
mod panel;
mod saved_filters;
mod several;
mod table_columns;
mod tags;

pub use crate::state::FlatConfigs;
pub use cells::row_swatch_ui;
pub use column::{Column, Which};
pub use fields::{RUN_FIELDS, RunFields, needs_config, unknown_field};
pub use groups::GroupBy;
pub use memory::{chosen_sorting, column_words, pinned_columns};
pub use order::{Order, Wish, fingerprint};
pub use panel::RunsPanel;

#[cfg(test)]
mod tests;
