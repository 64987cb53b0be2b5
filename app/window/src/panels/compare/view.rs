//! What the user chose to compare and how.

use std::collections::BTreeMap;

use headroom_engine::store::series_names;
use serde::{Deserialize, Serialize};

use super::charts::Charts;
use crate::{
    compare::Band,
    plot::{DEFAULT_SMOOTHING, XAxis},
};

/// How the compared runs are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A curve each.
    #[default]
    Curves,
    /// Several metrics at once: a small chart each.
    Workspace,
    /// A line each across axes of config and results.
    Parallel,
    /// A point each: a metric against a cost.
    Scatter,
}

impl Shape {
    /// Every shape with its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Curves, "Curves"),
        (Self::Workspace, "Workspace"),
        (Self::Scatter, "Scatter"),
        (Self::Parallel, "Parallel coordinates"),
    ];
}

/// The panel's choices; remembered between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    /// How runs are drawn.
    pub shape: Shape,
    /// The series on the chart.
    pub metric: String,
    /// The series on a second chart below.
    pub second: Option<String>,
    /// The charts of the workspace.
    pub charts: Charts,
    /// What the scatter holds the metric against: the key of a cost or of a number of the config.
    pub cost: String,
    /// Whether parallel coordinates have the colours that runs have on charts, in place of those of a result.
    pub colours_of_runs: bool,
    /// Axes of parallel coordinates that the user chose to see or to leave out, by their keys; of the others those are shown on
    /// which the runs differ.
    pub axes: BTreeMap<String, bool>,
    /// Height of the charts in points; none: a share of the panel.
    pub height: Option<f32>,
    /// Whether the difference to the baseline has a chart of its own.
    pub difference: bool,
    /// What x counts.
    pub x: XAxis,
    /// Logarithmic x.
    pub log_x: bool,
    /// Logarithmic y.
    pub log_y: bool,
    /// Weight of the past, 0..=0.999.
    pub smoothing: f64,
    /// Fits y to the 5th to 95th percentile.
    pub ignore_outliers: bool,
    /// The config key to group by. "seed" puts runs together that differ in nothing but the seed; any other key puts
    /// runs together that share its value.
    pub group: Option<String>,
    /// Whether `group` is "seed" as soon as a config was trained with several seeds, and nothing otherwise.
    pub group_repeats: bool,
    /// The tag whose runs alone are shown and whose seeds were put together: what is chosen after that stays.
    pub grouped_tag: Option<String>,
    /// The band around a group's mean.
    pub band: Band,
    /// The x at which the table compares; none: the furthest that all reach.
    pub at: Option<f64>,
    /// Whether the config section shows only differences.
    pub only_differences: bool,
    /// What the losses of the shown runs are counted in.
    #[serde(skip)]
    pub loss_unit: Option<&'static str>,
    /// What is searched for in the configs.
    #[serde(skip)]
    pub search: String,
}

impl View {
    /// The band of the difference to the baseline: the interval by which the table judges, since another one would seem to say
    /// something else.
    pub fn band_of_difference(&self) -> Band {
        if self.band == Band::None { Band::None } else { Band::Confidence95 }
    }
}

impl Default for View {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            metric: series_names::VALIDATION_LOSS.to_owned(),
            second: None,
            charts: Charts::default(),
            cost: USUAL_COST.to_owned(),
            colours_of_runs: false,
            axes: BTreeMap::new(),
            height: None,
            difference: true,
            x: XAxis::Step,
            log_x: false,
            log_y: false,
            smoothing: DEFAULT_SMOOTHING,
            ignore_outliers: false,
            group: None,
            group_repeats: true,
            grouped_tag: None,
            band: Band::default(),
            at: None,
            only_differences: true,
            loss_unit: None,
            search: String::new(),
        }
    }
}

/// The cost that is shown unless another was chosen.
pub(super) const USUAL_COST: &str = "parameters";
