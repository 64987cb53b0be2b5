//! The panel itself.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use egui::{CollapsingHeader, ComboBox, Grid, ProgressBar, RichText, ScrollArea, Ui};
use headroom_engine::{
    config::counted,
    speed::{MachineLimits, PointResult, Setting, SweepSpec, point_ratios, sweep_csv},
    store::{BenchmarkId, BenchmarkRecord, BenchmarkSummary},
};
use serde::{Deserialize, Serialize};

use super::{
    form::{Form, generation_ui},
    list::{Clicked, list_ui},
    points::{points_ui, ratio_ui, reasons_ui},
    roofline::{Operations, figure as roofline_figure, roofline_ui},
    texts::{published_ui, texts_ui},
};
use crate::{
    common::{ExportDialog, Exportable, blank_ui, working_ui},
    context::{Action, Panel, PanelContext},
    export::Figure,
    format,
    measured::{Line, Lines, QUARTILES, Quantity, disturbed_note, is_disturbed, millis, x_axis},
    state::Measuring,
    theme::{self, Dash},
    widgets::{Band, Chart, ChartLine, ChartState, HeightHandle, SharedX, SpareHeight, sideways_ui},
};

/// The least height of chart and roofline in points, unless the user chose another: they fill a high window.
const HEIGHT: f32 = 250.0;
/// Heights that they can be given.
const HEIGHTS: RangeInclusive<f32> = 140.0..=1200.0;

/// What the panel remembers between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    form: Form,
    quantity: Quantity,
    /// The same of generated texts; none = the one that the axis is about.
    of_texts: Option<Quantity>,
    log_x: bool,
    log_y: bool,
    /// Of generated texts: without a cache they take many times as long.
    log_y_of_texts: bool,
    /// Height of chart and roofline in points; none: the usual one.
    height: Option<f32>,
    open: Option<BenchmarkId>,
    with: Option<BenchmarkId>,
}

impl Default for Memory {
    fn default() -> Self {
        // Sizes are swept by doubling as a rule.
        let (log_x, log_y, log_y_of_texts) = (true, false, true);
        let quantity = Quantity::default();
        Self {
            form: Form::default(),
            quantity,
            of_texts: None,
            log_x,
            log_y,
            log_y_of_texts,
            height: None,
            open: None,
            with: None,
        }
    }
}

/// Measures and shows how long training steps take.
#[derive(Default)]
pub struct SpeedPanel {
    memory: Option<Memory>,
    lines: Lines,
    /// Those of the benchmark that it is compared with.
    other_lines: Lines,
    chart: ChartState,
    shared: SharedX,
    spare: SpareHeight,
    /// Point and side whose operations are shown; none where nobody chose one.
    chosen: Option<(usize, usize)>,
    export: Option<ExportDialog>,
    wants_export: bool,
}

/// What is shown.
enum Shown {
    /// What comes in now.
    Now(Arc<Measuring>),
    /// A stored benchmark.
    Stored(Arc<BenchmarkRecord>),
}

impl Shown {
    fn id(&self) -> &BenchmarkId {
        match self {
            Self::Now(now) => &now.benchmark,
            Self::Stored(record) => &record.summary.id,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Now(now) => &now.name,
            Self::Stored(record) => &record.summary.name,
        }
    }

    fn spec(&self) -> &SweepSpec {
        match self {
            Self::Now(now) => &now.spec,
            Self::Stored(record) => &record.spec,
        }
    }

    fn limits(&self) -> Option<&MachineLimits> {
        match self {
            Self::Now(now) => now.limits.as_ref(),
            Self::Stored(record) => record.results.limits.as_ref(),
        }
    }

    fn points(&self) -> &[PointResult] {
        match self {
            Self::Now(now) => &now.points,
            Self::Stored(record) => &record.results.points,
        }
    }

    /// What an exported figure says of its origin.
    fn metadata(&self) -> BTreeMap<String, String> {
        let Self::Stored(record) = self else { return BTreeMap::new() };
        let entries = [
            ("benchmark", record.summary.id.to_string()),
            ("machine", record.summary.machine.cpu.clone()),
            ("device", record.summary.device_words()),
            ("program", record.summary.program()),
            ("spec", serde_json::to_string(&record.spec).unwrap_or_default()),
        ];
        entries.map(|(key, value)| (key.to_owned(), value)).into()
    }
}

impl Panel for SpeedPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("speed"));
        cx.state.speed.want_list();
        if let Some(ended) = cx.state.speed.ended.take() {
            memory.open = Some(ended);
        }
        let speed = &cx.state.speed;
        if !speed.loaded && speed.measuring.is_empty() {
            working_ui(ui, "Reading the benchmarks…");
        } else if speed.benchmarks.is_empty() && speed.measuring.is_empty() && !speed.can_undo_delete() {
            empty_ui(ui, &mut memory, cx);
        } else {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| self.full_ui(ui, &mut memory, cx));
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("speed", &memory);
        self.memory = Some(memory);
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        self.wants_export = !cx.state.speed.benchmarks.is_empty() || !cx.state.speed.measuring.is_empty();
        self.wants_export
    }

    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let state = &mut *cx.state;
        state.speed.undo_delete(&mut state.messages)
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
    }
}

/// Nothing was measured yet.
fn empty_ui(ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
    let sentence = "How long a training step takes and what memory, at which sizes and with which variant, and how \
                    fast texts are generated with each cache, on random tokens. A measurement runs when its turn in \
                    the queue comes, so that nothing trains meanwhile.";
    let mut measure = false;
    blank_ui(ui, "Nothing has been measured yet", sentence, |ui| {
        measure = ui.button("Measure sequence lengths 64 to 512").clicked();
    });
    if measure {
        memory.form = Form::default();
        start(&memory.form, cx);
    }
    ui.add_space(24.0);
    form_ui(ui, memory, cx, false);
    texts_form_ui(ui, cx);
}

/// The measurements of generation.
fn texts_form_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    if let Some(preset) = generation_ui(ui) {
        cx.state.speed.start(preset.name().to_owned(), preset.spec());
    }
}

fn start(form: &Form, cx: &mut PanelContext<'_>) {
    if let Ok(spec) = form.spec(cx.state.speed.draft.as_ref()) {
        let name = Form::name(&spec);
        cx.state.speed.start(name, spec);
    }
}

fn form_ui(ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>, open: bool) {
    CollapsingHeader::new("New measurement").default_open(open).show(ui, |ui| {
        let verdict = memory.form.spec(cx.state.speed.draft.as_ref());
        if memory.form.ui(ui, &verdict) {
            start(&memory.form, cx);
        }
    });
}

impl SpeedPanel {
    fn full_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        form_ui(ui, memory, cx, true);
        texts_form_ui(ui, cx);
        measuring_ui(ui, cx);
        self.list_ui(ui, memory, cx);
        ui.add_space(6.0);
        let Some(shown) = shown(memory, cx) else { return };
        if shown.points().is_empty() {
            ui.label(RichText::new("No point has been measured yet.").color(theme::palette(ui.visuals()).weak));
            return;
        }
        let other = match (&shown, &memory.with) {
            (Shown::Stored(_), Some(with)) => cx.state.speed.record(with),
            _ => None,
        };
        self.shown_ui(ui, &shown, other.as_deref(), memory, cx);
        if let (Shown::Stored(record), Some(other)) = (&shown, &other) {
            compare_ui(ui, record, other, memory);
        }
        self.spare.update(ui, usize::from(memory.height.is_none()));
    }

    fn list_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let all = cx.state.speed.benchmarks.clone();
        if all.is_empty() && !cx.state.speed.can_undo_delete() {
            return;
        }
        let title = format!("Benchmarks ({})", format::count(all.len() as u64));
        CollapsingHeader::new(title).id_salt("benchmarks").default_open(true).show(ui, |ui| {
            if cx.state.speed.can_undo_delete() && ui.button("Undo delete").on_hover_text("Ctrl+Z").clicked() {
                cx.act(Action::Undo);
            }
            let width = ui.available_width();
            let list = |ui: &mut Ui| list_ui(ui, &all, memory.open.as_ref(), width);
            match sideways_ui(ui, "list", list) {
                Some(Clicked::Open(id)) => {
                    if memory.with.as_ref() == Some(&id) {
                        memory.with = None;
                    }
                    memory.open = Some(id);
                    self.chosen = None;
                }
                Some(Clicked::Compare(id)) => memory.with = Some(id),
                Some(Clicked::Delete(id)) => {
                    let state = &mut *cx.state;
                    state.speed.delete(&id, &mut state.messages);
                }
                None => {}
            }
        });
    }

    fn shown_ui(
        &mut self,
        ui: &mut Ui,
        shown: &Shown,
        other: Option<&BenchmarkRecord>,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let mut export = std::mem::take(&mut self.wants_export).then_some(false);
        ui.label(RichText::new(shown.name()).heading().color(palette.strong));
        if let Shown::Stored(record) = shown {
            ui.label(RichText::new(made_by(&record.summary)).small().color(palette.weak));
        }
        let generates = shown.spec().generation.is_some();
        let mut quantity = quantity_of(shown.spec(), memory);
        ui.horizontal_wrapped(|ui| {
            let combo = ComboBox::from_id_salt("quantity").selected_text(quantity.name()).show_ui(ui, |ui| {
                for offered in Quantity::of_spec(shown.spec()) {
                    if ui.selectable_value(&mut quantity, offered, offered.name()).clicked() {
                        if generates {
                            memory.of_texts = Some(offered);
                        } else {
                            memory.quantity = offered;
                        }
                    }
                }
            });
            combo.response.accessible_name("Quantity");
            ui.checkbox(&mut memory.log_x, "Log x");
            ui.checkbox(if generates { &mut memory.log_y_of_texts } else { &mut memory.log_y }, "Log y");
            if ui.button("Export chart…").on_hover_text("PNG, SVG or CSV (Ctrl+E)").clicked() {
                export = Some(false);
            }
            if shown.limits().is_some() && ui.button("Export roofline…").on_hover_text("PNG, SVG or CSV").clicked() {
                export = Some(true);
            }
            if let Shown::Stored(record) = shown {
                let button = ui.button("Export data…").on_hover_text("JSON or CSV of all that was measured");
                if button.clicked() {
                    self.export =
                        Some(ExportDialog::new("speed", Exportable::Benchmark(Box::new((**record).clone())), cx));
                }
                if ui.button("Copy CSV").on_hover_text("Every point and side, every number").clicked() {
                    let text = sweep_csv(&record.spec, &record.results);
                    cx.act(Action::Copy("The benchmark as CSV".to_owned(), text));
                }
                if ui.button("Copy JSON").on_hover_text("All that is kept of it").clicked() {
                    let text = headroom_engine::text::to_json_pretty(record).unwrap_or_default();
                    cx.act(Action::Copy("The benchmark as JSON".to_owned(), text));
                }
            }
        });
        self.lines.update(shown.id().as_str(), shown.spec(), shown.points(), quantity);
        let other = other.filter(|other| same_axis(shown.spec(), &other.spec));
        if let Some(other) = other {
            let (id, points) = (other.summary.id.as_str(), &other.results.points);
            self.other_lines.update(id, &other.spec, points, quantity);
        }
        let name_there = |name: &str| format!("{name}, {}", other.map_or("", |other| other.summary.name.as_str()));
        let there: Vec<String> = self.other_lines.lines.iter().map(|line| name_there(&line.name)).collect();
        let mut lines: Vec<ChartLine<'_>> =
            self.lines.lines.iter().enumerate().map(|(place, line)| drawn(line, &line.name, place as u64)).collect();
        if other.is_some() {
            let count = lines.len();
            for (place, (line, name)) in self.other_lines.lines.iter().zip(&there).enumerate() {
                // The colour of the same side here, if there is one.
                let here = self.lines.lines.iter().position(|known| known.name == line.name);
                let style = drawn(line, name, here.unwrap_or(count + place) as u64);
                lines.push(ChartLine { id: (count + place) as u64, dash: Dash::Dotted, ..style });
            }
        }
        let has_bands = lines.iter().any(|line| line.band.is_some());
        let (log_x, log_y) = (memory.log_x, if generates { memory.log_y_of_texts } else { memory.log_y });
        let height = self.spare.of(memory.height, HEIGHT);
        self.chart.turn_to(&format!("{} {}", shown.id(), quantity.name()));
        let chart = |salt| {
            Chart::new(salt, quantity.name(), &lines)
                .x_axis(x_axis(shown.spec()))
                .y_axis(quantity.axis())
                .log_x(log_x)
                .log_y(log_y)
                .smoothing(0.0)
                .height(height)
                .legend(true)
        };
        // Of generated texts the last point: there the groups differ most.
        let first = (if generates { shown.points().len().saturating_sub(1) } else { 0 }, 0);
        let mut chosen = self.chosen.unwrap_or(first);
        let operations = shown.points().get(chosen.0).and_then(|point| {
            if generates {
                return Some((format!("attention to the source, {}", point.label()), Operations::of_texts(point)));
            }
            let side = point.sides.get(chosen.1)?;
            let operations = Operations::of_step(side.outcome.measurement()?);
            Some((format!("{}, {}", point.label(), side.side), operations))
        });
        ui.columns(2, |columns| {
            if let [left, right] = columns {
                left.vertical(|ui| {
                    chart("speed").show(ui, &mut self.chart, &mut self.shared);
                    HeightHandle::new("chart and roofline", HEIGHTS).show(ui, &mut memory.height, height);
                    if has_bands {
                        ui.label(RichText::new(QUARTILES).small().color(theme::palette(ui.visuals()).weak));
                    }
                });
                if let (Some(limits), Some((name, found))) = (shown.limits(), &operations) {
                    right.vertical(|ui| roofline_ui(ui, name, limits, found, height));
                } else {
                    let words = "Each operation of a point under the machine's limits, which are measured last.";
                    right.vertical(|ui| ui.label(words));
                }
            }
        });
        let figure = match (export, shown.limits(), &operations) {
            (Some(true), Some(limits), Some((name, found))) => {
                Some(roofline_figure(name, limits, found, shown.metadata()))
            }
            (Some(_), ..) => {
                let mut figure = chart("speed").figure(&mut self.chart, &self.shared, shown.metadata());
                figure.notes.extend(has_bands.then(|| QUARTILES.to_owned()));
                figure.notes.extend(disturbed_note(shown.points()));
                Some(Figure { subtitle: shown.name().to_owned(), ..figure })
            }
            (None, ..) => None,
        };
        if let Some(figure) = figure {
            self.export = Some(ExportDialog::new("speed", Exportable::Figure(Box::new(figure)), cx));
        }
        published_ui(ui, shown.spec(), shown.points());
        ui.add_space(6.0);
        sideways_ui(ui, "points", |ui| {
            if generates {
                texts_ui(ui, shown.spec(), shown.points(), &mut chosen);
            } else {
                points_ui(ui, shown.spec(), shown.points(), &mut chosen);
            }
        });
        if chosen != self.chosen.unwrap_or(first) {
            self.chosen = Some(chosen);
        }
        reasons_ui(ui, shown.points());
    }
}

/// A line with its quartiles, in the style of this place in a list.
fn drawn<'a>(line: &'a Line, name: &'a str, place: u64) -> ChartLine<'a> {
    let band = line.quartiles.as_ref().map(|(low, high)| Band { low, high });
    ChartLine { band, ..ChartLine::new(place, name, &line.series) }
}

/// What the chart of a benchmark shows.
fn quantity_of(spec: &SweepSpec, memory: &Memory) -> Quantity {
    let offered = Quantity::of_spec(spec);
    if spec.generation.is_none() {
        return if offered.contains(&memory.quantity) { memory.quantity } else { Quantity::default() };
    }
    let is_over_batches = spec.axes.first().is_some_and(|axis| axis.field == "batch");
    let of_axis = if is_over_batches { Quantity::Texts } else { Quantity::AttentionTime };
    memory.of_texts.filter(|quantity| offered.contains(quantity)).unwrap_or(of_axis)
}

/// The measurements that wait or go on.
fn measuring_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let mut cancel = None;
    for measuring in &cx.state.speed.measuring {
        ui.horizontal_wrapped(|ui| {
            match &measuring.at {
                None => {
                    ui.add(egui::Spinner::new().size(14.0));
                    ui.label(format!("Waiting in the queue: {}", measuring.name));
                }
                Some((stage, fraction)) => {
                    let text =
                        format!("{} of {}", measuring.points.len(), counted(measuring.spec.point_count(), "point"));
                    let bar = ProgressBar::new(*fraction as f32).desired_width(220.0).text(text);
                    ui.add(bar).accessible_name("Progress of the measurement");
                    ui.label(stage);
                }
            }
            let words = if measuring.is_stopping { "Ending after this step" } else { "Cancel" };
            let button = ui.add_enabled(!measuring.is_stopping, egui::Button::new(words));
            let button = button.on_hover_text("What was measured is kept");
            if button.accessible_name("Cancel the measurement").clicked() {
                cancel = Some(measuring.benchmark.clone());
            }
        });
    }
    if let Some(benchmark) = cancel {
        cx.state.speed.cancel(&benchmark);
    }
}

/// What is measured now comes first; then what is open; then the newest.
fn shown(memory: &mut Memory, cx: &mut PanelContext<'_>) -> Option<Shown> {
    let speed = &mut cx.state.speed;
    if let Some(measuring) = speed.now() {
        return Some(Shown::Now(Arc::clone(measuring)));
    }
    let exists = |id: &BenchmarkId| speed.benchmarks.iter().any(|known| known.id == *id);
    if !memory.open.as_ref().is_some_and(exists) {
        memory.open = speed.benchmarks.first().map(|newest| newest.id.clone());
    }
    speed.record(memory.open.as_ref()?).map(Shown::Stored)
}

/// Where and with what a benchmark was measured.
fn made_by(summary: &BenchmarkSummary) -> String {
    let machine = &summary.machine;
    let (cpu, cores, system) = (&machine.cpu, counted(machine.cores, "core"), &machine.os);
    format!("{}; {cpu}, {cores}, {system}; Headroom {}", summary.device_words(), summary.program())
}

/// Whether both are measured over the same numbers, so that one chart can show them.
fn same_axis(one: &SweepSpec, other: &SweepSpec) -> bool {
    let is_of_numbers = |spec: &SweepSpec| {
        spec.axes.first().is_some_and(|axis| axis.values.iter().all(|value| value.parse::<f64>().is_ok()))
    };
    one.axes.first().map(|axis| &axis.field) == other.axes.first().map(|axis| &axis.field)
        && is_of_numbers(one)
        && is_of_numbers(other)
}

/// The open benchmark against another.
fn compare_ui(ui: &mut Ui, record: &BenchmarkRecord, other: &BenchmarkRecord, memory: &mut Memory) {
    let palette = theme::palette(ui.visuals());
    ui.add_space(8.0);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(format!("Against \"{}\"", other.summary.name)).strong());
        if ui.button("Close the comparison").clicked() {
            memory.with = None;
        }
    });
    for (place, summary) in [("There", &other.summary), ("Here", &record.summary)] {
        ui.label(RichText::new(format!("{place}: {}", made_by(summary))).small().color(palette.weak));
    }
    let ratios = point_ratios(&other.results, &record.results);
    if ratios.is_empty() {
        ui.label("They have no measured point in common (the same fields, values and side names).");
        return;
    }
    Grid::new("ratios").striped(true).spacing([14.0, 4.0]).show(ui, |ui| {
        for title in ["Point", "Side", "There", "Here", "Here / there", "Memory, here / there"] {
            ui.label(RichText::new(title).small().color(palette.weak));
        }
        ui.end_row();
        for found in ratios {
            ui.label(found.settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", "));
            ui.label(&found.side);
            ui.label(millis(found.first_secs));
            ui.label(millis(found.second_secs));
            let is_disturbed = is_disturbed(&found.settings, &[&other.results, &record.results]);
            ratio_ui(ui, &found.second_spread, &found.first_spread, is_disturbed);
            // Memory is measured once: nothing is known of how much it varies.
            let memory = found.memory_ratio.map_or_else(|| "unknown".to_owned(), |ratio| format::fixed(ratio, 3));
            ui.label(memory);
            ui.end_row();
        }
    });
}
