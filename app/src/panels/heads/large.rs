//! One map large, with its tokens, and what the chosen query attends to.

use egui::{RichText, Ui, vec2};
use headroom_engine::attention::HeadAt;

use super::tokens::{Kept, MASKED, attends, of_text, token_axes};
use crate::{
    export::MapFigure,
    format,
    panels::analysis::{MapStyle, head_name},
    plot::{HeatData, Tone},
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
};

/// Keys that are listed for a query.
const TOLD: usize = 6;

/// The map of a head as it is exported where nobody zoomed: the whole of it, special tokens left out where that is wanted.
pub fn head_figure(
    head: HeadAt,
    map: &HeatData,
    (target, tokens): (&str, &[String]),
    hides_special: bool,
    style: MapStyle,
) -> MapFigure {
    let mut kept = Kept::default();
    kept.update(map, tokens, hides_special);
    let name = head_name(head);
    let large = Large { name: &name, kept: &kept, map: &kept.map, is_difference: false, style };
    titled(large.figure(&HeatState::default()), target, tokens)
}

/// The figure of a head's map with what it is of.
pub(super) fn titled(figure: MapFigure, target: &str, tokens: &[String]) -> MapFigure {
    of_text(MapFigure { title: format!("Attention of {}", figure.title), ..figure }, target, tokens)
}

/// What is drawn large.
pub struct Large<'a> {
    /// Its name: "L3H7".
    pub name: &'a str,
    /// The tokens.
    pub kept: &'a Kept,
    /// The values: its own, or a difference.
    pub map: &'a HeatData,
    /// Whether they are a difference.
    pub is_difference: bool,
    /// Its colours.
    pub style: MapStyle,
}

impl Large<'_> {
    /// Draws it. `locked` is the cell that was clicked: its query stays the one that is described.
    pub fn ui(&self, ui: &mut Ui, height: f32, state: &mut HeatState, locked: &mut Option<(usize, usize)>) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(self.name).color(palette.strong));
        let place = |at: usize| self.kept.places.get(at).copied().unwrap_or(at);
        let cell_name = |row: usize, column: usize| attends((&self.kept.words, self.map), place, row, column);
        let inside = locked.filter(|(row, column)| *row < self.map.rows() && *column < self.map.columns());
        let shown = HeatMap::of(self.name, &self.whole())
            .cell_name(&cell_name)
            .gap(MASKED)
            .selected(inside)
            .room(vec2(ui.available_width(), height))
            .show(ui, state);
        if let Some(clicked) = shown.clicked {
            *locked = if *locked == Some(clicked) { None } else { Some(clicked) };
        }
        let told = locked.or(shown.hovered).map(|(row, _)| row).filter(|row| *row < self.map.rows());
        let line = told.map_or_else(
            || "Point at a row to see what its query attends to. A click locks it, Esc releases it.".to_owned(),
            |row| self.row_words(row),
        );
        ui.label(RichText::new(line).small().color(if told.is_some() { palette.text } else { palette.weak }));
    }

    /// What a query attends to most: `5 "river": the 0.42, old 0.20; sum 1.00`.
    fn row_words(&self, row: usize) -> String {
        let word = |at: usize| self.kept.words.get(at).map_or("", String::as_str);
        let mut keys: Vec<(usize, f32)> =
            (0..self.map.columns()).map(|column| (column, self.map.at(row, column))).collect();
        keys.retain(|(_, value)| !value.is_nan());
        let sum: f32 = keys.iter().map(|(_, value)| value).sum();
        keys.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let told: Vec<String> = keys
            .iter()
            .take(TOLD)
            .map(|(column, value)| format!("{} {}", word(*column), format::fixed(f64::from(*value), 3)))
            .collect();
        let place = self.kept.places.get(row).copied().unwrap_or(row);
        format!("{place} \"{}\": {}; sum of the row {}", word(row), told.join(", "), format::fixed(f64::from(sum), 3))
    }

    fn whole(&self) -> MapFigure {
        let extent = self.map.extent();
        let (tone, value) = if self.is_difference {
            (Tone::fitting(ColourMap::Difference, self.style.scale, extent), "Difference")
        } else {
            (self.style.tone(extent), "Attention")
        };
        MapFigure::new(self.name, self.map.clone(), token_axes(&self.kept.words), tone).value(value)
    }

    /// The map as it is exported: the part that is seen.
    pub fn figure(&self, state: &HeatState) -> MapFigure {
        state.seen_of(self.whole())
    }
}
