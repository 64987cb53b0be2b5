//! The charts of the panel, and the figures that leave it; the command line makes the same ones from stored curves.

use std::collections::BTreeMap;

use headroom_engine::store::{RunId, RunRecord, RunSummary, SeriesData};

use super::{
    axes::axis_of,
    difference::DifferenceMaker,
    lines::{Bundle, Line, LineMaker, Made, bundles, style_bundles},
    scatter::{Given, ScatterView, cost_keys},
    view::View,
};
use crate::{
    compare::{names_apart, series_title},
    export::Figure,
    panels::runs::FlatConfigs,
    plot::{Axis, Scale},
    state::State,
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// The chart of a metric.
pub(super) fn chart<'a>(
    salt: &'a str,
    title: &'a str,
    metric: &str,
    lines: &'a [ChartLine<'a>],
    view: &View,
    loading: bool,
) -> Chart<'a> {
    let axis = Axis { scale: Scale::log_if(view.log_y), ..axis_of(metric, view) };
    Chart::new(salt, title, lines)
        .x(view.x)
        .log_x(view.log_x)
        .y_axis(axis)
        .smoothing(view.smoothing)
        .ignore_outliers(view.ignore_outliers)
        .empty_text(if loading { "Loading…" } else { "None of the shown runs has points here" })
}

/// What the chart of the difference is called.
pub(super) fn difference_title(metric: &str) -> String {
    format!("Δ {}", series_title(metric))
}

/// The chart of the difference: values go both ways, so that it is never logarithmic.
pub(super) fn difference_chart<'a>(
    title: &'a str,
    metric: &str,
    lines: &'a [ChartLine<'a>],
    view: &View,
    loading: bool,
) -> Chart<'a> {
    let own = axis_of(metric, view);
    let axis = Axis { label: format!("Δ {}", own.label), ..own };
    let empty = if loading { "Loading…" } else { "The baseline has no points here" };
    // The interval of two seeds is many times what they differ by.
    chart("difference", title, metric, lines, view, loading).y_axis(axis).bands_within(2.0).empty_text(empty)
}

/// The figure of a metric's chart, or of the chart of its difference to the baseline.
pub(super) fn figure(
    metric: &str,
    made: &Made,
    is_difference: bool,
    view: &View,
    (state, shared): (&mut ChartState, &SharedX),
    metadata: BTreeMap<String, String>,
) -> Figure {
    let lines: Vec<ChartLine<'_>> = made.lines.iter().map(Line::chart_line).collect();
    let title = if is_difference { difference_title(metric) } else { series_title(metric) };
    let chart = if is_difference {
        difference_chart(&title, metric, &lines, view, false)
    } else {
        chart("export", &title, metric, &lines, view, false)
    };
    let mut figure = chart.figure(state, shared, metadata);
    if is_difference {
        figure.notes.push("Each run less the baseline; of the same seed where two seeds or more repeat.".to_owned());
    }
    if let Some(alignment) = made.alignment {
        figure.notes.push(alignment.describe(&view.x.label().to_lowercase()));
        let band = if is_difference { view.band_of_difference() } else { view.band };
        figure.notes.push(format!("Band: {}. {}", band.name().to_lowercase(), band.formula()));
    }
    figure
}

/// What exported files carry of the runs.
pub(super) fn metadata(bundles: &[Bundle], records: &BTreeMap<RunId, RunRecord>) -> BTreeMap<String, String> {
    let runs: Vec<&RunSummary> = bundles.iter().flat_map(|bundle| &bundle.runs).collect();
    let lines: Vec<String> = runs.iter().map(|run| format!("{} {} (seed {})", run.id, run.name, run.seed)).collect();
    let mut metadata = BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("runs".to_owned(), lines.join("\n")),
    ]);
    // Of a race or sweep all runs have its tag.
    if let Some((first, others)) = runs.split_first() {
        let shared = first.tags.iter().filter(|tag| others.iter().all(|run| run.tags.contains(*tag)));
        let shared: Vec<&str> = shared.map(String::as_str).collect();
        if !shared.is_empty() {
            metadata.insert("tags".to_owned(), shared.join(", "));
        }
    }
    for run in runs {
        if let Some(record) = records.get(&run.id) {
            metadata.insert(format!("config {}", run.id), record.config_toml.clone());
        }
    }
    metadata
}

/// The scatter of a metric of stored runs against the view's cost, as the panel draws it. Seeds that repeat are put together
/// unless the view groups otherwise.
///
/// # Errors
/// The keys of all costs that there are, where the view's is none of them.
pub fn stored_scatter(records: &[RunRecord], metric: &str, view: &View) -> Result<Figure, Vec<String>> {
    let runs: Vec<RunSummary> = records.iter().map(|record| record.summary.clone()).collect();
    let mut state = State::default();
    state.runs.clone_from(&runs);
    state.records = records.iter().map(|record| (record.summary.id.clone(), record.clone())).collect();
    let mut configs = FlatConfigs::default();
    configs.want(&mut state, runs.iter().map(|run| run.id.clone()));
    let view = View { group: view.group.clone().or_else(|| Some("seed".to_owned())), ..view.clone() };
    state.selection.baseline = runs.first().map(|run| run.id.clone());
    let baseline = state.selection.baseline.as_ref();
    let mut bundles = bundles(&runs, &names_apart(&runs), view.group.as_deref(), &configs, baseline);
    state.selection.styles.assign(runs.iter().skip(1).map(|run| &run.id));
    style_bundles(&mut bundles, true, &mut state.selection);
    let given = Given { bundles: &bundles, metric, configs: &configs, baseline: None };
    let known = cost_keys(&given, &view);
    if !known.contains(&view.cost) {
        return Err(known);
    }
    ScatterView::default().figure(&given, &view, metadata(&bundles, &state.records)).ok_or(known)
}

/// The figure of a metric over stored runs as the panel draws it, and that of the difference to the first run where the
/// view wants one; `curves` holds every run's points of the metric. How many runs have no curve there comes with them.
pub fn stored_figures(
    records: &[RunRecord],
    metric: &str,
    curves: Vec<(RunId, SeriesData)>,
    view: &View,
) -> (Vec<(String, Figure)>, usize) {
    let runs: Vec<RunSummary> = records.iter().map(|record| record.summary.clone()).collect();
    let mut state = State::default();
    state.runs.clone_from(&runs);
    state.records = records.iter().map(|record| (record.summary.id.clone(), record.clone())).collect();
    state.selection.baseline = runs.first().filter(|_| view.difference).map(|run| run.id.clone());
    for (run, data) in curves {
        state.series.take(run, metric.to_owned(), true, data);
    }
    let mut configs = FlatConfigs::default();
    configs.want(&mut state, runs.iter().map(|run| run.id.clone()));
    let baseline = state.selection.baseline.as_ref();
    let mut bundles = bundles(&runs, &names_apart(&runs), view.group.as_deref(), &configs, baseline);
    let pinned = usize::from(state.selection.baseline.is_some());
    state.selection.styles.assign(runs.iter().skip(pinned).map(|run| &run.id));
    style_bundles(&mut bundles, view.group.is_some(), &mut state.selection);
    let made = LineMaker::default().make(&bundles, metric, view, &mut state);
    let missing = made.without_x + made.without_metric + made.loading;
    let about = metadata(&bundles, &state.records);
    let finished = |made: &Made, is_difference: bool| {
        let (mut chart, shared) = (ChartState::default(), SharedX::default());
        figure(metric, made, is_difference, view, (&mut chart, &shared), about.clone())
    };
    let name = metric.replace('/', "-");
    let mut found = vec![(name.clone(), finished(&made, false))];
    let baseline = state.selection.baseline.clone();
    if let Some(baseline) = baseline.filter(|_| bundles.len() > 1) {
        let made = DifferenceMaker::default().make(&bundles, metric, view, Some(&baseline), &mut state);
        found.extend(made.map(|made| (format!("{name}-difference"), finished(&made, true))));
    }
    (found, missing)
}
