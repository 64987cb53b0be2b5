//! The differences of the configs of the compared runs.

use std::collections::BTreeMap;

use egui::{CollapsingHeader, Grid, RichText, TextEdit, Ui};
use headroom_engine::{
    config::counted,
    store::{RunId, RunRecord, RunSummary},
};
use serde_json::Value;

use super::view::View;
use crate::{
    compare::ConfigDiff,
    context::{Action, PanelContext},
    export::TextTable,
    format::{self, Names},
    theme::{self, LineStyle},
    widgets::{brief, sideways_ui, swatch_ui},
};

/// The first run of a group, all of its runs, and its name.
type Group<'a> = (&'a RunSummary, &'a [RunSummary], &'a str);

/// Configs that fit side by side.
const MOST: usize = 24;

/// The section, with what it computed last.
#[derive(Default)]
pub struct ConfigSection {
    /// Stable numbers and names of the groups that the differences are of, and how many configs of each are loaded.
    key: Vec<(u64, String, usize)>,
    diff: ConfigDiff,
}

impl ConfigSection {
    /// Draws the section: of groups of runs with their names, or of runs alone. The baseline, if there is one, stands first and the
    /// others are marked where they differ.
    pub fn ui(&mut self, ui: &mut Ui, groups: &[(&[RunSummary], &str)], view: &mut View, cx: &mut PanelContext<'_>) {
        let title = RichText::new("Config differences").strong();
        CollapsingHeader::new(title).id_salt("config differences").default_open(true).show(ui, |ui| {
            let mut ordered: Vec<Group<'_>> =
                groups.iter().filter_map(|(runs, name)| Some((runs.first()?, *runs, *name))).collect();
            ordered.sort_by_key(|(run, ..)| cx.state.selection.baseline.as_ref() != Some(&run.id));
            let left_out = ordered.len().saturating_sub(MOST);
            ordered.truncate(MOST);
            for run in ordered.iter().flat_map(|(_, runs, _)| *runs) {
                cx.state.want_record(&run.id);
            }
            let loaded: Vec<Group<'_>> =
                ordered.iter().copied().filter(|(run, ..)| cx.state.records.contains_key(&run.id)).collect();
            if loaded.len() < ordered.len() {
                ui.horizontal(|ui| {
                    ui.add(egui::Spinner::new().size(14.0));
                    ui.label(format!("Loading {}…", counted(ordered.len() - loaded.len(), "config")));
                });
            }
            self.renew(&loaded, &cx.state.records);
            if loaded.len() < 2 {
                ui.label("Show a second run, or another group of runs, to see how their configs differ.");
                return;
            }
            self.bar_ui(ui, view, cx);
            if left_out > 0 {
                let text = format!(
                    "The first {MOST} runs are compared; {} more {} left out.",
                    format::count(left_out as u64),
                    if left_out == 1 { "is" } else { "are" }
                );
                ui.label(RichText::new(text).color(theme::palette(ui.visuals()).weak));
            }
            let head = |(run, _, name): &Group<'_>| (cx.state.selection.style_of(&run.id), (*name).to_owned());
            let heads: Vec<(LineStyle, String)> = loaded.iter().map(head).collect();
            self.grid_ui(ui, view, &heads);
        });
    }

    /// Finds the differences anew where other groups are shown, or more of their configs are loaded.
    fn renew(&mut self, loaded: &[Group<'_>], records: &BTreeMap<RunId, RunRecord>) {
        let configs = |runs: &[RunSummary]| -> Vec<&Value> {
            runs.iter().filter_map(|run| records.get(&run.id)).map(|record| &record.config).collect()
        };
        let key: Vec<(u64, String, usize)> =
            loaded.iter().map(|(run, runs, name)| (run.number, (*name).to_owned(), configs(runs).len())).collect();
        if self.key != key {
            self.diff = ConfigDiff::new(loaded.iter().map(|(_, runs, name)| ((*name).to_owned(), configs(runs))));
            self.key = key;
        }
    }

    fn bar_ui(&self, ui: &mut Ui, view: &mut View, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.checkbox(&mut view.only_differences, "Only differences");
            let search =
                TextEdit::singleline(&mut view.search).desired_width(180.0).hint_text("Search keys and values");
            ui.add(search).accessible_name("Search configs");
            let table = || self.diff.table(view.only_differences, &view.search);
            copy_menu_ui(ui, "Copy differences", "The config differences", table, cx);
        });
    }

    fn grid_ui(&self, ui: &mut Ui, view: &View, heads: &[(LineStyle, String)]) {
        let palette = theme::palette(ui.visuals());
        let names: Names = heads.iter().map(|(_, name)| name.as_str()).collect();
        let rows = self.diff.shown(view.only_differences, &view.search);
        if rows.is_empty() {
            let text = if view.search.trim().is_empty() {
                "The configs are the same in everything but the name."
            } else {
                "No key or value matches the search."
            };
            ui.label(RichText::new(text).color(palette.weak));
            return;
        }
        sideways_ui(ui, "configs", |ui| {
            Grid::new("config differences").striped(true).num_columns(self.key.len() + 1).spacing([18.0, 4.0]).show(
                ui,
                |ui| {
                    ui.label(RichText::new("Key").color(palette.weak));
                    for (style, name) in heads {
                        ui.horizontal(|ui| {
                            swatch_ui(ui, *style);
                            ui.label(RichText::new(brief(ui, name, &names)).color(palette.strong)).on_hover_text(name);
                        });
                    }
                    ui.end_row();
                    for row in rows {
                        ui.label(RichText::new(&row.key).monospace());
                        let base = row.values.first();
                        for value in &row.values {
                            let text = value.as_deref().unwrap_or("–");
                            let differs = Some(value) != base;
                            let shown =
                                RichText::new(short(text)).color(if differs { palette.accent } else { palette.text });
                            ui.label(shown).on_hover_text(text);
                        }
                        ui.end_row();
                    }
                },
            );
        });
    }
}

/// A menu that copies a table as Markdown, CSV or LaTeX.
pub fn copy_menu_ui(ui: &mut Ui, title: &str, what: &str, table: impl Fn() -> TextTable, cx: &mut PanelContext<'_>) {
    type Write = fn(&TextTable) -> String;
    let forms: [(&str, Write); 3] =
        [("Markdown", TextTable::to_markdown), ("CSV", TextTable::to_csv), ("LaTeX", TextTable::to_latex)];
    ui.menu_button(title, |ui| {
        for (name, write) in forms {
            if ui.button(format!("Copy as {name}")).clicked() {
                cx.act(Action::Copy(format!("{what} as {name}"), write(&table())));
                ui.close();
            }
        }
    });
}

/// The first 36 letters.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(36).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
