//! The panel itself.

use std::collections::{BTreeMap, BTreeSet};

use egui::{
    Align, Id, Key, Layout, PointerButton, Pos2, RichText, ScrollArea, TextEdit, Ui, containers::menu::menu_style,
};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
    text::escaped_line,
    worker::{Command, RunEdit},
};
use serde::{Deserialize, Serialize};

use super::{
    Column, FlatConfigs,
    cells::{Cells, cell_ui, state_cell_ui},
    eyes::Eyes,
    menu::{Wanted, run_menu_ui},
    order::{Order, Wish, fingerprint},
    table_columns::{EYE, MENU, table_columns},
};
use crate::{
    common::{ExportDialog, blank_ui, no_runs_ui, working_ui},
    compare::{Cell, TextTable},
    context::{Action, Panel, PanelContext},
    format,
    state::State,
    theme,
    widgets::{self, Table, TableState},
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    table: TableState,
    filter: String,
    show_archived: bool,
    /// Whether columns were hidden or shown by the user; until then those of the usual ones are shown that there is room
    /// for.
    chose_columns: bool,
}

/// The table of all runs.
#[derive(Default)]
pub struct RunsPanel {
    memory: Option<Memory>,
    order: Order,
    configs: FlatConfigs,
    wants_filter: bool,
    renaming: Option<(RunId, String, bool)>,
    menu: Option<(RunId, Pos2)>,
    /// The tag that is typed into the menu.
    tag: String,
    export: Option<ExportDialog>,
    /// Changes when the runs may have.
    print: u64,
    /// Every column by its title.
    columns: Vec<(String, Column)>,
    /// What stands over them.
    headings: Vec<String>,
    /// Whether any run has a tag.
    has_tags: bool,
}

impl Panel for RunsPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("runs"));
        self.columns_of(&cx.state.runs);
        self.fit_columns(ui, &mut memory);
        if cx.state.engine_ended {
            let text = "The engine has ended: runs can be read but nothing can be changed. Restart the program.";
            ui.label(RichText::new(text).color(theme::palette(ui.visuals()).error));
        }
        damaged_ui(ui, cx.state);
        if !cx.state.runs_loaded {
            working_ui(ui, "Reading the runs…");
        } else if cx.state.runs.is_empty() && !cx.state.can_undo_delete() {
            no_runs_ui(ui, cx, "Every run that you start is listed here, with its curves, config and checkpoints.");
        } else {
            self.bar_ui(ui, &mut memory, cx);
            self.table_ui(ui, &mut memory, cx);
        }
        self.popup_ui(ui, cx);
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("runs", &memory);
        self.memory = Some(memory);
    }

    fn focus_filter(&mut self) {
        self.wants_filter = true;
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.menu.take().is_some() || self.renaming.take().is_some() || self.export.take().is_some()
    }
}

impl RunsPanel {
    /// The columns that there are, by title.
    fn columns_of(&mut self, runs: &[RunSummary]) {
        let print = fingerprint(runs);
        if !self.columns.is_empty() && self.print == print {
            return;
        }
        self.print = print;
        self.columns = Column::all(runs).into_iter().map(|column| (column.to_string(), column)).collect();
        self.headings = self.columns.iter().map(|(_, column)| column.heading()).collect();
        self.has_tags = runs.iter().any(|run| !run.tags.is_empty());
    }

    /// Until the user chose: of the usual columns those that there is room for.
    fn fit_columns(&self, ui: &Ui, memory: &mut Memory) {
        if memory.chose_columns {
            return;
        }
        let usual = Column::usual();
        let is_usual = |title: &str| self.columns.iter().any(|(own, column)| own == title && usual.contains(column));
        let columns = table_columns(&self.columns, &self.headings, self.has_tags);
        let (mine, unusual): (Vec<_>, Vec<_>) =
            columns.into_iter().partition(|column| !column.hideable || is_usual(column.id));
        let without = widgets::without_room(&mine, ui.available_width(), ui.spacing().item_spacing.x);
        let hidden = without.into_iter().chain(unusual.iter().map(|column| column.id));
        let hidden: BTreeSet<String> = hidden.map(str::to_owned).collect();
        if memory.table.hidden != hidden {
            memory.table.hidden = hidden;
        }
    }

    fn bar_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            let hint = "Filter: loss<2 and model.layers=4, or plain words";
            let typed = ui.add(TextEdit::singleline(&mut memory.filter).desired_width(330.0).hint_text(hint));
            let typed = typed.accessible_name("Filter runs").on_hover_text(
                "Compares fields with < <= > >= = != and ~ (contains); and, or, not, parentheses.\n\
                 Fields: name, state, tag, seed, device, steps, parameters, duration, created …,\n\
                 metrics such as loss, validation/loss.best, and config keys such as model.layers.\n\
                 Plain words search name, tags, state and note.",
            );
            if std::mem::take(&mut self.wants_filter) {
                typed.request_focus();
            }
            if !memory.filter.is_empty() && ui.button("Clear filter").clicked() {
                memory.filter.clear();
            }
            ui.checkbox(&mut memory.show_archived, "Show archived");
            let columns = table_columns(&self.columns, &self.headings, self.has_tags);
            let hidden = memory.table.hidden.clone();
            memory.table.columns_menu_ui(ui, &columns);
            memory.chose_columns |= hidden != memory.table.hidden;
            ui.menu_button("Copy table", |ui| self.copy_ui(ui, memory, cx));
            if cx.state.can_undo_delete() && ui.button("Undo delete").on_hover_text("Ctrl+Z").clicked() {
                cx.act(Action::Undo);
            }
            if cx.state.can_undo_delete()
                && ui.button("Purge…").on_hover_text("Removes deleted runs for good").clicked()
            {
                cx.act(Action::Purge);
            }
        });
        let wish = Wish {
            filter: memory.filter.clone(),
            sorting: memory.table.sorting.as_ref().and_then(|sorting| {
                let found = self.columns.iter().find(|(title, _)| *title == sorting.column);
                found.map(|(_, column)| (column.clone(), sorting.descending))
            }),
            show_archived: memory.show_archived,
        };
        self.order.update(&cx.state.runs, self.print, &self.configs, &wish);
        let missing = if self.order.wants_configs() {
            let all: Vec<RunId> = cx.state.runs.iter().map(|run| run.id.clone()).collect();
            self.configs.want(cx.state, all)
        } else {
            0
        };
        let palette = theme::palette(ui.visuals());
        let (shown, all) = (self.order.numbers().len() as u64, cx.state.runs.len() as u64);
        ui.horizontal_wrapped(|ui| {
            let count = if shown == all {
                counted(all, "run")
            } else {
                format!("{} of {}", format::count(shown), counted(all, "run"))
            };
            ui.label(RichText::new(count).color(palette.weak));
            if let Some(error) = self.order.error() {
                ui.label(RichText::new(error.describe(&memory.filter)).color(palette.error));
            } else if missing > 0 {
                ui.add(egui::Spinner::new().size(14.0));
                ui.label(format!("Reading the configs of {}…", counted(missing, "run")));
            } else if let Some(unknown) = self.order.unknown_field(&cx.state.runs, &self.configs) {
                ui.label(RichText::new(unknown).color(palette.warning));
            }
        });
    }

    fn copy_ui(&self, ui: &mut Ui, memory: &Memory, cx: &mut PanelContext<'_>) {
        type Write = fn(&TextTable) -> String;
        let forms: [(&str, Write); 3] =
            [("Markdown", TextTable::to_markdown), ("CSV", TextTable::to_csv), ("LaTeX", TextTable::to_latex)];
        for (name, write) in forms {
            if ui.button(format!("Copy as {name}")).clicked() {
                let text = write(&self.text_table(cx.state, memory));
                cx.act(Action::Copy(format!("The table as {name}"), text));
                ui.close();
            }
        }
    }

    /// The table as it is shown.
    fn text_table(&self, state: &State, memory: &Memory) -> TextTable {
        let columns: Vec<&(String, Column)> =
            self.columns.iter().filter(|(title, _)| !memory.table.hidden.contains(title)).collect();
        let rows = self.order.indices().iter().filter_map(|&index| state.runs.get(index));
        let cell = |run: &RunSummary, column: &Column| match column {
            Column::Name => Cell::text(state.run_name(&run.id)),
            other => other.cell(run),
        };
        TextTable {
            header: columns.iter().map(|(title, _)| title.clone()).collect(),
            rows: rows.map(|run| columns.iter().map(|(_, column)| cell(run, column)).collect()).collect(),
        }
    }

    fn table_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        if self.order.numbers().is_empty() {
            let sentence = if memory.filter.trim().is_empty() {
                "All runs are archived. \"Show archived\" shows them."
            } else {
                "Change the filter, or clear it."
            };
            blank_ui(ui, "No run matches", sentence, |ui| {
                if !memory.filter.is_empty() && ui.button("Show all runs").clicked() {
                    memory.filter.clear();
                }
            });
            return;
        }
        self.keys(ui, memory, cx);
        let columns = table_columns(&self.columns, &self.headings, self.has_tags);
        let by_title: BTreeMap<&str, &Column> =
            self.columns.iter().map(|(title, column)| (title.as_str(), column)).collect();
        let runs: &[RunSummary] = &cx.state.runs;
        let at = |number: u64| self.order.place(number).and_then(|index| runs.get(index));
        let selection = &cx.state.selection;
        let number_of = |run: &Option<RunId>| {
            let run = run.as_ref()?;
            self.order.numbers().iter().copied().find(|&number| at(number).is_some_and(|found| found.id == *run))
        };
        let focused = number_of(&selection.focused);
        // The table marks the focused run; what is shown in charts has its eye open.
        memory.table.selected = focused.into_iter().collect();
        memory.table.cursor = memory.table.cursor.or(focused);
        let mut done = Cells::default();
        let renaming = &mut self.renaming;
        let table = |ui: &mut Ui| {
            Table::new("runs", "Runs", &columns, self.order.numbers())
                .highlight(number_of(&selection.hovered_before))
                .show(
                    ui,
                    &mut memory.table,
                    |number| at(number).map(|run| cx.state.run_name(&run.id)).unwrap_or_default(),
                    |ui, number, column| {
                        let Some(run) = at(number) else { return };
                        let name = || cx.state.run_name(&run.id);
                        match (column.id, by_title.get(column.id)) {
                            (EYE, _) => done.eye_ui(ui, run, &name(), selection.is_visible(&run.id)),
                            (MENU, _) => done.menu_button_ui(ui, run, &name()),
                            (_, Some(Column::Name)) => {
                                let is_focused = selection.focused.as_ref() == Some(&run.id);
                                let is_baseline = selection.baseline.as_ref() == Some(&run.id);
                                done.name_ui(ui, run, &name(), renaming, is_focused, is_baseline);
                            }
                            (_, Some(Column::State)) => state_cell_ui(ui, run),
                            (_, Some(other)) => cell_ui(ui, other, run),
                            _ => {}
                        }
                    },
                )
        };
        let response = ScrollArea::horizontal().auto_shrink([false, false]).show(ui, table).inner;
        let id_of = |number: u64| at(number).map(|run| run.id.clone());
        let (hovered, clicked) = (response.hovered.and_then(id_of), response.clicked.and_then(id_of));
        let activated = response.activated.and_then(|number| at(number).cloned());
        let context = response.context.and_then(id_of);
        let cursor = memory.table.cursor.and_then(id_of);
        let (command, shift) = ui.input(|i| (i.modifiers.command, i.modifiers.shift));
        let wanted = match (&clicked, response.selection_changed) {
            (Some(run), _) if command => Eyes::Toggle(run.clone()),
            (Some(_), _) if shift => Eyes::open(&memory.table.selected, id_of),
            (None, true) if command || shift => Eyes::open(&memory.table.selected, id_of),
            (None, true) => cursor.clone().map_or(Eyes::Keep, Eyes::Toggle),
            _ => Eyes::Keep,
        };
        // From here on the state may change.
        let selection = &mut cx.state.selection;
        match wanted {
            Eyes::Keep => {}
            Eyes::Toggle(run) => selection.toggle_visible(&run),
            Eyes::Open(runs) => selection.visible.extend(runs),
        }
        if let Some(run) = hovered {
            selection.hovered = Some(run);
        }
        if let Some(run) = clicked.clone().filter(|_| !command && !shift) {
            selection.focused = Some(run);
        } else if clicked.is_none() && cursor.is_some() && arrows(ui) {
            selection.focused = cursor;
        }
        if let Some(run) = activated {
            if ui.input(|i| i.pointer.button_double_clicked(PointerButton::Primary)) {
                self.renaming = Some((run.id.clone(), run.name.clone(), true));
            } else {
                cx.act(Action::Inspect(run.id));
            }
        }
        if let Some(run) = context {
            let at = ui.input(|i| i.pointer.interact_pos()).unwrap_or_else(|| ui.cursor().min);
            self.menu = Some((run, at));
        }
        self.carry_out(done, cx);
    }

    fn carry_out(&mut self, done: Cells, cx: &mut PanelContext<'_>) {
        if let Some(run) = done.eye {
            cx.state.selection.toggle_visible(&run);
        }
        if let Some(menu) = done.menu {
            self.menu = Some(menu);
        }
        if let Some((run, name)) = done.renamed {
            if !name.is_empty() && cx.state.run(&run).is_some_and(|summary| summary.name != name) {
                cx.send(Command::Edit { run, edit: RunEdit::Rename(name) });
            }
            self.renaming = None;
        }
        if done.rename_cancelled {
            self.renaming = None;
        }
    }

    /// Keys for the focused run, as long as nothing is typed.
    fn keys(&mut self, ui: &Ui, memory: &Memory, cx: &mut PanelContext<'_>) {
        if ui.ctx().text_edit_focused() || self.export.is_some() || self.menu.is_some() {
            return;
        }
        let at = |number: u64| self.order.place(number).and_then(|index| cx.state.runs.get(index));
        let cursor = memory.table.cursor.and_then(at).map(|run| run.id.clone());
        let Some(run) = cx.state.selection.focused.clone().or(cursor) else { return };
        let pressed = |key: Key| ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key));
        if pressed(Key::P) {
            cx.state.selection.toggle_baseline(&run);
        }
        if pressed(Key::F2)
            && let Some(summary) = cx.state.run(&run)
        {
            self.renaming = Some((run.clone(), summary.name.clone(), true));
        }
        if pressed(Key::Delete) && cx.state.run(&run).is_some_and(|summary| summary.state.is_ended()) {
            cx.act(Action::Delete(run));
        }
    }

    /// The menu of a run, opened by a right click or its button.
    fn popup_ui(&mut self, ui: &Ui, cx: &mut PanelContext<'_>) {
        let Some((id, at)) = self.menu.clone() else { return };
        let Some(run) = cx.state.run(&id).cloned() else {
            self.menu = None;
            return;
        };
        let mut open = true;
        let mut wanted = None;
        egui::Popup::new(Id::unique(("run menu", run.number)), ui.ctx().clone(), at, ui.layer_id())
            .kind(egui::PopupKind::Menu)
            .layout(Layout::top_down_justified(Align::Min))
            .style(menu_style)
            .accessible_name(format!("Actions for {}", cx.state.run_name(&run.id)))
            .open_bool(&mut open)
            .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
            .show(|ui| {
                ui.set_max_height(ui.ctx().content_rect().height() - 40.0);
                wanted = run_menu_ui(ui, &run, &mut self.tag, cx);
            });
        if !open {
            self.menu = None;
            self.tag.clear();
        }
        match wanted {
            Some(Wanted::Rename(id)) => self.renaming = Some((id, run.name, true)),
            Some(Wanted::Export(taking)) => self.export = Some(ExportDialog::new("runs", taking, cx)),
            None => {}
        }
    }
}

/// Runs whose records cannot be read, each with what is wrong.
fn damaged_ui(ui: &mut Ui, state: &State) {
    if state.damaged.is_empty() {
        return;
    }
    let error = theme::palette(ui.visuals()).error;
    let count = state.damaged.len() as u64;
    let title = format!(
        "{} damaged and left out",
        if count == 1 { "1 run is".to_owned() } else { format!("{count} runs are") }
    );
    egui::CollapsingHeader::new(RichText::new(title).color(error)).id_salt("damaged").default_open(count <= 3).show(
        ui,
        |ui| {
            for run in &state.damaged {
                let name = escaped_line(run.name.as_deref().unwrap_or("?"));
                ui.label(format!("#{} {name}: {}.", run.number, run.why()));
            }
        },
    );
}

fn arrows(ui: &Ui) -> bool {
    let keys = [Key::ArrowUp, Key::ArrowDown, Key::PageUp, Key::PageDown, Key::Home, Key::End];
    !ui.ctx().text_edit_focused() && ui.input(|i| keys.iter().any(|&key| i.key_pressed(key)))
}
