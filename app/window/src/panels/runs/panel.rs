//! The panel itself.

use std::collections::BTreeSet;

use egui::{
    Align, Id, InputState, Key, Layout, PointerButton, Pos2, RichText, ScrollArea, Ui, containers::menu::menu_style,
};
use headroom_engine::{
    protocol::{RunEdit, commands},
    store::{RunId, RunSummary},
    text::escaped_line,
};

use super::{
    Column, Order, RunFields,
    cells::{Cells, cell_ui, state_cell_ui},
    chooser::Chooser,
    delete_dialog::DeleteDialog,
    export_several::ExportSeveral,
    fingerprint,
    groups::Rows,
    head::{HeadRow, HeadWish, head_cell_ui},
    memory::Memory,
    menu::{Wanted, run_menu_ui},
    several::{WantedOfSeveral, several_ui, why_kept},
    table_columns::{Columns, EYE, MENU},
    tags::{TagWish, filter_of},
};
use crate::{
    common::{ExportDialog, blank_ui, no_runs_ui, working_ui},
    context::{Action, Panel, PanelContext, PanelId},
    keys::pressed_with,
    messages::Level,
    state::State,
    theme,
    widgets::Table,
};

/// The table of all runs.
#[derive(Default)]
pub struct RunsPanel {
    memory: Option<Memory>,
    pub(super) order: Order,
    pub(super) rows: Rows,
    pub(super) columns: Columns,
    pub(super) wants_filter: bool,
    renaming: Option<(RunId, String, bool)>,
    pub(super) menu: Option<(RunId, Pos2)>,
    /// The tag that is typed into the menu.
    pub(super) tag: String,
    /// The name that is typed for a filter.
    pub(super) filter_name: String,
    /// The menus of columns and groups.
    pub(super) chooser: Chooser,
    export: Option<ExportDialog>,
    export_several: Option<ExportSeveral>,
    delete: Option<DeleteDialog>,
    /// The focused run as the selection was made; where another one is focused elsewhere, that one alone is selected.
    focused: Option<RunId>,
    /// Changes when the runs may have.
    pub(super) print: u64,
}

impl Panel for RunsPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| Memory::of(cx.settings));
        self.print = fingerprint(&cx.state.runs);
        self.columns.update(&cx.state.runs, self.print, &cx.state.configs, &memory);
        if !memory.chose_columns {
            // Until the user chose: of the usual columns those that there is room for.
            let hidden = self.columns.without_room(&memory, ui.available_width(), ui.spacing().item_spacing.x);
            if memory.table.hidden != hidden {
                memory.table.hidden = hidden;
            }
        }
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
        self.popup_ui(ui, &mut memory, cx);
        self.dialogs_ui(ui, cx);
        memory.keep(cx.settings);
        self.memory = Some(memory);
    }

    fn focus_filter(&mut self) {
        self.wants_filter = true;
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        if self.menu.take().is_some()
            || self.renaming.take().is_some()
            || self.export.take().is_some()
            || self.export_several.take().is_some()
            || self.delete.take().is_some()
        {
            return true;
        }
        let selected = self.memory.as_mut().map(|memory| &mut memory.table.selected);
        // The focused one stays: it is marked in the next frame.
        selected.is_some_and(|selected| selected.len() > 1 && std::mem::take(&mut *selected).len() > 1)
    }
}

impl RunsPanel {
    fn dialogs_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        if let Some(mut export) = self.export_several.take()
            && export.ui(ui, cx)
        {
            self.export_several = Some(export);
        }
        if let Some(mut delete) = self.delete.take()
            && delete.ui(ui, cx)
        {
            self.delete = Some(delete);
        }
    }

    /// The selected runs, of those that the filter finds.
    pub(super) fn selected(&self, memory: &Memory, runs: &[RunSummary]) -> Vec<RunSummary> {
        let numbers: BTreeSet<u64> = memory.table.selected.iter().filter_map(|&row| Rows::number(row)).collect();
        let found = |number: &u64| self.order.is_shown(*number).then(|| self.order.place(*number)).flatten();
        numbers.iter().rev().filter_map(found).filter_map(|index| runs.get(index)).cloned().collect()
    }

    /// Asks more about what is wanted of several runs.
    pub(super) fn want_of_several(
        &mut self,
        wanted: Option<WantedOfSeveral>,
        runs: &[RunSummary],
        memory: &mut Memory,
        cx: &PanelContext<'_>,
    ) {
        let ids = || runs.iter().map(|run| run.id.clone()).collect::<Vec<RunId>>();
        match wanted {
            Some(WantedOfSeveral::Delete) => self.delete = Some(DeleteDialog::new(ids())),
            Some(WantedOfSeveral::Export) => self.export_several = Some(ExportSeveral::new(&ids(), cx)),
            Some(WantedOfSeveral::Deselect) => memory.table.selected.clear(),
            None => {}
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
        let width = ui.available_width() - ui.spacing().scroll.allocated_width();
        let columns = self.columns.spread(&memory.table.hidden, width, ui.spacing().item_spacing.x);
        let runs: &[RunSummary] = &cx.state.runs;
        let order = &self.order;
        let of_row = |row: u64| Rows::number(row).and_then(|number| order.place(number)).and_then(|at| runs.get(at));
        let selection = &cx.state.selection;
        let row_of = |run: &Option<RunId>| {
            let run = run.as_ref()?;
            self.rows.rows().iter().copied().find(|&row| of_row(row).is_some_and(|found| found.id == *run))
        };
        let focused = row_of(&selection.focused);
        if self.focused != selection.focused || memory.table.selected.is_empty() {
            self.focused.clone_from(&selection.focused);
            memory.table.selected = focused.into_iter().collect();
        }
        memory.table.cursor = memory.table.cursor.or(focused);
        memory.table.anchor = memory.table.anchor.or(focused);
        let (selected_before, cursor_before) = (memory.table.selected.clone(), memory.table.cursor);
        let highlight = row_of(&selection.hovered_before);
        let mut done = Cells::default();
        let renaming = &mut self.renaming;
        let rows: Vec<u64> = self.rows.rows().to_vec();
        let group_rows = std::cell::RefCell::new(&mut self.rows);
        let table_columns = &self.columns;
        let head_name = |row: u64| {
            let place = Rows::head(row)?;
            group_rows.borrow().groups().get(place).map(|group| group.label.clone())
        };
        let mut head_wish = None;
        let frozen = self.columns.frozen(&memory.table.hidden);
        let mut table = |ui: &mut Ui| {
            Table::new("runs", "Runs", &columns, &rows).highlight(highlight).frozen(frozen).show(
                ui,
                &mut memory.table,
                |row| of_row(row).map(|run| cx.state.run_name(&run.id)).or_else(|| head_name(row)).unwrap_or_default(),
                |ui, row, column| {
                    if let Some(place) = Rows::head(row) {
                        let head = HeadRow { place, state: cx.state, order };
                        let wish = head_cell_ui(
                            ui,
                            &head,
                            (column.id, table_columns.of_title(column.id)),
                            &mut group_rows.borrow_mut(),
                        );
                        head_wish = wish.or(head_wish.take());
                        return;
                    }
                    let Some(run) = of_row(row) else { return };
                    let name = || cx.state.run_name(&run.id);
                    match (column.id, table_columns.of_title(column.id)) {
                        (EYE, _) => {
                            let shown = selection.is_visible(&run.id).then(|| selection.style_of(&run.id));
                            done.eye_ui(ui, run, &name(), shown);
                        }
                        (MENU, _) => done.menu_button_ui(ui, run, &name()),
                        (_, Some(Column::Name)) => {
                            let is_focused = selection.focused.as_ref() == Some(&run.id);
                            let is_baseline = selection.baseline.as_ref() == Some(&run.id);
                            let names = (name(), cx.state.run_names());
                            done.name_ui(ui, run, (&names.0, names.1), renaming, is_focused, is_baseline);
                        }
                        (_, Some(Column::State)) => state_cell_ui(ui, run),
                        (_, Some(Column::Tags)) => done.tags_ui(ui, run, &name()),
                        (_, Some(other)) => cell_ui(ui, other, &RunFields::of(run, &cx.state.configs)),
                        _ => {}
                    }
                },
            )
        };
        let response = table(ui);
        let id_of = |row: u64| of_row(row).map(|run| run.id.clone());
        let (hovered, clicked) = (response.hovered.and_then(id_of), response.clicked.and_then(id_of));
        let activated = response.activated.and_then(|row| of_row(row).cloned());
        let context = response.context.and_then(|row| Some((row, id_of(row)?)));
        let toggled = response.toggled.and_then(id_of);
        let cursor = memory.table.cursor.and_then(id_of);
        let (command, shift) = ui.input(|i| (i.modifiers.command, i.modifiers.shift));
        let clicked_head = response.clicked.or(response.toggled).or(response.activated).and_then(Rows::head);
        if clicked_head.is_some() {
            // The head of a group folds it and is no run to be selected.
            memory.table.selected = selected_before;
            if response.activated.is_none() {
                memory.table.cursor = cursor_before;
            }
            head_wish = head_wish.or(clicked_head.map(HeadWish::Fold));
        }
        memory.table.selected.retain(|&row| Rows::head(row).is_none());
        if let Some((row, _)) = &context
            && !memory.table.selected.contains(row)
        {
            memory.table.selected = BTreeSet::from([*row]);
            (memory.table.anchor, memory.table.cursor) = (Some(*row), Some(*row));
        }
        let menu_of = context.as_ref().map(|(_, run)| run.clone());
        // From here on the state may change.
        cx.state.selection.together = memory.table.selected.len();
        let selection = &mut cx.state.selection;
        if let Some(run) = toggled {
            selection.toggle_visible(&run);
        }
        if let Some(run) = hovered {
            selection.hovered = Some(run);
        }
        if let Some(run) = clicked.clone().filter(|_| !command && !shift) {
            selection.focused = Some(run);
            self.focused.clone_from(&selection.focused);
        } else if let Some(run) = menu_of.filter(|_| memory.table.selected.len() == 1) {
            // Keys are about the run that is marked.
            selection.focused = Some(run);
            self.focused.clone_from(&selection.focused);
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
        if let Some((_, run)) = context {
            let at = ui.input(|i| i.pointer.interact_pos()).unwrap_or_else(|| ui.cursor().min);
            self.menu = Some((run, at));
        }
        if let Some(wish) = head_wish {
            self.fold_or_show(wish, memory, cx);
        }
        self.carry_out(done, memory, cx);
    }

    fn carry_out(&mut self, done: Cells, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        if let Some(run) = done.eye {
            cx.state.selection.toggle_visible(&run);
        }
        if let Some(menu) = done.menu {
            self.menu = Some(menu);
        }
        if let Some((run, name)) = done.renamed {
            if !name.is_empty() && cx.state.run(&run).is_some_and(|summary| summary.name != name) {
                cx.send(commands::Edit { run, edit: RunEdit::Rename(name) });
            }
            self.renaming = None;
        }
        if done.rename_cancelled {
            self.renaming = None;
        }
        if let Some(wish) = done.tag {
            wish_of_tag(wish, memory, cx);
        }
    }

    /// Keys for the focused run or the selected ones, as long as nothing is typed.
    fn keys(&mut self, ui: &Ui, memory: &Memory, cx: &mut PanelContext<'_>) {
        let has_dialog = self.export.is_some() || self.export_several.is_some() || self.delete.is_some();
        if ui.ctx().text_edit_focused() || has_dialog || self.menu.is_some() {
            return;
        }
        let was_pressed = |key: Key| ui.input(|input| input.key_pressed(key));
        if !KEYS.into_iter().any(was_pressed) {
            return;
        }
        let at = |row: u64| {
            Rows::number(row).and_then(|number| self.order.place(number)).and_then(|at| cx.state.runs.get(at))
        };
        // Nothing happens to a run that is not in sight, nor to any while the keyboard is at the head of a group.
        let is_seen = |run: &RunId| self.rows.rows().iter().any(|&row| at(row).is_some_and(|found| found.id == *run));
        if memory.table.cursor.is_some_and(|row| Rows::head(row).is_some()) {
            return;
        }
        let cursor = || memory.table.cursor.and_then(at).map(|run| run.id.clone()).filter(is_seen);
        let Some(run) = cx.state.selection.focused.clone().filter(is_seen).or_else(cursor) else { return };
        let pressed = |key: Key| ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key));
        if pressed(Key::P) {
            cx.state.selection.toggle_baseline(&run);
        }
        if pressed(Key::F2)
            && let Some(summary) = cx.state.run(&run)
        {
            self.renaming = Some((run.clone(), summary.name.clone(), true));
        }
        if pressed(Key::Delete) {
            let selected = self.selected(memory, &cx.state.runs);
            if selected.len() > 1 {
                self.delete = Some(DeleteDialog::new(selected.into_iter().map(|run| run.id).collect()));
            } else if let Some(summary) = cx.state.run(&run) {
                match why_kept(summary) {
                    None => cx.act(Action::Delete(run)),
                    Some(why) => {
                        let what = format!("\"{}\" is not deleted: {why}.", cx.state.run_name(&run));
                        cx.act(Action::Say(Level::Warning, what, String::new()));
                    }
                }
            }
        }
    }

    /// The menu of a run, or of all that are selected with it, opened by a right click or its button.
    fn popup_ui(&mut self, ui: &Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let Some((id, at)) = self.menu.clone() else { return };
        let Some(run) = cx.state.run(&id).cloned() else {
            self.menu = None;
            return;
        };
        let selected = self.selected(memory, &cx.state.runs);
        let several = selected.len() > 1 && selected.iter().any(|one| one.id == run.id);
        let mut open = true;
        let (mut wanted, mut of_several) = (None, None);
        let name = if several { format!("{} selected runs", selected.len()) } else { cx.state.run_name(&run.id) };
        egui::Popup::new(Id::unique(("run menu", run.number)), ui.ctx().clone(), at, ui.layer_id())
            .kind(egui::PopupKind::Menu)
            .layout(Layout::top_down_justified(Align::Min))
            .style(menu_style)
            .accessible_name(format!("Actions for {name}"))
            .open_bool(&mut open)
            .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
            .show(|ui| {
                // A run with many tags has more entries than a low window has room for.
                let most = ui.ctx().content_rect().height() - 40.0;
                ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, |ui| {
                    if several {
                        ui.set_min_width(210.0);
                        of_several = several_ui(ui, &selected, &mut self.tag, cx);
                    } else {
                        wanted = run_menu_ui(ui, &run, &mut self.tag, cx);
                    }
                });
            });
        if !open {
            // Esc closes the menu, and does no more than that.
            ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, Key::Escape));
            self.menu = None;
            self.tag.clear();
        }
        match wanted {
            Some(Wanted::Rename(id)) => self.renaming = Some((id, run.name, true)),
            Some(Wanted::Export(taking)) => self.export = Some(ExportDialog::new("runs", taking, cx)),
            Some(Wanted::Tag(wish)) => wish_of_tag(wish, memory, cx),
            None => {}
        }
        self.want_of_several(of_several, &selected, memory, cx);
    }

    /// Folds a group, or opens or closes the eyes of all its runs.
    fn fold_or_show(&self, wish: HeadWish, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let (HeadWish::Fold(place) | HeadWish::Eye(place)) = wish;
        let Some(group) = self.rows.groups().get(place) else { return };
        if matches!(wish, HeadWish::Fold(_)) {
            if !memory.folded.remove(&group.label) {
                memory.folded.insert(group.label.clone());
            }
            return;
        }
        let of = |number: &u64| self.order.place(*number).and_then(|at| cx.state.runs.get(at));
        let ids: Vec<RunId> = group.numbers.iter().filter_map(of).map(|run| run.id.clone()).collect();
        let all_shown = ids.iter().all(|run| cx.state.selection.is_visible(run));
        for run in ids {
            if all_shown {
                cx.state.selection.visible.remove(&run);
            } else {
                cx.state.selection.visible.insert(run);
            }
        }
    }
}

/// What keys do to a run: its baseline, its name, its end.
const KEYS: [Key; 3] = [Key::P, Key::F2, Key::Delete];

fn wish_of_tag(wish: TagWish, memory: &mut Memory, cx: &mut PanelContext<'_>) {
    match wish {
        TagWish::Compare(tag) => {
            cx.state.show_tag(&tag);
            cx.act(Action::Open(PanelId::COMPARE));
        }
        TagWish::Filter(tag) => memory.filter = filter_of(&tag),
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
    let is_plain = |i: &InputState, key: Key| pressed_with(i, key).is_some_and(|held| !held.shift);
    !ui.ctx().text_edit_focused() && ui.input(|i| keys.iter().any(|key| is_plain(i, *key)))
}
