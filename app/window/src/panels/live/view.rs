//! How the charts are drawn.

use serde::{Deserialize, Serialize};

use super::arrangement::Arrangement;
use crate::plot::{DEFAULT_SMOOTHING, XAxis};

/// How the charts are drawn; remembered between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    /// What x counts.
    pub x: XAxis,
    /// Logarithmic y.
    pub log_y: bool,
    /// Weight of the past, 0..=0.999.
    pub smoothing: f64,
    /// Fits y to the 5th to 95th percentile.
    pub ignore_outliers: bool,
    /// Height of the chart of the loss in points; none: a share of the panel.
    pub height: Option<f32>,
    /// The same of the small charts.
    pub small_height: Option<f32>,
    /// Order of the small charts.
    pub small: Arrangement,
}

impl Default for View {
    fn default() -> Self {
        Self {
            x: XAxis::Step,
            log_y: false,
            smoothing: DEFAULT_SMOOTHING,
            ignore_outliers: false,
            height: None,
            small_height: None,
            small: Arrangement::default(),
        }
    }
}
