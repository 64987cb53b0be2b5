//! The charts of one run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use egui::Ui;
use headroom_engine::{
    objective::{Direction, Metric},
    store::{RunSummary, series_names},
};

use super::panel::View;
use crate::{
    compare::{loss_unit, series_axis, series_title},
    export::Figure,
    plot::{Axis, CurveX, Scale, Series, XAxis},
    state::State,
    theme::{Dash, LineStyle},
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// One chart: its title and the series that share it.
pub struct Plot {
    /// Stable name.
    pub id: &'static str,
    /// Above the chart.
    pub title: &'static str,
    series: &'static [&'static str],
    /// Shown although no series of it has come: it will.
    always: bool,
    /// Drawn as it is: a smoothed learning rate is no learning rate.
    exact: bool,
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

/// One curve of a chart.
struct Curve {
    name: String,
    series: Series,
    dash: Dash,
    /// In points.
    width: f32,
    marks: Vec<(f64, String)>,
}

/// A chart's curves of a run, loaded as far as they are.
pub struct Curves {
    lines: Vec<Curve>,
    number: u64,
    style: LineStyle,
    loading: bool,
    /// What is said where there are no points.
    nothing: &'static str,
    /// What losses are counted in.
    unit: Option<&'static str>,
}

impl Curves {
    /// Takes what is loaded and asks for the rest.
    pub fn of(plot: &Plot, run: &RunSummary, x: CurveX, state: &mut State) -> Self {
        let style = state.selection.style_of(&run.id);
        let style = LineStyle { width: LineStyle::WIDTH, ..style };
        let is_loss = plot.series.contains(&series_names::TRAIN_LOSS);
        let record = state.records.get(&run.id).filter(|_| is_loss);
        let unit = record.map(|record| loss_unit(&record.config));
        let nothing = nothing_words(run, plot.id == LOSS.id);
        let mut curves = Self { lines: Vec::new(), number: run.number, style, loading: false, nothing, unit };
        for (index, series) in plot.series.iter().enumerate() {
            let Some(points) = state.series.curve(&run.id, series, x).cloned() else {
                curves.loading |= run.metrics.contains_key(*series);
                continue;
            };
            if points.is_empty() && index > 0 {
                continue;
            }
            // One run alone needs no dashes to be told apart: they tell its lines apart.
            let dash = if index == 0 { Dash::Solid } else { Dash::Dashed };
            // What was held out, of few points, lies over the training loss of many: it is the wider.
            let width = LineStyle::WIDTH + if is_loss && index > 0 { 0.5 } else { 0.0 };
            let marks = if index == 0 { state.series.resumed_marks(&run.id, series, x) } else { Vec::new() };
            curves.lines.push(Curve { name: series_title(series), series: points, dash, width, marks });
        }
        curves
    }

    fn chart_lines(&self) -> Vec<ChartLine<'_>> {
        self.lines
            .iter()
            .map(|curve| ChartLine {
                dash: curve.dash,
                width: curve.width,
                marks: &curve.marks,
                ..ChartLine::styled(self.number, &curve.name, &curve.series, self.style)
            })
            .collect()
    }

    /// Draws the chart, so high, with its title above or without it.
    pub fn show(
        &self,
        ui: &mut Ui,
        plot: &Plot,
        view: &View,
        (height, is_headed): (f32, bool),
        state: &mut ChartState,
        shared: &mut SharedX,
    ) {
        let lines = self.chart_lines();
        let legend = lines.len() > 1;
        let empty = if self.loading { "Loading…" } else { self.nothing };
        let chart = chart(plot, &lines, view, self.unit).empty_text(empty).height(height).legend(legend);
        let chart = if is_headed { chart } else { chart.without_title() };
        let _ = chart.show(ui, state, shared);
    }

    /// The figure of what the chart shows.
    pub fn figure(
        &self,
        plot: &Plot,
        run: &RunSummary,
        view: &View,
        state: &mut ChartState,
        shared: &SharedX,
        metadata: BTreeMap<String, String>,
    ) -> Figure {
        let lines = self.chart_lines();
        let mut figure = chart(plot, &lines, view, self.unit).figure(state, shared, metadata);
        figure.title = format!("{}: {}", run.name, plot.title);
        figure
    }
}

/// Why a run has no points, and on the large chart what to do about it.
fn nothing_words(run: &RunSummary, is_large: bool) -> &'static str {
    if run.state.is_active() {
        "No points yet"
    } else if run.steps_done > 0 {
        "It ended before this was recorded"
    } else if is_large && run.is_worth_resuming() {
        "It ended before its first step.\n\"Resume training\" begins it."
    } else if is_large {
        "It ended before its first step.\n\"Repeat this run\" in the inspector trains it from the beginning."
    } else {
        "It ended before its first step"
    }
}

fn chart<'a>(plot: &Plot, lines: &'a [ChartLine<'a>], view: &View, unit: Option<&'static str>) -> Chart<'a> {
    let axis: Axis = plot.series.first().map(|series| series_axis(series)).unwrap_or_default();
    let axis = Axis { label: plot.title.to_owned(), scale: Scale::log_if(view.log_y), ..axis };
    let axis = if let Some(unit) = unit { axis.unit(unit) } else { axis };
    Chart::new(plot.id, plot.title, lines)
        .about(plot.direction())
        .x(view.x)
        .y_axis(axis)
        .smoothing(if plot.exact { 0.0 } else { view.smoothing })
        .ignore_outliers(view.ignore_outliers)
}

/// The kinds of x that the panel offers.
pub const X_AXES: [XAxis; 6] =
    [XAxis::Step, XAxis::Tokens, XAxis::RelativeTime, XAxis::WallTime, XAxis::Epoch, XAxis::Flops];
