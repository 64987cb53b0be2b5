//! Drawings and fields of a window: charts, maps, tables, numbers.

use headroom_figures::{export, format, plot, theme};

pub mod keys;
pub mod widgets;
