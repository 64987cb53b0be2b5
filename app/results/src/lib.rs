//! Figures and words for the results of runs, analyses and measurements.

use headroom_figures::{export, format, plot, theme};

pub mod compare;
#[cfg(any(test, feature = "testing"))]
pub mod examples;
pub mod findings;
pub mod measured;
