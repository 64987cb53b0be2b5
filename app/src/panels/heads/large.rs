//! One map large, with its tokens, and what the chosen query attends to.

use std::collections::BTreeMap;

use egui::{RichText, Ui, vec2};
use headroom_engine::{attention::HeadAt, config::counted};

use super::tokens::Kept;
use crate::{
    export::MapFigure,
    format,
    panels::analysis::{MapStyle, head_name},
    plot::{HeatAxis, HeatData, Tone},
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
};

/// Keys that are listed for a query.
const TOLD: usize = 6;

fn axes(kept: &Kept) -> (HeatAxis, HeatAxis) {
    (HeatAxis::names("Query", kept.words.clone()), HeatAxis::names("Key", kept.words.clone()))
}

fn tone(map: &HeatData, look: MapStyle, is_difference: bool) -> Tone {
    if is_difference {
        Tone::fitting(ColourMap::Difference, look.scale, map.extent())
    } else if look.is_whole {
        Tone::between(look.colours, look.scale, 0.0, 1.0)
    } else {
        Tone::fitting(look.colours, look.scale, map.extent())
    }
}

/// The map of a head as it is exported where nobody zoomed: the whole of it, special tokens left out where that is wanted.
pub fn head_figure(
    head: HeadAt,
    map: &HeatData,
    (target, tokens): (&str, &[String]),
    hides_special: bool,
    look: MapStyle,
) -> MapFigure {
    let mut kept = Kept::default();
    kept.update(map, tokens, hides_special);
    let name = head_name(head);
    let large = Large { name: &name, kept: &kept, map: &kept.map, is_difference: false, look };
    titled(large.figure(&HeatState::default()), target, tokens)
}

/// The figure of a head's map with what it is of.
pub(super) fn titled(figure: MapFigure, target: &str, tokens: &[String]) -> MapFigure {
    MapFigure {
        title: format!("Attention of {}", figure.title),
        subtitle: format!("{target}, {}", counted(tokens.len(), "token")),
        metadata: BTreeMap::from([
            ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
            ("model".to_owned(), target.to_owned()),
            ("text".to_owned(), tokens.join(" ")),
        ]),
        ..figure
    }
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
    /// How it looks.
    pub look: MapStyle,
}

impl Large<'_> {
    /// Draws it. `locked` is the cell that was clicked: its query stays the one that is described.
    pub fn ui(&self, ui: &mut Ui, height: f32, state: &mut HeatState, locked: &mut Option<(usize, usize)>) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(self.name).color(palette.strong));
        let (rows, columns) = axes(self.kept);
        let words = &self.kept.words;
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let place = |at: usize| self.kept.places.get(at).copied().unwrap_or(at);
        let cell_name = |row: usize, column: usize| {
            format!("{} \"{}\" attends to {} \"{}\"", place(row), word(row), place(column), word(column))
        };
        let inside = locked.filter(|(row, column)| *row < self.map.rows() && *column < self.map.columns());
        let shown = HeatMap::new(self.name, self.map)
            .axes(&rows, &columns)
            .tone(tone(self.map, self.look, self.is_difference))
            .value(if self.is_difference { "Difference" } else { "Attention" })
            .cell_name(&cell_name)
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

    /// The map as it is exported: the part that is seen.
    pub fn figure(&self, state: &HeatState) -> MapFigure {
        let tone = tone(self.map, self.look, self.is_difference);
        let figure = MapFigure::new(self.name, self.map.clone(), axes(self.kept), tone);
        let value = if self.is_difference { "Difference" } else { "Attention" }.to_owned();
        MapFigure { value, ..figure }.seen(state.seen(self.map))
    }
}
