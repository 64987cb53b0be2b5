//! Charts of a run: their titles and their series.

use std::{collections::BTreeSet, sync::LazyLock};

use headroom_engine::{
    objective::{Direction, Metric},
    store::{RunSummary, series_names},
};

/// One chart: its title and the series that share it.
pub struct Plot {
    /// Stable name.
    pub id: &'static str,
    /// Above the chart.
    pub title: &'static str,
    pub(super) series: &'static [&'static str],
    /// Shown although no series of it has come: it will.
    pub(super) always: bool,
    /// Drawn as it is: a smoothed learning rate is no learning rate.
    pub(super) exact: bool,
}

/// The loss, over the whole width.
pub const LOSS: Plot = Plot {
    id: "loss",
    title: "Loss",
    series: &[series_names::TRAIN_LOSS, series_names::VALIDATION_LOSS],
    always: true,
    exact: false,
};

/// How alike the heads of layers are, from the analyses that the run makes while it trains.
pub const SIMILARITY: Plot = Plot {
    id: "similarity",
    title: "Similarity of layers",
    series: &[series_names::PROBE_ADJACENT_SIMILARITY, series_names::PROBE_FAR_SIMILARITY],
    always: false,
    exact: true,
};

/// In how small a space scores live, from the same analyses.
pub const ENERGY: Plot = Plot {
    id: "energy",
    title: "Energy in the largest 1 % of n² eigenvalues",
    series: &[series_names::PROBE_ENERGY_IN_1_PERCENT],
    always: false,
    exact: true,
};

/// The small charts below it: what evaluations measure beside the loss, then what every run logs.
pub static SMALL: LazyLock<Vec<Plot>> = LazyLock::new(|| {
    let mut fields = BTreeSet::new();
    let of_objective = Metric::of_evaluations().map(|metric| Plot {
        // Metrics of two tasks may be called alike.
        id: if fields.insert(metric.field()) { metric.field() } else { metric.series },
        title: metric.title,
        series: std::slice::from_ref(&metric.series),
        always: false,
        exact: false,
    });
    of_objective.chain(LOGGED).collect()
});

const LOGGED: [Plot; 6] = [
    Plot {
        id: "learning_rate",
        title: "Learning rate",
        series: &[series_names::TRAIN_LEARNING_RATE],
        always: true,
        exact: true,
    },
    Plot {
        id: "grad_norm",
        title: "Gradient norm",
        series: &[series_names::TRAIN_GRAD_NORM],
        always: true,
        exact: false,
    },
    Plot {
        id: "speed",
        title: "Training speed",
        series: &[series_names::TRAIN_TOKENS_PER_SEC],
        always: true,
        exact: false,
    },
    Plot { id: "cpu", title: "Processor use", series: &[series_names::SYSTEM_CPU_PERCENT], always: true, exact: false },
    Plot { id: "gpu", title: "GPU use", series: &[series_names::SYSTEM_GPU_PERCENT], always: false, exact: false },
    Plot {
        id: "memory",
        title: "Memory",
        series: &[series_names::SYSTEM_MEMORY_BYTES, series_names::SYSTEM_GPU_MEMORY_BYTES],
        always: true,
        exact: true,
    },
];

impl Plot {
    /// Whether this run has, or will have, something to show here.
    pub fn fits(&self, run: &RunSummary) -> bool {
        self.always || self.series.iter().any(|series| run.metrics.contains_key(*series))
    }

    /// Which of its values are the good ones, in words; empty where neither are.
    pub fn direction(&self) -> &'static str {
        let series = self.series.first().copied().unwrap_or_default();
        match Direction::of(series) {
            Direction::Lower => "Lower is better",
            Direction::Higher => "Higher is better",
            Direction::None => "",
        }
    }
}
