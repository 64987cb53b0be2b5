//! Conversions, advice, training and its measurement.

use headroom_analysis as analysis;
use headroom_config::{config, text};
use headroom_data as data;
use headroom_model::{attention, generate, model, objective};
use headroom_ops as ops;

pub mod advise;
pub mod convert;
pub mod speed;
pub mod train;
