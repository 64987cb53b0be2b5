//! The panel itself.

use std::{collections::BTreeSet, ops::RangeInclusive};

use egui::{ScrollArea, Ui};
use headroom_engine::store::{RunId, RunSummary, series_names};

use super::{
    configs::ConfigSection,
    controls::{Which, controls_ui},
    difference::DifferenceMaker,
    figures::{chart, difference_chart, difference_title, figure, metadata},
    lines::{Bundle, Line, LineMaker, Made, RENEW_EVERY, bundles, style_bundles},
    more_seeds::MoreSeeds,
    notes::{instead_ui, notes_ui, other_text_ui, unequal_training_ui},
    parallel::ParallelView,
    samples::Samples,
    scatter::{Given, ScatterView},
    table::ComparedTable,
    view::{Shape, View},
    workspace::Workspace,
};
use crate::{
    common::{ExportDialog, Exportable, RunOperation, blank_ui, no_runs_ui, perform, working_ui},
    compare::{common_loss_unit, group_all_but, series_title},
    context::{Action, Panel, PanelContext, PanelId},
    export::ParallelFigure,
    panels::runs::FlatConfigs,
    state,
    widgets::{ChartLine, ChartState, HeightHandle, LegendEntry, SharedX, legend_ui},
};

/// Heights that charts can be given, in points.
const HEIGHTS: RangeInclusive<f32> = 110.0..=1600.0;

/// The least height of a chart that was given none, alone and with another: its axes take a part of it, and the panel scrolls.
const LEAST: f32 = 200.0;
const LEAST_OF_TWO: f32 = 150.0;

/// Rows of the table that stay in sight below the charts.
const ROWS: usize = 4;
/// Height of a row, of the title of a chart, and of what else stands between the charts and the first row: the legend, the
/// handle, the controls of the table and its header.
const ROW: f32 = 32.0;
const TITLE: f32 = 28.0;
const BETWEEN: f32 = 140.0;
/// Below this width of the panel the controls of the table take two rows.
const NARROW: f32 = 840.0;
/// The height of the chart of the difference, as a share of the chart above it.
const DIFFERENCE: f32 = 0.78;

/// The height of charts that together are `heights` of them high, until the user gives them another: so that a few rows of
/// the table are in sight below.
fn usual_height(ui: &Ui, heights: &[f32], rows: usize) -> f32 {
    let room = ui.clip_rect().height() - (ui.cursor().top() - ui.min_rect().top());
    let second_row = if ui.available_width() < NARROW { ROW } else { 0.0 };
    height_above(room - second_row, heights, rows, ui.ctx().content_rect().height())
}

fn height_above(room: f32, heights: &[f32], rows: usize, window: f32) -> f32 {
    let most = if heights.len() > 1 { 0.26 } else { 0.4 } * window;
    let others = BETWEEN + ROW * rows.min(ROWS) as f32 + TITLE * heights.len() as f32;
    let least = if heights.len() > 1 { LEAST_OF_TWO } else { LEAST };
    ((room - others) / heights.iter().sum::<f32>().max(1.0)).clamp(least, most.clamp(LEAST, 900.0))
}

/// Runs that "Show the newest runs" shows.
const NEWEST: usize = 6;

/// Overlays runs and compares them with a baseline.
#[derive(Default)]
pub struct ComparePanel {
    view: Option<View>,
    charts: [ChartState; 2],
    difference_chart: ChartState,
    shared: SharedX,
    configs: FlatConfigs,
    repeats: Repeats,
    maker: LineMaker,
    differences: DifferenceMaker,
    parallel: ParallelView,
    scatter: ScatterView,
    workspace: Workspace,
    samples: Samples,
    section: ConfigSection,
    table: ComparedTable,
    more_seeds: MoreSeeds,
    export: Option<ExportDialog>,
    wants_export: bool,
    /// The metric that no run had yet, and the one that is shown instead.
    instead: Option<(String, String)>,
}

impl Panel for ComparePanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut view = self.view.take().unwrap_or_else(|| cx.settings.of_panel("compare"));
        let runs = compared(cx);
        if !cx.state.runs_loaded {
            working_ui(ui, "Reading the runs…");
        } else if cx.state.runs.is_empty() {
            no_runs_ui(ui, cx, "Train a run and its variant; here their curves lie over each other.");
        } else if runs.is_empty() {
            nothing_shown_ui(ui, cx);
        } else {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| self.runs_ui(ui, &runs, &mut view, cx));
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("compare", &view);
        self.view = Some(view);
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        self.wants_export = !compared(cx).is_empty();
        self.wants_export
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
    }
}

/// The runs whose eye is open, and the baseline.
fn compared(cx: &PanelContext<'_>) -> Vec<RunSummary> {
    let selection = &cx.state.selection;
    let shown = |run: &&RunSummary| selection.is_visible(&run.id) || selection.baseline.as_ref() == Some(&run.id);
    cx.state.runs.iter().filter(shown).cloned().collect()
}

fn nothing_shown_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    blank_ui(ui, "No run is shown", "Click the eye of each run that you want to compare.", |ui| {
        if ui.button("Show the newest runs").clicked() {
            let newest = cx.state.runs.iter().filter(|run| !run.archived && run.steps_done > 0).take(NEWEST);
            let newest: Vec<RunId> = newest.map(|run| run.id.clone()).collect();
            cx.state.selection.visible.extend(newest);
        }
        if ui.button("Choose in the table of runs").clicked() {
            cx.act(Action::Open(PanelId::RUNS));
        }
    });
}

/// Whether some config among the shown runs was trained with several seeds; found anew where other runs are shown.
#[derive(Default)]
struct Repeats {
    runs: Vec<u64>,
    found: bool,
}

impl Repeats {
    fn any(&mut self, runs: &[RunSummary], configs: &FlatConfigs) -> bool {
        if !runs.iter().map(|run| run.number).eq(self.runs.iter().copied()) {
            self.runs = runs.iter().map(|run| run.number).collect();
            let flat: Vec<_> = runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
            self.found = group_all_but(&flat, "seed").iter().any(|group| group.members.len() > 1);
        }
        self.found
    }
}

/// A race or sweep that comes on the screen with several seeds is grouped, whatever was chosen for runs of before: one seed against
/// another says little. `tag` is that whose runs alone are shown, `repeats` whether some config of theirs has several seeds.
fn group_anew(view: &mut View, tag: Option<&str>, runs: &[RunSummary], repeats: bool) {
    state::group_anew((&mut view.group_repeats, &mut view.grouped_tag), tag, runs, repeats);
}

impl ComparePanel {
    fn runs_ui(&mut self, ui: &mut Ui, runs: &[RunSummary], view: &mut View, cx: &mut PanelContext<'_>) {
        let missing = self.configs.want(cx.state, runs.iter().map(|run| run.id.clone()));
        let series: BTreeSet<&String> = runs.iter().flat_map(|run| run.metrics.keys()).collect();
        let task = |run: &RunSummary| self.configs.get(&run.id).map(|config| config.get("task.kind").cloned());
        let tasks: Vec<_> = runs.iter().filter_map(task).collect();
        view.loss_unit = common_loss_unit(tasks.iter().map(|task| task.as_ref().and_then(serde_json::Value::as_str)));
        // What no run had yet is shown as soon as one has it, unless the user turned to something else meanwhile.
        if let Some((wished, instead)) = self.instead.take() {
            if *instead == view.metric && series.contains(&wished) {
                view.metric = wished;
            } else if *instead == view.metric {
                self.instead = Some((wished, instead));
            }
        }
        if !series.contains(&view.metric) && !series.is_empty() {
            let usual = [series_names::VALIDATION_LOSS, series_names::TRAIN_LOSS].map(str::to_owned);
            // What is there before the first step is no reason to turn to it: the losses follow.
            let is_early = |name: &str| name.starts_with("probe/") || name.starts_with("system/");
            let other = || series.iter().find(|name| !is_early(name)).copied();
            if let Some(fallback) = usual.iter().find(|name| series.contains(name)).or_else(other) {
                let wished = std::mem::replace(&mut view.metric, fallback.clone());
                self.instead = Some((wished, fallback.clone()));
            }
        }
        if view.second.as_ref().is_some_and(|second| !series.contains(second) || *second == view.metric) {
            view.second = None;
        }
        let is_zoomed = self.shared.range(view.x).is_some()
            || self.charts.iter().chain([&self.difference_chart]).any(ChartState::is_zoomed)
            || self.workspace.is_zoomed();
        if missing == 0 {
            let repeats = self.repeats.any(runs, &self.configs);
            group_anew(view, cx.state.selection.held_tag(), runs, repeats);
            if view.group_repeats {
                view.group = repeats.then(|| "seed".to_owned());
            }
        }
        let baseline = cx.state.selection.baseline.clone();
        let pinned = runs.iter().find(|run| baseline.as_ref() == Some(&run.id));
        let search = &mut self.workspace.search;
        let asked = controls_ui(ui, runs, &self.configs, &series, view, search, is_zoomed, pinned.is_some());
        if asked.reset {
            self.shared.set_range(view.x, None);
            self.charts.iter_mut().chain([&mut self.difference_chart]).for_each(ChartState::reset_all);
            self.workspace.reset();
        }
        if asked.race
            && let Some(run) = pinned.or(runs.first())
        {
            perform(RunOperation::Race, &run.id.clone(), cx);
        }
        let names: Vec<String> = runs.iter().map(|run| cx.state.run_name(&run.id)).collect();
        let mut bundles = bundles(runs, &names, view.group.as_deref(), &self.configs, baseline.as_ref());
        style_bundles(&mut bundles, view.group.is_some(), &mut cx.state.selection);
        // What the others are held against stands first.
        bundles.sort_by_key(|bundle| !baseline.as_ref().is_some_and(|run| bundle.has(run)));
        let metrics: Vec<String> = std::iter::once(view.metric.clone()).chain(view.second.clone()).collect();
        self.maker.begin();
        let made: Vec<Made> = metrics.iter().map(|metric| self.maker.make(&bundles, metric, view, cx.state)).collect();
        let is_shown = view.shape == Shape::Curves && view.difference;
        let differences = &mut self.differences;
        let difference =
            if is_shown { differences.make(&bundles, &view.metric, view, baseline.as_ref(), cx.state) } else { None };
        // The line of zeros alone says nothing, and would take the room of the table.
        let tells = |made: &Made| made.loading > 0 || made.lines.iter().filter_map(Line::span).count() > 1;
        let is_untold = bundles.len() > 1 && difference.as_ref().is_some_and(|made| !tells(made));
        let difference = difference.filter(tells);
        if made.iter().chain(&difference).any(|made| made.stale) {
            ui.ctx().request_repaint_after(RENEW_EVERY);
        }
        if let Some((wished, instead)) = &self.instead {
            instead_ui(ui, wished, instead);
        }
        if view.shape == Shape::Curves {
            notes_ui(ui, view, (&made, difference.as_ref(), is_untold), missing);
        }
        other_text_ui(ui, runs, cx);
        let charts = if view.shape == Shape::Workspace { view.charts.shown(&series) } else { metrics.clone() };
        self.samples.ui(ui, &charts, &bundles, cx.state);

        let hovered = cx.state.selection.hovered_before.clone();
        let highlight =
            hovered.and_then(|run| bundles.iter().find(|bundle| bundle.has(&run))).map(|bundle| bundle.number);
        let mut rows = bundles.clone();
        let wants_export = std::mem::take(&mut self.wants_export);
        let pinned_number = baseline.as_ref().and_then(|run| bundles.iter().find(|bundle| bundle.has(run)));
        let pinned_number = pinned_number.map(|bundle| bundle.number);
        let metric = view.metric.clone();
        let mut asked_export = asked.export;
        let (pointed, clicked) = match view.shape {
            Shape::Scatter => {
                // A row of controls stands above it.
                let usual = || (usual_height(ui, &[1.0], bundles.len()) - ROW).max(*HEIGHTS.start());
                let height = view.height.unwrap_or_else(usual);
                let configs = &self.configs;
                let given = Given { bundles: &bundles, metric: &metric, configs, baseline: pinned_number };
                let shown = self.scatter.ui(ui, &given, view, height, highlight);
                HeightHandle::new("charts", HEIGHTS).show(ui, &mut view.height, height);
                (shown.hovered, shown.clicked)
            }
            Shape::Workspace => {
                let shown = self.workspace.ui(
                    ui,
                    &bundles,
                    &series,
                    view,
                    highlight,
                    &mut self.shared,
                    &mut self.maker,
                    cx.state,
                );
                if shown.stale {
                    ui.ctx().request_repaint_after(RENEW_EVERY);
                }
                if let Some(metric) = shown.metric {
                    view.metric = metric;
                }
                asked_export = shown.export.map(Which::InWorkspace);
                (shown.hovered, shown.clicked)
            }
            Shape::Curves => self.curves_ui(ui, &metrics, &made, difference.as_ref(), view, highlight),
            Shape::Parallel => {
                if wants_export {
                    self.parallel.want_export();
                }
                let shown = self.parallel.ui(ui, &bundles, &metrics, &self.configs, view, highlight, pinned_number);
                rows.retain(|bundle| shown.passing.contains(&bundle.number));
                (shown.hovered, shown.clicked)
            }
        };
        let first = match view.shape {
            Shape::Curves => Some(Which::Metric(0)),
            Shape::Workspace => view.charts.shown(&series).into_iter().next().map(Which::InWorkspace),
            Shape::Scatter => Some(Which::Scatter),
            Shape::Parallel => None,
        };
        let wanted = if wants_export { first } else { asked_export };
        if wanted == Some(Which::Scatter) {
            let about = metadata(&bundles, &cx.state.records);
            let configs = &self.configs;
            let given = Given { bundles: &bundles, metric: &metric, configs, baseline: pinned_number };
            if let Some(figure) = self.scatter.figure(&given, view, about) {
                self.export = Some(ExportDialog::new("compare", Exportable::Figure(Box::new(figure)), cx));
            }
        } else if let Some(Which::InWorkspace(metric)) = wanted {
            let made = self.maker.make(&bundles, &metric, view, cx.state);
            let about = metadata(&bundles, &cx.state.records);
            let chart = (self.workspace.state_of(&metric), &self.shared);
            let figure = figure(&metric, &made, false, view, chart, about);
            self.export = Some(ExportDialog::new("compare", Exportable::Figure(Box::new(figure)), cx));
        } else if let Some(which) = wanted {
            self.export_chart(which, &metrics, &made, difference.as_ref(), view, &bundles, cx);
        }
        self.maker.end();
        if let Some(figure) = self.parallel.take_figure() {
            let drawing = ParallelFigure { metadata: metadata(&bundles, &cx.state.records), ..figure }.draw();
            self.export = Some(ExportDialog::new("compare", Exportable::Drawing(Box::new(drawing)), cx));
        }
        ui.add_space(8.0);
        unequal_training_ui(ui, runs);
        if pinned_number.is_some() {
            self.more_seeds.update(&bundles, &mut self.configs, cx);
        }
        let more_seeds = &mut self.more_seeds;
        let table_pointed = self.table.ui(ui, &rows, &metrics, &made, view, highlight, more_seeds, cx);
        let first_of = |number: Option<u64>| {
            let bundle = bundles.iter().find(|bundle| Some(bundle.number) == number)?;
            bundle.runs.first().map(|run| run.id.clone())
        };
        if let Some(run) = first_of(pointed.or(table_pointed)) {
            cx.state.selection.hovered = Some(run);
        }
        if let Some(run) = first_of(clicked) {
            cx.state.selection.focused = Some(run);
        }
        ui.add_space(8.0);
        let own: Vec<(&[RunSummary], &str)> =
            bundles.iter().map(|bundle| (bundle.runs.as_slice(), bundle.name.as_str())).collect();
        self.section.ui(ui, &own, view, cx);
    }

    /// The charts of the metrics, the difference after the first; returns the lines under the pointer and clicked.
    fn curves_ui(
        &mut self,
        ui: &mut Ui,
        metrics: &[String],
        made: &[Made],
        difference: Option<&Made>,
        view: &mut View,
        highlight: Option<u64>,
    ) -> (Option<u64>, Option<u64>) {
        let (mut pointed, mut clicked) = (None, None);
        let rows = made.first().map_or(0, |made| made.lines.len() + made.loading);
        let heights: Vec<f32> = metrics.iter().map(|_| 1.0).chain(difference.map(|_| DIFFERENCE)).collect();
        let height = view.height.unwrap_or_else(|| usual_height(ui, &heights, rows));
        let all = made.iter().flat_map(|made| &made.lines).filter_map(Line::span);
        let spans = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        for (index, ((metric, made), state)) in metrics.iter().zip(made).zip(&mut self.charts).enumerate() {
            state.turn_to(metric);
            let above: Vec<ChartLine<'_>> = made.lines.iter().map(Line::chart_line).collect();
            let title = series_title(metric);
            let salt = if index == 0 { "first" } else { "second" };
            let is_last = index > 0 || difference.is_none();
            let chart = chart(salt, &title, metric, &above, view, made.loading > 0).spanning(spans);
            let shown = chart.height(height).legend(is_last).highlight(highlight).show(ui, state, &mut self.shared);
            pointed = pointed.or(shown.hovered);
            clicked = clicked.or(shown.clicked);
            if let Some(difference) = difference.filter(|_| index == 0) {
                let lines: Vec<ChartLine<'_>> = difference.lines.iter().map(Line::chart_line).collect();
                let title = difference_title(metric);
                let chart = difference_chart(&title, metric, &lines, view, difference.loading > 0).spanning(spans);
                let is_whole = difference.lines.len() == made.lines.len();
                self.difference_chart.turn_to(metric);
                let shown = chart.height(DIFFERENCE * height).legend(is_whole).highlight(highlight).show(
                    ui,
                    &mut self.difference_chart,
                    &mut self.shared,
                );
                pointed = pointed.or(shown.hovered);
                clicked = clicked.or(shown.clicked);
                if !is_whole {
                    // Some lines have no difference: the legend is that of the chart above.
                    let entries: Vec<LegendEntry<'_>> = above
                        .iter()
                        .map(|line| LegendEntry { id: line.id, name: line.name, style: line.style() })
                        .collect();
                    let (hovered, on) = legend_ui(ui, &entries, highlight);
                    (pointed, clicked) = (pointed.or(hovered), clicked.or(on));
                }
            }
        }
        HeightHandle::new("charts", HEIGHTS).show(ui, &mut view.height, height);
        (pointed, clicked)
    }

    #[expect(clippy::too_many_arguments, reason = "called once; each is a part of the one frame that is drawn")]
    fn export_chart(
        &mut self,
        which: Which,
        metrics: &[String],
        made: &[Made],
        difference: Option<&Made>,
        view: &View,
        bundles: &[Bundle],
        cx: &mut PanelContext<'_>,
    ) {
        let (index, made, state) = match which {
            Which::Difference => (0, difference, Some(&mut self.difference_chart)),
            Which::Metric(index) => (index, made.get(index), self.charts.get_mut(index)),
            Which::Scatter | Which::InWorkspace(_) => return,
        };
        let (Some(metric), Some(made), Some(state)) = (metrics.get(index), made, state) else {
            return;
        };
        let about = metadata(bundles, &cx.state.records);
        let is_difference = which == Which::Difference;
        let figure = figure(metric, made, is_difference, view, (state, &self.shared), about);
        self.export = Some(ExportDialog::new("compare", Exportable::Figure(Box::new(figure)), cx));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn seeds_of_a_tag_are_put_together_once_and_what_is_chosen_then_stays() {
        let of = |tag: &str| [RunSummary { tags: vec![tag.to_owned()], ..examples::summary(1, "run") }];
        let (a, b) = (of("race:a"), of("race:b"));
        let mut view = View { group_repeats: false, ..View::default() };
        // Whether runs are put together that are shown as those of this tag, where none were before.
        let mut is_grouped = |tag: Option<&str>, runs: &[RunSummary], repeats: bool| {
            view.group_repeats = false;
            group_anew(&mut view, tag, runs, repeats);
            view.group_repeats
        };
        assert!(!is_grouped(None, &a, true), "runs that were shown one by one");
        assert!(!is_grouped(Some("race:a"), &a, false), "a seed each");
        assert!(is_grouped(Some("race:a"), &a, true));
        assert!(!is_grouped(Some("race:a"), &a, true), "the user chose otherwise for this race");
        assert!(!is_grouped(None, &a, true), "one of its runs was hidden");
        assert!(!is_grouped(Some("race:a"), &a, true), "and shown again");
        assert!(is_grouped(Some("race:b"), &b, true), "another race");
        assert!(!is_grouped(None, &a, true));
        assert!(is_grouped(Some("race:b"), &b, true), "it is shown again, after other runs");
    }

    #[test]
    fn a_few_rows_of_the_table_are_in_sight_below_the_charts() {
        for (room, window) in [(626.0, 800.0), (1000.0, 1200.0), (1260.0, 1440.0)] {
            for heights in [&[1.0][..], &[1.0, DIFFERENCE], &[1.0, 1.0]] {
                let height = height_above(room, heights, 9, window);
                let charts = heights.iter().map(|share| share * height + TITLE).sum::<f32>();
                assert!(charts + BETWEEN + ROWS as f32 * ROW <= room + 0.1, "{height} of {room} for {heights:?}");
                assert!(height >= 150.0, "{height} of {room} for {heights:?}");
            }
        }
        // A low window has charts that can be read; what few rows leave goes to them.
        assert_eq!(height_above(380.0, &[1.0, DIFFERENCE], 9, 600.0), 150.0);
        assert_eq!(height_above(380.0, &[1.0], 9, 600.0), 200.0);
        assert!(height_above(626.0, &[1.0, 1.0], 1, 800.0) > height_above(626.0, &[1.0, 1.0], 4, 800.0));
    }
}
