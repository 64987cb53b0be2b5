//! What a benchmark measured, as quantities, lines and figures: for the Speed panel and the command line.

mod figures;
mod lines;
mod quantity;

pub use figures::figures;
pub use lines::{Lines, x_axis};
pub use quantity::{Quantity, millis};
