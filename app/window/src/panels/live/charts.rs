//! The charts of one run.

use std::collections::BTreeMap;

use egui::Ui;
use headroom_engine::store::{RunSummary, series_names};

use super::{
    plots::{LOSS, Plot},
    view::View,
};
use crate::{
    compare::{loss_unit, series_axis, series_title},
    export::Figure,
    plot::{Axis, CurveX, Scale, Series, XAxis},
    state::State,
    theme::{Dash, LineStyle},
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

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
