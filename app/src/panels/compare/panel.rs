//! The panel itself.

use std::collections::{BTreeMap, BTreeSet};

use egui::{Button, ComboBox, Key, Label, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::store::{RunId, RunSummary, series_names};

use super::{
    configs::{ConfigSection, copy_menu_ui},
    lines::{Bundle, LineMaker, Made, RENEW_EVERY, bundles},
    rows::{Measure, Row, rows, text_table},
    view::View,
};
use crate::{
    compare::{Band, Verdict, common_keys, series_axis, series_title, why_missing},
    export::Figure,
    inspector::{ExportBox, Taking, blank_ui, no_runs_ui, paint_pin, working_ui},
    panels::{Action, Panel, PanelContext, PanelId, runs::FlatConfigs},
    theme,
    widgets::{
        Axis, Chart, ChartLine, ChartOptions, ChartState, Column, Scale, SharedX, SortKey, Table, TableState, XAxis,
        format, name_ui, sort_rows, swatch_ui, without_room,
    },
};

/// Runs that "Show the newest runs" shows.
const NEWEST: usize = 6;

/// Room for the panel's scroll bar beside the table, in points.
const BAR: f32 = 8.0;

/// Overlays runs and compares them with a baseline.
#[derive(Default)]
pub struct ComparePanel {
    view: Option<View>,
    charts: [ChartState; 2],
    shared: SharedX,
    configs: FlatConfigs,
    maker: LineMaker,
    section: ConfigSection,
    table: TableState,
    /// The user chose columns; until then those are shown that there is room for.
    chose_columns: bool,
    /// The text of the "values at" field while it is typed.
    at: Option<String>,
    export: Option<ExportBox>,
    wants_export: bool,
}

impl Panel for ComparePanel {
    fn title(&self) -> &'static str {
        "Compare"
    }

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
    blank_ui(ui, "No run is shown", "Open the eye of the runs that you want to compare.", |ui| {
        if ui.button("Show the newest runs").clicked() {
            let newest = cx.state.runs.iter().filter(|run| !run.archived && run.steps_done > 0).take(NEWEST);
            let newest: Vec<RunId> = newest.map(|run| run.id.clone()).collect();
            cx.state.selection.visible.extend(newest);
        }
        if ui.button("Choose in the table of runs").clicked() {
            cx.act(Action::Open(PanelId::Runs));
        }
    });
}

impl ComparePanel {
    fn runs_ui(&mut self, ui: &mut Ui, runs: &[RunSummary], view: &mut View, cx: &mut PanelContext<'_>) {
        let missing = self.configs.want(cx.state, runs.iter().map(|run| run.id.clone()));
        let series: BTreeSet<&String> = runs.iter().flat_map(|run| run.metrics.keys()).collect();
        if !series.contains(&view.metric) && !series.is_empty() {
            let usual = [series_names::VALIDATION_LOSS, series_names::TRAIN_LOSS].map(str::to_owned);
            let fallback = usual.iter().find(|name| series.contains(name)).or_else(|| series.first().copied());
            view.metric = fallback.cloned().unwrap_or_default();
        }
        if view.second.as_ref().is_some_and(|second| !series.contains(second) || *second == view.metric) {
            view.second = None;
        }
        let export = self.controls_ui(ui, runs, &series, view);
        let names: Vec<String> = runs.iter().map(|run| cx.state.run_name(&run.id)).collect();
        let bundles = bundles(runs, &names, view.group.as_deref(), &self.configs);
        let metrics: Vec<String> = std::iter::once(view.metric.clone()).chain(view.second.clone()).collect();
        self.maker.begin();
        let made: Vec<Made> = metrics.iter().map(|metric| self.maker.make(&bundles, metric, view, cx.state)).collect();
        self.maker.end();
        if made.iter().any(|made| made.stale) {
            ui.ctx().request_repaint_after(RENEW_EVERY);
        }
        notes_ui(ui, view, &made, missing);

        let hovered = cx.state.selection.hovered_before.clone();
        let highlight =
            hovered.and_then(|run| bundles.iter().find(|bundle| bundle.has(&run))).map(|bundle| bundle.number);
        let mut pointed = None;
        let mut clicked = None;
        let height = if metrics.len() > 1 { 230.0 } else { 320.0 };
        for (index, ((metric, made), state)) in metrics.iter().zip(&made).zip(&mut self.charts).enumerate() {
            let lines: Vec<ChartLine<'_>> = made.lines.iter().map(super::lines::Line::chart_line).collect();
            let title = series_title(metric);
            let salt = if index == 0 { "first" } else { "second" };
            let chart = chart(salt, &title, metric, &lines, view, made.loading > 0);
            let chart = chart.height(height).legend(true).highlight(highlight);
            let shown = chart.show(ui, state, &mut self.shared);
            pointed = pointed.or(shown.hovered);
            clicked = clicked.or(shown.clicked);
        }
        let wanted = if std::mem::take(&mut self.wants_export) { Some(0) } else { export };
        if let Some(index) = wanted {
            self.export_chart(index, &metrics, &made, view, &bundles, cx);
        }
        ui.add_space(8.0);
        let table_pointed = self.table_ui(ui, &bundles, &metrics, &made, view, highlight, cx);
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
        self.section.ui(ui, runs, view, cx);
    }

    /// Draws the choices; the index of a chart if it is to be exported.
    fn controls_ui(
        &mut self,
        ui: &mut Ui,
        runs: &[RunSummary],
        series: &BTreeSet<&String>,
        view: &mut View,
    ) -> Option<usize> {
        let mut export = None;
        ui.horizontal_wrapped(|ui| {
            ui.label("Metric");
            let combo = ComboBox::from_id_salt("metric").selected_text(series_title(&view.metric)).show_ui(ui, |ui| {
                for name in series {
                    ui.selectable_value(&mut view.metric, (*name).clone(), series_title(name)).on_hover_text(*name);
                }
            });
            combo.response.accessible_name("Metric");
            ui.label("Second metric");
            let second = view.second.as_deref().map_or_else(|| "None".to_owned(), series_title);
            let combo = ComboBox::from_id_salt("second").selected_text(second).show_ui(ui, |ui| {
                ui.selectable_value(&mut view.second, None, "None");
                for name in series.iter().filter(|name| ***name != view.metric) {
                    ui.selectable_value(&mut view.second, Some((*name).clone()), series_title(name))
                        .on_hover_text(*name);
                }
            });
            combo.response.accessible_name("Second metric");
            self.group_ui(ui, runs, view);
        });
        let is_zoomed = self.shared.range(view.x).is_some() || self.charts.iter().any(ChartState::is_zoomed);
        ui.horizontal_wrapped(|ui| {
            let options = ChartOptions {
                x: &mut view.x,
                axes: &XAxis::ALL,
                log_x: Some(&mut view.log_x),
                log_y: &mut view.log_y,
                smoothing: &mut view.smoothing,
                ignore_outliers: &mut view.ignore_outliers,
                is_zoomed,
            };
            if options.ui(ui) {
                self.shared.set_range(view.x, None);
                self.charts.iter_mut().for_each(ChartState::reset);
            }
            match &view.second {
                None => {
                    if ui.button("Export chart…").on_hover_text("As PNG, SVG or CSV (Ctrl+E)").clicked() {
                        export = Some(0);
                    }
                }
                Some(second) => {
                    ui.menu_button("Export chart", |ui| {
                        for (index, metric) in [&view.metric, second].into_iter().enumerate() {
                            if ui.button(format!("Export {}…", series_title(metric))).clicked() {
                                export = Some(index);
                                ui.close();
                            }
                        }
                    });
                }
            }
        });
        export
    }

    fn group_ui(&mut self, ui: &mut Ui, runs: &[RunSummary], view: &mut View) {
        ui.label("Group by");
        let text = |key: &str| if key == "seed" { "seed: same config otherwise".to_owned() } else { key.to_owned() };
        let selected = view.group.as_deref().map_or_else(|| "Nothing".to_owned(), text);
        let combo = ComboBox::from_id_salt("group").selected_text(selected).width(150.0).show_ui(ui, |ui| {
            ui.selectable_value(&mut view.group, None, "Nothing");
            let flat: Vec<_> = runs.iter().filter_map(|run| self.configs.get(&run.id)).map(AsRef::as_ref).collect();
            for key in common_keys(&flat) {
                let label = text(&key);
                ui.selectable_value(&mut view.group, Some(key), label);
            }
        });
        combo.response.accessible_name("Group by");
        if view.group.is_some() {
            let combo = ComboBox::from_id_salt("band").selected_text(view.band.name()).width(150.0).show_ui(ui, |ui| {
                for band in Band::ALL {
                    ui.selectable_value(&mut view.band, band, band.name()).on_hover_text(band.formula());
                }
            });
            combo.response.accessible_name("Band").on_hover_text(view.band.formula());
        }
    }

    fn export_chart(
        &mut self,
        index: usize,
        metrics: &[String],
        made: &[Made],
        view: &View,
        bundles: &[Bundle],
        cx: &mut PanelContext<'_>,
    ) {
        let (Some(metric), Some(made), Some(state)) = (metrics.get(index), made.get(index), self.charts.get_mut(index))
        else {
            return;
        };
        let lines: Vec<ChartLine<'_>> = made.lines.iter().map(super::lines::Line::chart_line).collect();
        let title = series_title(metric);
        let mut figure: Figure =
            chart("export", &title, metric, &lines, view, false).figure(state, &self.shared, metadata(bundles, cx));
        if let Some(alignment) = made.alignment {
            figure.notes.push(alignment.describe(&view.x.label().to_lowercase()));
            figure.notes.push(format!("Band: {}. {}", view.band.name().to_lowercase(), view.band.formula()));
        }
        self.export = Some(ExportBox::new("compare", Taking::Figure(Box::new(figure)), cx));
    }

    /// Draws the table; returns the row under the pointer.
    #[expect(clippy::too_many_arguments, reason = "private; each is a part of the one frame that is drawn")]
    fn table_ui(
        &mut self,
        ui: &mut Ui,
        bundles: &[Bundle],
        metrics: &[String],
        made: &[Made],
        view: &mut View,
        highlight: Option<u64>,
        cx: &mut PanelContext<'_>,
    ) -> Option<u64> {
        let common = made.first().and_then(furthest_common);
        let at = view.at.or(common);
        let series: Vec<&str> = metrics.iter().map(String::as_str).collect();
        let measures = Measure::all(&series);
        let words = at_words(view.x, at);
        let baseline = cx.state.selection.baseline.clone();
        let mut table = rows(bundles, &measures, made, at, view.band, baseline.as_ref());
        let weak = theme::palette(ui.visuals()).weak;
        let titles: Vec<(String, String)> =
            measures.iter().map(|measure| (measure.title(&words), measure.short(&words))).collect();
        let is_compared = table.iter().any(|row| row.is_baseline);
        let columns = columns(&measures, &titles, view.group.is_some(), is_compared);
        if !self.chose_columns {
            let gap = ui.spacing().item_spacing.x;
            let without = without_room(&columns, ui.available_width() - BAR, gap);
            self.table.hidden = without.into_iter().map(str::to_owned).collect();
        }
        ui.horizontal_wrapped(|ui| {
            self.at_ui(ui, view, common);
            let hidden = self.table.hidden.clone();
            self.table.columns_menu_ui(ui, &columns);
            self.chose_columns |= hidden != self.table.hidden;
            copy_menu_ui(ui, "Copy table", "The table", || text_table(&table, &measures, &words), cx);
            let text = match &baseline {
                Some(run) if table.iter().any(|row| row.is_baseline) => {
                    format!("Δ: against the baseline \"{}\"", cx.state.run_name(run))
                }
                _ => "Pin a baseline to see deltas (p)".to_owned(),
            };
            ui.label(RichText::new(text).color(weak));
        });
        let titles: Vec<String> = titles.iter().map(|(title, _)| title.clone()).collect();
        self.sort(&mut table, &titles);
        let by_number: BTreeMap<u64, &Row> = table.iter().map(|row| (row.number, row)).collect();
        let order: Vec<u64> = table.iter().map(|row| row.number).collect();
        let focused = cx.state.selection.focused.as_ref();
        let focused =
            bundles.iter().find(|bundle| focused.is_some_and(|run| bundle.has(run))).map(|bundle| bundle.number);
        self.table.selected = focused.into_iter().collect();
        let before = self.table.cursor;
        let mut pin = None;
        let shown = |ui: &mut Ui| {
            Table::new("compared", "Compared runs", &columns, &order).highlight(highlight).max_height(420.0).show(
                ui,
                &mut self.table,
                |number| by_number.get(&number).map(|row| row.name.clone()).unwrap_or_default(),
                |ui, number, column| {
                    if let Some(row) = by_number.get(&number) {
                        if column.id == "pin" {
                            if pin_cell_ui(ui, row) {
                                pin = Some(number);
                            }
                        } else {
                            cell_ui(ui, row, column.id, &titles);
                        }
                    }
                },
            )
        };
        let room = ui.available_width() - BAR;
        let response = ScrollArea::horizontal().id_salt("compared").max_width(room).show(ui, shown).inner;
        let id_of = |number: u64| {
            let bundle = bundles.iter().find(|bundle| bundle.number == number)?;
            bundle.runs.first().map(|run| run.id.clone())
        };
        let moved = (self.table.cursor != before).then_some(self.table.cursor).flatten();
        if let Some(run) = response.clicked.or(moved).and_then(id_of) {
            cx.state.selection.focused = Some(run);
        }
        if let Some(run) = response.activated.and_then(id_of) {
            cx.act(Action::Inspect(run));
        }
        let typing = ui.ctx().text_edit_focused();
        if !typing && ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, Key::P)) {
            let under = response.hovered.and_then(id_of).or_else(|| cx.state.selection.focused.clone());
            if let Some(run) = under {
                cx.state.selection.toggle_baseline(&run);
            }
        }
        if let Some(run) = pin.and_then(id_of) {
            cx.state.selection.toggle_baseline(&run);
        }
        response.hovered
    }

    /// The x at which the table compares; an empty field means the furthest that all reach.
    fn at_ui(&mut self, ui: &mut Ui, view: &mut View, common: Option<f64>) {
        let quantity = view.x.quantity();
        ui.label(format!("Values at {}", view.x.label().to_lowercase()));
        let mut text = self.at.clone().unwrap_or_else(|| view.at.map(|at| at.to_string()).unwrap_or_default());
        let hint = common.map_or_else(String::new, |common| quantity.value(common));
        let typed = ui.add(TextEdit::singleline(&mut text).desired_width(110.0).hint_text(hint));
        let typed = typed.accessible_name("Values at").on_hover_text(
            "The last value at or before this x, unsmoothed. Empty: the furthest x that all runs reach.",
        );
        if typed.changed() {
            use crate::compare::filter::Value;
            view.at = Value::parse_number(text.trim());
            self.at = Some(text);
        } else if !typed.has_focus() {
            self.at = None;
        }
    }

    fn sort(&self, table: &mut [Row], titles: &[String]) {
        let Some(sorting) = &self.table.sorting else { return };
        let index = titles.iter().position(|title| *title == sorting.column);
        sort_rows(table, sorting.descending, |row| match (sorting.column.as_str(), index) {
            ("run", _) => SortKey::Text(row.name.clone()),
            ("n", _) => SortKey::Number(row.n as f64),
            (_, Some(index)) => {
                row.entries.get(index).and_then(|entry| entry.value).map_or(SortKey::Missing, SortKey::Number)
            }
            _ => SortKey::Missing,
        });
    }
}

/// The columns of the table, each with its title and its header.
fn columns<'a>(
    measures: &[Measure],
    titles: &'a [(String, String)],
    is_grouped: bool,
    is_compared: bool,
) -> Vec<Column<'a>> {
    let mut columns = vec![
        Column::text("pin", "", 36.0).help("Pins the baseline (p)").always().unsorted(),
        Column::text("run", "Run", 150.0).always().grows(),
    ];
    if is_grouped {
        columns.push(Column::number("n", "n", 36.0).help("Runs in the group"));
    }
    for (measure, (title, short)) in measures.iter().zip(titles) {
        let (width, rank) = measure.room(is_grouped, is_compared);
        columns.push(Column::number(title, title, width).short(short).rank(rank));
    }
    columns
}

fn chart<'a>(
    salt: &'a str,
    title: &'a str,
    metric: &str,
    lines: &'a [ChartLine<'a>],
    view: &View,
    loading: bool,
) -> Chart<'a> {
    let axis = Axis { scale: Scale::log_if(view.log_y), ..series_axis(metric) };
    Chart::new(salt, title, lines)
        .x(view.x)
        .log_x(view.log_x)
        .y_axis(axis)
        .smoothing(view.smoothing)
        .ignore_outliers(view.ignore_outliers)
        .empty_text(if loading { "Loading…" } else { "None of the shown runs has points here" })
}

/// What exported files carry of the runs.
fn metadata(bundles: &[Bundle], cx: &PanelContext<'_>) -> BTreeMap<String, String> {
    let runs: Vec<&RunSummary> = bundles.iter().flat_map(|bundle| &bundle.runs).collect();
    let lines: Vec<String> = runs.iter().map(|run| format!("{} {} (seed {})", run.id, run.name, run.seed)).collect();
    let mut metadata = BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("runs".to_owned(), lines.join("\n")),
    ]);
    for run in runs {
        if let Some(record) = cx.state.records.get(&run.id) {
            metadata.insert(format!("config {}", run.id), record.config_toml.clone());
        }
    }
    metadata
}

/// What is loaded, what is left out, how groups were aligned.
fn notes_ui(ui: &mut Ui, view: &View, made: &[Made], missing_configs: usize) {
    let palette = theme::palette(ui.visuals());
    let loading: usize = made.iter().map(|made| made.loading).sum();
    let first = made.first();
    let silent = |made: &Made| made.alignment.is_none() && made.without_x + made.without_metric == 0;
    if loading == 0 && (view.group.is_none() || missing_configs == 0) && first.is_none_or(silent) {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        if loading > 0 {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label(format!("Loading {} curves…", format::count(loading as u64)));
        }
        if view.group.is_some() && missing_configs > 0 {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label(format!("Grouped once {} more configs are read…", format::count(missing_configs as u64)));
        }
        if let Some(alignment) = first.and_then(|made| made.alignment) {
            let text = alignment.describe(&view.x.label().to_lowercase());
            ui.label(RichText::new(text).color(palette.weak));
        }
        if let Some(without) = first.map(|made| made.without_x).filter(|&n| n > 0) {
            let runs = if without == 1 {
                "1 run is".to_owned()
            } else {
                format!("{} runs are", format::count(without as u64))
            };
            let text = format!("{runs} left out. {}", why_missing(view.x));
            ui.label(RichText::new(text).color(palette.warning));
        }
        if let Some(without) = first.map(|made| made.without_metric).filter(|&n| n > 0) {
            let runs = if without == 1 {
                "1 run has".to_owned()
            } else {
                format!("{} runs have", format::count(without as u64))
            };
            let text = format!("{runs} no points of this metric.");
            ui.label(RichText::new(text).color(palette.weak));
        }
    });
}

/// The largest x that every line reaches.
fn furthest_common(made: &Made) -> Option<f64> {
    made.lines.iter().filter_map(|line| line.series.x().last().copied()).min_by(f64::total_cmp)
}

fn at_words(x: XAxis, at: Option<f64>) -> String {
    match at {
        Some(at) if x == XAxis::RelativeTime => format!("after {}", x.quantity().value(at)),
        Some(at) => format!("at {} {}", x.label().to_lowercase(), x.quantity().value(at)),
        None => format!("at {}", x.label().to_lowercase()),
    }
}

/// The button that pins the row's run; true when it was clicked.
fn pin_cell_ui(ui: &mut Ui, row: &Row) -> bool {
    let palette = theme::palette(ui.visuals());
    let button = Button::selectable(false, "").frame_when_inactive(false).min_size(egui::vec2(22.0, 20.0));
    let button = ui.add(button).on_hover_text("Every other run is compared with the baseline (p)");
    let name =
        if row.is_baseline { "Unpin the baseline".to_owned() } else { format!("Pin {} as the baseline", row.name) };
    button.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, row.is_baseline, &name));
    let colour = if row.is_baseline { palette.accent } else { palette.weak.gamma_multiply(0.4) };
    paint_pin(ui.painter(), button.rect, colour);
    button.clicked()
}

fn cell_ui(ui: &mut Ui, row: &Row, column: &str, titles: &[String]) {
    let palette = theme::palette(ui.visuals());
    match column {
        "run" => {
            let (colour, dash) = theme::run_style(row.number);
            swatch_ui(ui, colour, dash);
            name_ui(ui, &row.name, |name| if row.is_baseline { name.strong() } else { name });
        }
        "n" => {
            ui.add(Label::new(row.n.to_string()).selectable(false));
        }
        _ => {
            let index = titles.iter().position(|title| title == column);
            let Some(entry) = index.and_then(|index| row.entries.get(index)) else { return };
            // Cells of numbers are filled from the right.
            if !entry.delta.is_empty() {
                let colour = match entry.verdict() {
                    Verdict::Better => palette.better,
                    Verdict::Worse => palette.worse,
                    Verdict::Neutral => palette.weak,
                };
                let delta = ui.add(Label::new(RichText::new(&entry.delta).small().color(colour)).selectable(false));
                match entry.verdict() {
                    Verdict::Better => drop(delta.on_hover_text("Better than the baseline")),
                    Verdict::Worse => drop(delta.on_hover_text("Worse than the baseline")),
                    Verdict::Neutral => {
                        if let Some(why) = row.not_judged {
                            delta.on_hover_text(why.reason());
                        }
                    }
                }
            }
            let value = ui.add(Label::new(&entry.shown).selectable(false));
            if let Some(exact) = entry.value {
                value.on_hover_text(exact.to_string());
            }
        }
    }
}
