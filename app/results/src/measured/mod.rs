//! What a benchmark measured, as quantities, lines and figures, and beside what papers publish: for the Speed panel and the
//! command line.

mod published;
mod quantities;
mod trust;

pub use published::{PUBLISHED_SETTING, published_ratios};
pub use quantities::{Line, Lines, QUARTILES, Quantity, figures, millis, quartile_words, x_axis};
pub use trust::{PAST_PRODUCTS, Standing, disturbed_note, disturbed_words, is_disturbed, passes_products, warnings};
