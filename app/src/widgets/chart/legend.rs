//! The legend under a chart.

use egui::{Color32, RichText, Sense, TextStyle, Ui};

use super::plot::{Chart, ChartResponse};
use crate::{
    format::Names,
    theme,
    widgets::{brief as brief_name, swatch_ui},
};

/// Entries beyond this many are counted only.
const LEGEND_ENTRIES: usize = 24;
/// Room of a swatch with what stands before and behind it, in points.
const SWATCH: f32 = 36.0;

impl Chart<'_> {
    /// Names and swatches; pointing at one highlights its line.
    pub(super) fn legend_ui(&self, ui: &mut Ui, shown: &mut ChartResponse) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let mut listed: Vec<(&str, Color32)> = Vec::new();
            let names: Names = self.lines.iter().map(|line| line.name).collect();
            for (index, line) in self.lines.iter().enumerate() {
                if listed.contains(&(line.name, line.colour)) {
                    continue;
                }
                if listed.len() == LEGEND_ENTRIES {
                    ui.label(RichText::new(format!("+{}", self.lines.len() - index)).small().weak());
                    break;
                }
                let brief = brief_name(ui, line.name, &names);
                let font = TextStyle::Small.resolve(ui.style());
                let text = |fonts: &mut egui::epaint::text::FontsView<'_>| {
                    fonts.layout_no_wrap(brief.clone(), font, Color32::PLACEHOLDER).size().x
                };
                let width = ui.fonts_mut(text) + SWATCH;
                if !listed.is_empty() && ui.available_size_before_wrap().x < width {
                    // Swatch and name stay together.
                    ui.end_row();
                }
                listed.push((line.name, line.colour));
                let entry = ui.push_id((line.id, index), |ui| {
                    let swatch = swatch_ui(ui, line.style());
                    let mut name = RichText::new(&brief).small();
                    if self.highlight == Some(line.id) {
                        name = name.color(theme::palette(ui.visuals()).strong);
                    }
                    let label = ui.add(egui::Label::new(name).selectable(false).sense(Sense::CLICK | Sense::HOVER));
                    let label = if brief == line.name { label } else { label.on_hover_text(line.name) };
                    swatch.union(label)
                });
                ui.add_space(8.0);
                if entry.inner.hovered() {
                    shown.hovered = Some(line.id);
                }
                if entry.inner.clicked() {
                    shown.clicked = Some(line.id);
                }
            }
        });
    }
}
