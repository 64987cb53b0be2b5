//! Text from outside, made safe where it leaves the program: names, notes, excerpts and paths may hold characters that
//! steer a terminal, turn lines around or cannot be seen, and cells that a spreadsheet would run.
//!
//! [`escaped`] and [`escaped_line`] are for what people read, [`to_json`] and [`to_json_pretty`] for what programs read,
//! [`csv_cell`] for tables, [`listed`] and [`shortened`] for what a message names.

mod bounded;
mod csv;
mod escape;
pub mod floats;
mod json;
mod list;

pub use bounded::Bounded;
pub use csv::csv_cell;
pub use escape::{escaped, escaped_line, is_deceptive};
pub use json::{escaped_json, to_json, to_json_pretty};
pub use list::{joined_first, listed, listed_first, shortened};
