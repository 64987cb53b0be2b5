//! Which columns the table has, and by what its runs are grouped: menus with a field that searches them.

use std::collections::BTreeSet;

use egui::{
    Button, PopupCloseBehavior, RichText, ScrollArea, TextEdit, Ui,
    containers::menu::{MenuButton, MenuConfig},
};
use headroom_engine::config::counted;

use super::{
    Column, GroupBy,
    memory::Memory,
    table_columns::{Columns, some_values},
};
use crate::{
    context::PanelContext,
    theme,
    widgets::{entered, focus_when_opened},
};

/// Height of the lists, in points.
const HEIGHT: f32 = 380.0;
/// Width of the search fields.
const WIDTH: f32 = 280.0;

/// What the menus keep while they are open.
#[derive(Default)]
pub(super) struct Chooser {
    /// What is typed into the search fields.
    search: String,
    /// The lines of the menu of columns: the columns of the table when it was opened, and the other keys of the configs.
    lines: [Vec<Column>; 2],
    /// Whether some configs were still to be read then.
    was_reading: bool,
    /// When it was drawn last: a menu that was closed meanwhile begins anew.
    pass: u64,
}

impl Chooser {
    /// Brings the lines up to date. They stay where they are under the pointer: what is ticked or pinned moves in the table
    /// alone, and what is new comes last.
    fn update(&mut self, columns: &Columns, memory: &Memory, is_reading: bool, pass: u64) {
        let was_closed = self.pass + 1 < pass;
        self.pass = pass;
        let was_reading = std::mem::replace(&mut self.was_reading, is_reading);
        let is_key = |key: &&String| !memory.config_keys.contains(key);
        let of_table = columns.all().iter().map(|titled| titled.column.clone());
        let now = [
            of_table.filter(|column| *column != Column::Name).collect::<Vec<Column>>(),
            columns.config_keys().iter().filter(is_key).cloned().map(Column::Config).collect(),
        ];
        if was_closed {
            self.lines = now;
            return;
        }
        // Which keys differ, and stand first, is known once all configs are.
        if was_reading {
            self.lines[1].clear();
        }
        for lines in &mut self.lines {
            lines.retain(|column| now.iter().any(|now| now.contains(column)));
        }
        let known: BTreeSet<Column> = self.lines.iter().flatten().cloned().collect();
        for (lines, now) in self.lines.iter_mut().zip(now) {
            lines.extend(now.into_iter().filter(|column| !known.contains(column)));
        }
    }
}

fn menu(ui: &mut Ui, title: &str, add: impl FnOnce(&mut Ui)) {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let menu = MenuButton::new(title).config(config).ui(ui, |ui| {
        ui.set_min_width(WIDTH + 60.0);
        add(ui);
    });
    drop(menu);
}

/// Draws the menu of columns: metrics, and every key of the configs; each can be shown and pinned.
pub(super) fn columns_menu_ui(
    ui: &mut Ui,
    columns: &Columns,
    memory: &mut Memory,
    chooser: &mut Chooser,
    cx: &mut PanelContext<'_>,
) {
    menu(ui, "Columns", |ui| {
        let missing = cx.state.want_configs();
        let is_reading = missing > 0 || !columns.is_of(&cx.state.configs);
        chooser.update(columns, memory, is_reading, ui.ctx().cumulative_pass_nr());
        // Enter is a click on the first line.
        let mut is_entered = search_ui(ui, &mut chooser.search, "Search columns", "Search: loss, layers, reuse…");
        let weak = theme::palette(ui.visuals()).weak;
        let wanted = chooser.search.trim().to_lowercase();
        let titled = |column: &Column| (column.clone(), column.to_string());
        let fits = |(_, title): &(Column, String)| wanted.is_empty() || title.to_lowercase().contains(&wanted);
        let found = chooser.lines.each_ref().map(|lines| lines.iter().map(titled).filter(fits).collect::<Vec<_>>());
        ScrollArea::vertical().max_height(HEIGHT).min_scrolled_height(HEIGHT).show(ui, |ui| {
            let [of_table, keys] = &found;
            for (column, title) in of_table {
                line_ui(ui, (column, title), std::mem::take(&mut is_entered), || title.clone(), memory);
            }
            if !keys.is_empty() {
                ui.separator();
                ui.label(RichText::new("From the configs").small().color(weak));
            }
            for (column, key) in keys {
                let values = || some_values(key, &cx.state.runs, &cx.state.configs);
                line_ui(ui, (column, key), std::mem::take(&mut is_entered), values, memory);
            }
            if of_table.is_empty() && keys.is_empty() {
                ui.label(RichText::new("No column matches.").color(weak));
            }
            if missing > 0 {
                ui.label(RichText::new(format!("Reading {}…", counted(missing as u64, "config"))).color(weak));
            }
        });
        ui.separator();
        if ui.button("The usual columns").on_hover_text("Those that there is room for").clicked() {
            (memory.chose_columns, memory.config_keys, memory.pinned) = (false, Vec::new(), Vec::new());
        }
    });
}

/// A column that can be shown and pinned; `turns`: it is shown or hidden without a click.
fn line_ui(
    ui: &mut Ui,
    (column, title): (&Column, &str),
    turns: bool,
    about: impl FnOnce() -> String,
    memory: &mut Memory,
) {
    let is_key = matches!(column, Column::Config(_));
    let was =
        if is_key { memory.config_keys.iter().any(|key| key == title) } else { !memory.table.hidden.contains(title) };
    let mut is_shown = was != turns;
    ui.horizontal(|ui| {
        ui.checkbox(&mut is_shown, title).on_hover_ui(|ui| drop(ui.label(about())));
        let is_pinned = memory.pinned.contains(column);
        let pin =
            ui.add(Button::selectable(is_pinned, RichText::new(if is_pinned { "Pinned" } else { "Pin" }).small()));
        let pin = pin.on_hover_text("A pinned column stands beside the name, here and in lists of runs");
        if pin.accessible_name(format!("Pin the column {title}")).clicked() {
            memory.toggle_pin(column);
            memory.chose_columns = true;
            is_shown |= !is_pinned;
        }
    });
    if is_shown == was {
        return;
    }
    memory.chose_columns = true;
    match (is_key, is_shown) {
        (true, true) => memory.config_keys.push(title.to_owned()),
        (true, false) => memory.config_keys.retain(|key| key != title),
        (false, true) => drop(memory.table.hidden.remove(title)),
        (false, false) => drop(memory.table.hidden.insert(title.to_owned())),
    }
    if !is_shown {
        memory.pinned.retain(|pinned| pinned != column);
    }
}

/// Draws the menu of groups.
pub(super) fn groups_menu_ui(
    ui: &mut Ui,
    columns: &Columns,
    memory: &mut Memory,
    chooser: &mut Chooser,
    cx: &mut PanelContext<'_>,
) {
    let title =
        memory.group.as_ref().map_or_else(|| "Group".to_owned(), |group| format!("Group: {}", lower(group.label())));
    menu(ui, &title, |ui| {
        cx.state.want_configs();
        let mut chosen = None;
        if ui.selectable_label(memory.group.is_none(), "No groups").clicked() {
            chosen = Some(None);
        }
        for group in [GroupBy::Tag, GroupBy::Race] {
            if ui.selectable_label(memory.group.as_ref() == Some(&group), group.label()).clicked() {
                chosen = Some(Some(group));
            }
        }
        ui.separator();
        let mut is_entered =
            search_ui(ui, &mut chooser.search, "Search config keys", "By a key of the config: layers…");
        let wanted = chooser.search.trim().to_lowercase();
        ScrollArea::vertical().max_height(HEIGHT).min_scrolled_height(HEIGHT).show(ui, |ui| {
            let keys = columns.config_keys().iter().filter(|key| key.to_lowercase().contains(&wanted));
            for key in keys {
                let group = GroupBy::Config(key.clone());
                let line = ui.selectable_label(memory.group.as_ref() == Some(&group), key.as_str());
                if line.accessible_name(format!("Group by {key}")).clicked() || std::mem::take(&mut is_entered) {
                    chosen = Some(Some(group));
                }
            }
        });
        if let Some(group) = chosen {
            memory.group = group;
            memory.folded.clear();
            ui.close();
        }
    });
}

/// "By tag" in the middle of a sentence; keys of configs stay as they are.
fn lower(label: &str) -> String {
    if label.starts_with("By ") { label.to_lowercase() } else { label.to_owned() }
}

/// The search field of a menu; whether Enter was pressed behind what is searched for.
fn search_ui(ui: &mut Ui, search: &mut String, name: &str, hint: &str) -> bool {
    let style = ui.ctx().global_style();
    let field = ui.scope(|ui| {
        // A field among the entries looks like a field elsewhere.
        ui.set_style(style);
        ui.add(TextEdit::singleline(search).desired_width(WIDTH).hint_text(hint)).accessible_name(name)
    });
    focus_when_opened(ui, &field.inner);
    entered(ui, &field.inner) && !search.trim().is_empty()
}
