//! Attention families, models, what they learn and how they write.

use headroom_config::{config, text};
use headroom_ops as ops;

pub mod attention;
pub mod generate;
pub mod model;
pub mod objective;
