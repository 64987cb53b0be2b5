//! A table that can be sorted, selected from, walked with the keyboard, and whose columns can be hidden. Columns for which
//! there is no room give way, the least important first.

mod column;
mod draw;
mod sort;
mod state;
#[cfg(test)]
mod tests;

pub use column::{Column, without_room};
pub use draw::{Table, TableResponse};
pub use sort::{SortKey, Sorting, sort_rows};
pub use state::TableState;
