//! Checkpoints, model directories of others and hubs.

use headroom_config::{config, text};
use headroom_data as data;
use headroom_model::{attention, generate, model, objective};
use headroom_ops as ops;

pub mod checkpoint;
pub mod hub;
