//! Choice of the charts that are shown.

use std::collections::BTreeSet;

use headroom_engine::{objective::Metric, store::series_names};
use serde::{Deserialize, Serialize};

/// So many charts are shown until the user chooses.
const USUAL: usize = 12;

/// Which metrics have a chart, and how large.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Charts {
    /// The metrics, in the order of their charts; none: the usual ones.
    pub metrics: Option<Vec<String>>,
    /// How many stand beside each other; none: as many as can be read.
    pub across: Option<usize>,
    /// Height of a chart in points; none: a share of the panel.
    pub height: Option<f32>,
}

impl Charts {
    /// The metrics that are shown of runs that have these. Chosen ones stay although no run has them yet.
    pub fn shown(&self, series: &BTreeSet<&String>) -> Vec<String> {
        self.metrics.clone().unwrap_or_else(|| {
            let known = |name: &&str| series.iter().any(|own| own.as_str() == *name);
            usual().filter(known).take(USUAL).map(str::to_owned).collect()
        })
    }
}

/// What says most, first.
fn usual() -> impl Iterator<Item = &'static str> {
    let first = [series_names::VALIDATION_LOSS, series_names::TRAIN_LOSS];
    let last = [
        series_names::PROBE_ADJACENT_SIMILARITY,
        series_names::PROBE_ENERGY_IN_1_PERCENT,
        series_names::PROBE_FAR_SIMILARITY,
        series_names::TRAIN_GRAD_NORM,
        series_names::TRAIN_LEARNING_RATE,
        series_names::TRAIN_TOKENS_PER_SEC,
        series_names::SYSTEM_MEMORY_BYTES,
        series_names::SYSTEM_CPU_PERCENT,
        series_names::SYSTEM_GPU_PERCENT,
        series_names::SYSTEM_GPU_MEMORY_BYTES,
    ];
    first.into_iter().chain(Metric::of_evaluations().map(|metric| metric.series)).chain(last)
}
