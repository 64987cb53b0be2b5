//! The inspector: everything about the run that is focused.

use egui::{
    Align, Button, CollapsingHeader, Grid, Label, Layout, Response, RichText, ScrollArea, TextEdit, Ui, WidgetText,
    vec2,
};
use headroom_engine::{
    attention::ModelPlan,
    config::counted,
    protocol::{RunEdit, commands},
    store::{CheckpointKind, CheckpointRecord, RunId, RunRecord, RunSummary, series_names},
};

use super::{facts, mixing::MixingView};
use crate::common::{ExportDialog, Exportable, RunOperation, offered, perform, state_sign_ui, state_text};
use crate::{
    compare::{metric_value, series_hint, series_title},
    context::{Action, Panel, PanelContext, PanelId},
    findings::probe_samples,
    format,
    panels::{
        configure::head_grid,
        live::{live_run, shown_run},
    },
    state::CurrentRun,
    theme,
    widgets::{HeadGrid, HeadMap, swatch_ui},
};

/// Height of the head map, beyond which it shrinks.
const HEADS: f32 = 200.0;

/// Width of a column of numbers.
const NUMBER: f32 = 62.0;

/// The inspector at the right of the window.
#[derive(Default)]
pub struct Inspector {
    /// Whether that panel shows a model that is no run's: then it shows nothing.
    beside_directory: bool,
    /// Whether that panel is the table of runs.
    beside_runs: bool,
    /// What is typed and not yet written down, of one run.
    draft: Option<Draft>,
    /// The run's name in the frame before.
    seen_name: String,
    export: Option<ExportDialog>,
    /// What follows from the config of the run.
    config: Option<FromConfig>,
    mixing: MixingView,
    /// When training was resumed by a click here, in seconds of the window's time.
    resumed: Option<f64>,
}

/// For so many seconds after a click on Resume nothing is done by another one: other buttons stand there then.
const AFTER_RESUME: f64 = 1.0;

/// Texts of one run that the user edits.
struct Draft {
    run: RunId,
    /// The name as it was when editing began, or as it was sent.
    name_before: String,
    name: String,
    /// The note as it was when editing began, to see whether it was changed.
    note_before: String,
    note: String,
    tag: String,
}

impl Draft {
    fn of(run: &RunSummary) -> Self {
        Self {
            run: run.id.clone(),
            name_before: run.name.clone(),
            name: run.name.clone(),
            note_before: run.note.clone(),
            note: run.note.clone(),
            tag: String::new(),
        }
    }
}

impl Panel for Inspector {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        if let Some(summary) = self.shown(cx).cloned() {
            cx.state.want_record(&summary.id);
            self.begin(&summary, cx);
            // Whose numbers these are stays in sight.
            self.name_ui(ui, &summary, cx);
            let together = cx.state.selection.together;
            if self.beside_runs && together > 1 {
                let words = format!("One of {together} selected: what is done here is done to this run alone.");
                ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
            }
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| self.run_ui(ui, &summary, cx));
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
    }
}

impl Inspector {
    /// Stands beside this panel from now on: where that shows one run, and none is focused, it is about that.
    pub fn stand_beside(&mut self, panel: PanelId, shows_directory: bool, cx: &mut PanelContext<'_>) {
        let analyses = [PanelId::REDUNDANCY, PanelId::SPECTRA, PanelId::HEADS, PanelId::RECONSTRUCT, PanelId::ADVISER];
        let is_analysed = || analyses.contains(&panel) && cx.state.selection.directory().is_some();
        self.beside_directory = shows_directory || is_analysed();
        self.beside_runs = panel == PanelId::RUNS;
        let is_of_many = [PanelId::CONFIGURE, PanelId::COMPARE, PanelId::RUNS, PanelId::SPEED].contains(&panel);
        let shown = if panel == PanelId::LIVE { live_run(cx) } else { shown_run(cx) };
        cx.state.selection.beside = shown.filter(|_| !is_of_many && !self.beside_directory).map(|run| run.id);
    }

    /// Whether there is nothing to show: then it takes no room.
    pub fn is_empty(&self, cx: &PanelContext<'_>) -> bool {
        self.shown(cx).is_none() && self.export.is_none()
    }

    fn shown<'a>(&self, cx: &'a PanelContext<'_>) -> Option<&'a RunSummary> {
        if self.beside_directory {
            return None;
        }
        let selection = &cx.state.selection;
        let focused = selection.focused.as_ref().and_then(|run| cx.state.run(run));
        focused.or_else(|| selection.beside.as_ref().and_then(|run| cx.state.run(run)))
    }

    /// What was typed about another run is written down before this one is shown.
    fn begin(&mut self, run: &RunSummary, cx: &mut PanelContext<'_>) {
        if self.draft.as_ref().is_none_or(|draft| draft.run != run.id) {
            self.write_note(cx);
            self.draft = Some(Draft::of(run));
        }
    }

    fn run_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        state_ui(ui, run);
        ui.add_space(4.0);
        let is_baseline = cx.state.selection.baseline.as_ref() == Some(&run.id);
        let has_record = cx.state.records.contains_key(&run.id);
        let now = ui.input(|input| input.time);
        let is_late = self.resumed.is_none_or(|at| now - at > AFTER_RESUME);
        ui.horizontal_wrapped(|ui| {
            for operation in offered(run) {
                let ready = has_record || !operation.needs_record();
                let button = ui.add_enabled(ready, Button::new(operation.label(run, is_baseline)));
                let button = button.on_hover_text(operation.about());
                if button.on_disabled_hover_text("The run's config is being loaded").clicked() && is_late {
                    if operation == RunOperation::Resume {
                        self.resumed = Some(now);
                    }
                    perform(operation, &run.id, cx);
                }
            }
        });
        ui.separator();
        self.checkpoints_ui(ui, run, cx);
        if let Some(record) = cx.state.records.get(&run.id) {
            if self.config.as_ref().is_none_or(|known| known.of != record.config) {
                self.config = Some(FromConfig::of(record));
            }
            self.heads_ui(ui);
        }
        self.mixing_ui(ui, run, cx);
        let has_energy = run.metrics.contains_key(series_names::PROBE_ENERGY_IN_1_PERCENT);
        let kept = if has_energy { cx.state.analysis.kept_samples(&run.id) } else { None };
        let samples = kept.or(self.config.as_ref().map(|known| known.probe_samples)).unwrap_or(0);
        metrics_ui(ui, run, samples, cx.state.current.as_ref().filter(|current| current.run == run.id));
        self.tags_ui(ui, run, cx);
        self.note_ui(ui, run, cx);
        match cx.state.records.get(&run.id) {
            None => {
                ui.horizontal(|ui| {
                    ui.add(egui::Spinner::new());
                    ui.label("Loading the run's record…");
                });
            }
            Some(record) => {
                let facts = facts::facts(record, run);
                let config = record.config_toml.clone();
                facts_ui(ui, &facts, cx);
                config_ui(ui, &config, run, cx);
            }
        }
    }

    fn name_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let Some(draft) = &mut self.draft else { return };
        ui.horizontal(|ui| {
            swatch_ui(ui, cx.state.selection.style_of(&run.id));
            let row = ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let weak = theme::palette(ui.visuals()).weak;
                ui.label(RichText::new(format!("seed {}", run.seed)).small().color(weak));
                let edit = TextEdit::singleline(&mut draft.name).desired_width(ui.available_width());
                ui.add(edit.font(egui::TextStyle::Body))
            });
            let typed = row.inner.accessible_name("Name of the run");
            let label = cx.state.run_name(&run.id);
            let typed = if label == run.name {
                typed
            } else {
                typed.on_hover_text(format!("Other runs have this name: shown as \"{label}\""))
            };
            let name = draft.name.trim().to_owned();
            if typed.lost_focus() && (name.is_empty() || ui.input(|i| i.key_pressed(egui::Key::Escape))) {
                draft.name.clone_from(&draft.name_before);
            } else if typed.lost_focus() && name != draft.name_before {
                draft.name_before.clone_from(&name);
                cx.send(commands::Edit { run: run.id.clone(), edit: RunEdit::Rename(name) });
            } else if !typed.has_focus() && self.seen_name != run.name {
                // It was renamed elsewhere.
                draft.name_before.clone_from(&run.name);
                draft.name.clone_from(&run.name);
            }
            self.seen_name.clone_from(&run.name);
        });
    }

    fn checkpoints_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let mut taking = None;
        section_ui(ui, "Checkpoints", |ui| {
            let kept = cx.state.checkpoints.get(&run.id).map(Vec::as_slice).unwrap_or_default();
            if kept.is_empty() {
                let text = if cx.state.records.contains_key(&run.id) && run.state.is_ended() {
                    "None: it ended before the first was written."
                } else if cx.state.records.contains_key(&run.id) {
                    "None yet: the first is written with the first evaluation, or at the end."
                } else {
                    "Loading…"
                };
                ui.label(text);
            } else {
                for (step, why, record) in checkpoint_rows(kept) {
                    let size = format!("{} on disk", format::bytes(record.bytes));
                    let metric = record.metric.as_deref().unwrap_or_default();
                    let value = record.value.map(|value| metric_value(metric, value)).unwrap_or_default();
                    let row = |ui: &mut Ui| {
                        let button = ui.button("Export…").on_hover_text(size);
                        let button = button.accessible_name(format!("Export the checkpoint of step {step}"));
                        ui.label(value).on_hover_text(metric);
                        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                            ui.label(format!("Step {}", format::count(step)));
                            let why = ui.add(Label::new(&why).truncate());
                            why.on_hover_text(record.path.display().to_string());
                        });
                        button.clicked()
                    };
                    if row_ui(ui, row) {
                        let (run, name) = (run.id.clone(), run.name.clone());
                        taking = Some(Exportable::Checkpoint { run, name, step: Some(step) });
                    }
                }
            }
            ui.horizontal_wrapped(|ui| {
                let (id, name) = (run.id.clone(), run.name.clone());
                let ready = !kept.is_empty();
                let checkpoint = ui.add_enabled(ready, Button::new("Export checkpoint…"));
                if checkpoint.on_disabled_hover_text("There is no checkpoint yet").clicked() {
                    taking = Some(Exportable::Checkpoint { run: id.clone(), name: name.clone(), step: None });
                }
                if ui.button("Export run as JSON…").clicked() {
                    taking = Some(Exportable::Run { run: id, name });
                }
            });
            if let Some(folder) = cx.state.folders.get(&run.id) {
                let path = folder.display().to_string();
                let label = Label::new(RichText::new(&path).small()).truncate().sense(egui::Sense::click());
                let label = ui.add(label).on_hover_text(format!("{path}\nClick copies it"));
                if label.accessible_name("Folder of the run").clicked() {
                    cx.actions.push(Action::Copy("The path of the run's folder".to_owned(), path));
                }
            }
        });
        if let Some(taking) = taking {
            self.export = Some(ExportDialog::new("inspector", taking, cx));
        }
    }

    fn tags_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let Some(draft) = &mut self.draft else { return };
        section_ui(ui, "Tags", |ui| {
            ui.horizontal_wrapped(|ui| {
                for tag in &run.tags {
                    let remove = ui.button(format!("{tag}  ×")).on_hover_text("Removes the tag");
                    if remove.accessible_name(format!("Remove the tag {tag}")).clicked() {
                        cx.send(commands::Edit { run: run.id.clone(), edit: RunEdit::RemoveTag(tag.clone()) });
                    }
                }
                let typed = ui.add(TextEdit::singleline(&mut draft.tag).desired_width(90.0).hint_text("New tag"));
                let typed = typed.accessible_name("New tag");
                let enter = typed.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
                let add = ui.add_enabled(!draft.tag.trim().is_empty(), Button::new("Add tag"));
                if (enter || add.clicked()) && !draft.tag.trim().is_empty() {
                    let tag = std::mem::take(&mut draft.tag).trim().to_owned();
                    cx.send(commands::Edit { run: run.id.clone(), edit: RunEdit::AddTag(tag) });
                }
            });
        });
    }

    fn note_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let mut done = false;
        section_ui(ui, "Note", |ui| {
            let Some(draft) = &mut self.draft else { return };
            if draft.note == draft.note_before && draft.note_before != run.note {
                // It was changed elsewhere, and nothing is being typed here.
                draft.note.clone_from(&run.note);
                draft.note_before.clone_from(&run.note);
            }
            let edit = TextEdit::multiline(&mut draft.note).desired_rows(3).desired_width(f32::INFINITY);
            let typed = ui.add(edit.hint_text("Notes about this run"));
            done = typed.accessible_name("Note").lost_focus();
            if draft.note != draft.note_before {
                done |= ui.button("Save note").clicked();
            }
        });
        if done {
            self.write_note(cx);
        }
    }

    /// Which heads score, where not all of them do.
    fn heads_ui(&self, ui: &mut Ui) {
        if let Some(FromConfig { heads: Some(grid), .. }) = &self.config {
            section_ui(ui, "Heads", |ui| {
                HeadMap::new("inspector", grid).height(HEADS).show(ui);
            });
        }
    }

    /// How heads weigh what they share, where they collaborate.
    fn mixing_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let Some(record) = cx.state.records.get(&run.id) else { return };
        if !self.mixing.concerns(record) {
            return;
        }
        let snapshots = cx.state.mixing.get(&run.id).map(Vec::as_slice);
        let mixing = &mut self.mixing;
        let mut taken = None;
        section_ui(ui, "How heads mix shared dimensions", |ui| taken = mixing.ui(ui, record, snapshots));
        cx.state.want_mixing(&run.id);
        if let Some(figure) = taken {
            self.export = Some(ExportDialog::new("inspector", Exportable::Map(Box::new(figure)), cx));
        }
    }

    /// Writes the note down if it was changed.
    fn write_note(&mut self, cx: &mut PanelContext<'_>) {
        if let Some(draft) = &mut self.draft
            && draft.note != draft.note_before
        {
            draft.note_before.clone_from(&draft.note);
            cx.send(commands::Edit { run: draft.run.clone(), edit: RunEdit::Note(draft.note.clone()) });
        }
    }
}

/// What follows from a run's config.
struct FromConfig {
    of: serde_json::Value,
    /// Its heads; none where every head computes.
    heads: Option<HeadGrid>,
    /// Maps of scores in an analysis during training, an example and head each.
    probe_samples: u64,
}

impl FromConfig {
    fn of(record: &RunRecord) -> Self {
        let config = record.json_config().ok();
        // The vocabulary has no say in which heads score.
        let plan = config.as_ref().and_then(|config| ModelPlan::resolve(config, 1).ok());
        let grid = plan.map(|plan| head_grid(&plan.stack.head_plan));
        let heads = grid.filter(|grid| !grid.is_plain());
        Self { of: record.config.clone(), heads, probe_samples: config.as_ref().map_or(0, probe_samples) }
    }
}

/// One row a step: why it is kept, and its record.
fn checkpoint_rows(kept: &[CheckpointRecord]) -> Vec<(u64, String, &CheckpointRecord)> {
    let mut rows: Vec<(u64, String, &CheckpointRecord)> = Vec::new();
    for record in kept {
        let why = match record.kind {
            CheckpointKind::Best => "best",
            CheckpointKind::Last => "recent",
            CheckpointKind::Kept => "kept",
        };
        match rows.last_mut() {
            Some((step, words, first)) if *step == record.step => {
                *words = format!("{words}, {why}");
                if first.value.is_none() {
                    *first = record;
                }
            }
            _ => rows.push((record.step, why.to_owned(), record)),
        }
    }
    rows
}

fn section_ui(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui)) {
    CollapsingHeader::new(RichText::new(title).strong()).default_open(true).show(ui, contents);
}

/// The state with its reason and what to do.
fn state_ui(ui: &mut Ui, run: &RunSummary) {
    let palette = theme::palette(ui.visuals());
    let colour = state_text::colour_of(run, palette);
    ui.horizontal(|ui| {
        state_sign_ui(ui, run.state, colour);
        ui.label(RichText::new(state_text::words(run)).color(colour).strong());
    });
    ui.label(state_text::why(run));
    let what_to_do = state_text::what_to_do(run);
    if !what_to_do.is_empty() {
        ui.label(RichText::new(what_to_do).color(palette.weak));
    }
}

/// The last values of the run that trains here are those that Live and the top bar show.
fn metrics_ui(ui: &mut Ui, run: &RunSummary, probe_samples: u64, current: Option<&CurrentRun>) {
    section_ui(ui, "Metrics", |ui| {
        if run.metrics.is_empty() {
            ui.label(match (run.state.is_ended(), run.is_worth_resuming()) {
                (true, true) => "None: it ended before its first step. \"Resume training\" begins with that step.",
                (true, false) => {
                    "None: it ended before its first step. \"Repeat this run\" trains it from the beginning."
                }
                (false, _) => "None yet: they come with the first step.",
            });
            return;
        }
        let weak = theme::palette(ui.visuals()).weak;
        row_ui(ui, |ui| {
            for title in ["Best", "Last"] {
                number_ui(ui, RichText::new(title).color(weak));
            }
        });
        // What it learns by comes first, then how well it does otherwise.
        let rank = |series: &str| match series {
            series_names::VALIDATION_LOSS => 0,
            series_names::TRAIN_LOSS => 1,
            series if series.starts_with("validation/") => 2,
            _ => 3,
        };
        let mut metrics: Vec<_> = run.metrics.iter().collect();
        metrics.sort_by_key(|(series, _)| rank(series));
        for (series, summary) in metrics {
            row_ui(ui, |ui| {
                let now = current.and_then(|current| {
                    let value = match series.as_str() {
                        series_names::TRAIN_LOSS => current.loss,
                        series_names::TRAIN_TOKENS_PER_SEC => current.tokens_per_sec,
                        _ => None,
                    };
                    value.map(|value| (value, current.step))
                });
                // The run's line is brought up to date from time to time: what came since may be better than all before.
                let known = summary.best.zip(summary.best_step);
                let best = now.filter(|(value, _)| summary.direction.improves(*value, summary.best)).or(known);
                if let Some((value, step)) = best.filter(|_| known.is_some()) {
                    number_ui(ui, metric_value(series, value))
                        .on_hover_text(format!("At step {}", format::count(step)));
                } else {
                    number_ui(ui, "");
                }
                number_ui(ui, metric_value(series, now.map_or(summary.last, |(value, _)| value)));
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let (mut title, mut hint) = (series_title(series), series_hint(series));
                    if series == series_names::PROBE_ENERGY_IN_1_PERCENT && probe_samples > 0 {
                        title = format!("{title}, of {}", counted(probe_samples, "sample"));
                        hint = format!("{hint}. Fewer samples than dimensions make it larger than many would");
                    }
                    if series == series_names::TRAIN_TOKENS_PER_SEC {
                        title.push_str(", last step");
                    }
                    ui.add(Label::new(title).wrap()).on_hover_text(hint);
                });
            });
        }
    });
}

/// A row that is drawn from its right end, so that what stands there has its room first.
fn row_ui<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(ui.available_width(), ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), add).inner
}

/// A number in its column.
fn number_ui(ui: &mut Ui, text: impl Into<WidgetText>) -> Response {
    let size = vec2(NUMBER, ui.spacing().interact_size.y);
    let layout = Layout::left_to_right(Align::Center);
    let shown = ui.allocate_ui_with_layout(size, layout, |ui| {
        ui.set_min_width(NUMBER);
        ui.label(text)
    });
    shown.inner
}

fn facts_ui(ui: &mut Ui, facts: &[facts::Fact], cx: &mut PanelContext<'_>) {
    section_ui(ui, "Reproduction", |ui| {
        let weak = theme::palette(ui.visuals()).weak;
        Grid::new("facts").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
            for fact in facts {
                ui.label(RichText::new(fact.label).color(weak)).on_hover_text(fact.about);
                let value = ui.add(Label::new(&fact.shown).truncate().sense(egui::Sense::click()));
                if value.on_hover_text(format!("{}\nClick copies it", fact.exact)).clicked() {
                    cx.act(Action::Copy(fact.label.to_owned(), fact.exact.clone()));
                }
                ui.end_row();
            }
        });
        if ui.button("Copy all facts").clicked() {
            cx.act(Action::Copy("What is known about the run".to_owned(), facts::as_text(facts)));
        }
    });
}

fn config_ui(ui: &mut Ui, config: &str, run: &RunSummary, cx: &mut PanelContext<'_>) {
    section_ui(ui, "Config", |ui| {
        if ui.button("Copy config").clicked() {
            perform(RunOperation::CopyConfig, &run.id, cx);
        }
        let mut text = config;
        ui.add(TextEdit::multiline(&mut text).code_editor().desired_width(f32::INFINITY))
            .accessible_name("Config as TOML");
    });
}
