//! What runs, analyses and measurements come to, as figures and words.

use headroom_figures::{export, format, plot, theme};

pub mod compare;
#[cfg(any(test, feature = "testing"))]
pub mod examples;
pub mod findings;
pub mod measured;
