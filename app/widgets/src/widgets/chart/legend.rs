//! The legend under a chart, or over several.

use egui::{Color32, RichText, Sense, TextStyle, Ui};

use super::line::ChartLine;
use crate::{
    format::Names,
    theme::{self, LineStyle},
    widgets::{brief as brief_name, swatch_ui},
};

/// Entries beyond this many are counted only.
const LEGEND_ENTRIES: usize = 24;
/// Room of a swatch with what stands before and behind it, in points.
const SWATCH: f32 = 36.0;

/// A line in a legend.
#[derive(Clone, Copy, Debug)]
pub struct LegendEntry<'a> {
    /// As [`ChartLine::id`].
    pub id: u64,
    /// As [`ChartLine::name`].
    pub name: &'a str,
    /// How the line is drawn.
    pub style: LineStyle,
}

impl<'a> From<&ChartLine<'a>> for LegendEntry<'a> {
    fn from(line: &ChartLine<'a>) -> Self {
        Self { id: line.id, name: line.name, style: line.style() }
    }
}

/// Draws names and swatches; returns the ids of the lines under the pointer and clicked. `highlight` is written stronger.
pub fn legend_ui(ui: &mut Ui, entries: &[LegendEntry<'_>], highlight: Option<u64>) -> (Option<u64>, Option<u64>) {
    let (mut hovered, mut clicked) = (None, None);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let mut listed: Vec<(&str, Color32)> = Vec::new();
        let names: Names = entries.iter().map(|entry| entry.name).collect();
        for (index, entry) in entries.iter().enumerate() {
            if listed.contains(&(entry.name, entry.style.colour)) {
                continue;
            }
            if listed.len() == LEGEND_ENTRIES {
                ui.label(RichText::new(format!("+{}", entries.len() - index)).small().weak());
                break;
            }
            let brief = brief_name(ui, entry.name, &names);
            let font = TextStyle::Small.resolve(ui.style());
            let text = |fonts: &mut egui::epaint::text::FontsView<'_>| {
                fonts.layout_no_wrap(brief.clone(), font, Color32::PLACEHOLDER).size().x
            };
            let width = ui.fonts_mut(text) + SWATCH;
            if !listed.is_empty() && ui.available_size_before_wrap().x < width {
                // Swatch and name stay together.
                ui.end_row();
            }
            listed.push((entry.name, entry.style.colour));
            let shown = ui.push_id((entry.id, index), |ui| {
                let swatch = swatch_ui(ui, entry.style);
                let mut name = RichText::new(&brief).small();
                if highlight == Some(entry.id) {
                    name = name.color(theme::palette(ui.visuals()).strong);
                }
                let label = ui.add(egui::Label::new(name).selectable(false).sense(Sense::CLICK | Sense::HOVER));
                let label = if brief == entry.name { label } else { label.on_hover_text(entry.name) };
                swatch.union(label)
            });
            ui.add_space(8.0);
            if shown.inner.hovered() {
                hovered = Some(entry.id);
            }
            if shown.inner.clicked() {
                clicked = Some(entry.id);
            }
        }
    });
    (hovered, clicked)
}
