//! What stands above the table: the filter and what it is good for, columns, groups, and the operations on several runs.

use egui::{Button, RichText, TextEdit, Ui};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
};

use super::{
    Column, RunFields, RunsPanel, Wish,
    chooser::{columns_menu_ui, groups_menu_ui},
    memory::Memory,
    saved_filters::saved_filters_ui,
    several::several_ui,
    table_columns::Titled,
};
use crate::{
    context::{Action, PanelContext},
    export::{Cell, TextTable},
    format,
    messages::Level,
    state::State,
    theme,
};

/// Runs that one stroke shows at most: charts of more lines say nothing.
const MOST_SHOWN: usize = 200;
/// Width of the filter, the least that it is cut to, and the room of what stands beside it, in points.
const FILTER: f32 = 298.0;
const LEAST_FILTER: f32 = 200.0;
const BESIDE_FILTER: f32 = 484.0;
/// Room of a line with the operations on several runs, in points.
const SEVERAL: f32 = 970.0;

impl RunsPanel {
    pub(super) fn bar_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            // Narrower where the last button would take a line of its own.
            let width = (ui.available_width() - BESIDE_FILTER).clamp(LEAST_FILTER, FILTER);
            let hint =
                if width < FILTER { "Filter: loss<2, or words" } else { "Filter: loss<2 and model.layers=4, or words" };
            let typed = ui.add(TextEdit::singleline(&mut memory.filter).desired_width(width).hint_text(hint));
            let typed = typed.accessible_name("Filter runs").on_hover_text(
                "Compares fields with < <= > >= = != and ~ (contains); and, or, not, parentheses.\n\
                 Fields: name, state, tag, seed, device, steps, parameters, duration, created …,\n\
                 metrics such as loss, validation/loss.best, and config keys such as model.layers.\n\
                 Plain words search name, tags, state and note.",
            );
            if std::mem::take(&mut self.wants_filter) {
                typed.request_focus();
            }
            // There while nothing is to be cleared, too, so that what stands behind it stays where it is.
            let clear = ui.add_enabled(!memory.filter.is_empty(), Button::new("×"));
            if clear.accessible_name("Clear filter").on_hover_text("Clears the filter").clicked() {
                memory.filter.clear();
            }
            saved_filters_ui(ui, &mut memory.filter, &mut self.filter_name, cx.settings);
            ui.checkbox(&mut memory.show_archived, "Show archived");
            groups_menu_ui(ui, &self.columns, memory, &mut self.chooser, cx);
            columns_menu_ui(ui, &self.columns, memory, &mut self.chooser, cx);
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
            sorting: memory
                .table
                .sorting
                .as_ref()
                .and_then(|sorting| Some((self.columns.of_title(&sorting.column)?.clone(), sorting.descending))),
            show_archived: memory.show_archived,
        };
        self.order.update(&cx.state.runs, self.print, &cx.state.configs, &wish);
        let has_config_column =
            self.columns.all().iter().any(|titled| {
                matches!(titled.column, Column::Config(_)) && !memory.table.hidden.contains(&titled.title)
            });
        let wants_configs =
            self.order.wants_configs() || has_config_column || matches!(memory.group, Some(super::GroupBy::Config(_)));
        let missing = if wants_configs { cx.state.want_configs() } else { 0 };
        self.rows.update(
            self.order.version(),
            &self.order,
            &cx.state.runs,
            &cx.state.configs,
            memory.group.as_ref(),
            &memory.folded,
        );
        ui.horizontal_wrapped(|ui| {
            // As high with buttons as without: the table below stays where it is.
            ui.set_min_height(ui.spacing().interact_size.y);
            self.found_ui(ui, memory, missing as u64, cx);
            let selected = self.selected(memory, &cx.state.runs);
            if selected.len() > 1 {
                ui.separator();
                ui.label(RichText::new(format!("{} selected", selected.len())).strong());
                if ui.available_width() >= SEVERAL {
                    let wanted = several_ui(ui, &selected, &mut self.tag, cx);
                    self.want_of_several(wanted, &selected, memory, cx);
                } else {
                    // In the menu of a selected row where they would take a second line and push the rows down under the pointer.
                    let button = ui.button("Do with them…");
                    if let Some(first) = selected.first().filter(|_| button.clicked()) {
                        self.menu = Some((first.id.clone(), button.rect.left_bottom()));
                    }
                }
            } else {
                self.eyes_ui(ui, memory, cx);
            }
        });
    }

    /// How many runs the filter finds, and what is wrong with it.
    fn found_ui(&self, ui: &mut Ui, memory: &Memory, missing: u64, cx: &PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        let (shown, all) = (self.order.numbers().len() as u64, cx.state.runs.len() as u64);
        let count = if shown == all {
            counted(all, "run")
        } else {
            format!("{} of {}", format::count(shown), counted(all, "run"))
        };
        ui.label(RichText::new(count).color(palette.weak));
        if let Some(error) = self.order.error() {
            let told = format!("{} The list is that of the filter before.", error.describe(&memory.filter));
            ui.label(RichText::new(told).color(palette.error));
        } else if missing > 0 {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label(format!("Reading the configs of {}…", counted(missing, "run")));
        } else if let Some(unknown) = self.order.unknown_field(&cx.state.runs, &cx.state.configs) {
            ui.label(RichText::new(unknown).color(palette.warning));
        }
    }

    /// What the filter finds is what charts show.
    fn eyes_ui(&self, ui: &mut Ui, memory: &Memory, cx: &mut PanelContext<'_>) {
        if self.order.error().is_some() {
            return;
        }
        let found = || {
            let runs = self.order.indices().iter().filter_map(|&index| cx.state.runs.get(index));
            runs.take(MOST_SHOWN).map(|run| run.id.clone()).collect::<Vec<RunId>>()
        };
        let about = if memory.filter.trim().is_empty() { "the runs of this list" } else { "what the filter finds" };
        let finds = !self.order.indices().is_empty();
        let only = ui.add_enabled(finds, Button::new("Show only these"));
        let only = only.on_hover_text(format!("Charts show {about}, and nothing else"));
        let too = ui.add_enabled(finds, Button::new("Show all these too"));
        let too = too.on_hover_text(format!("Charts show {about} beside what they show"));
        let none = ui.button("Hide all").on_hover_text("Charts show no run but the baseline");
        let wanted = (only.clicked() || too.clicked()).then(found);
        if let Some(found) = wanted {
            if only.clicked() {
                cx.state.selection.show_only(found);
            } else {
                cx.state.selection.visible.extend(found);
            }
            if self.order.indices().len() > MOST_SHOWN {
                let what = format!("Charts show the first {MOST_SHOWN} of these runs: more lines say nothing.");
                cx.act(Action::Say(Level::Info, what, "Narrow the filter.".to_owned()));
            }
        }
        if none.clicked() {
            cx.state.selection.visible.clear();
        }
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

    /// The table as it is shown, without the heads of groups.
    fn text_table(&self, state: &State, memory: &Memory) -> TextTable {
        let columns: Vec<&Titled> =
            self.columns.all().iter().filter(|titled| !memory.table.hidden.contains(&titled.title)).collect();
        let rows = self.order.indices().iter().filter_map(|&index| state.runs.get(index));
        let cell = |run: &RunSummary, column: &Column| match column {
            Column::Name => Cell::text(state.run_name(&run.id)),
            other => other.cell(&RunFields::of(run, &state.configs)),
        };
        TextTable {
            header: columns.iter().map(|titled| titled.title.clone()).collect(),
            rows: rows.map(|run| columns.iter().map(|titled| cell(run, &titled.column)).collect()).collect(),
        }
    }
}
