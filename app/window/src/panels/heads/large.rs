//! One map large, with its tokens, and what the chosen query attends to.

use egui::{RichText, Ui, vec2};
use headroom_engine::attention::HeadAt;

use super::tokens::{Kept, MASKED, attends, of_text, token_axes};
use crate::{
    export::MapFigure,
    format,
    panels::analysis::{MapStyle, head_name},
    plot::{HeatAxis, HeatData, Tone},
    theme::{self, ColourMap},
    widgets::{HeatLine, HeatMap, HeatState},
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

/// What was clicked in a large map, and stays the one that is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// A cell: its query is described.
    Cell(usize, usize),
    /// The name of a query or of a key.
    Line(HeatLine),
}

impl Lock {
    /// Whether it is inside a map.
    fn is_in(self, map: &HeatData) -> bool {
        match self {
            Self::Cell(row, column) => row < map.rows() && column < map.columns(),
            Self::Line(HeatLine::Row(row)) => row < map.rows(),
            Self::Line(HeatLine::Column(column)) => column < map.columns(),
        }
    }

    /// The query that is described, if it is one.
    pub fn query(self) -> Option<usize> {
        match self.line() {
            HeatLine::Row(row) => Some(row),
            HeatLine::Column(_) => None,
        }
    }

    /// The query or key that is described.
    fn line(self) -> HeatLine {
        match self {
            Self::Cell(row, _) => HeatLine::Row(row),
            Self::Line(line) => line,
        }
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
    /// Its colours.
    pub style: MapStyle,
}

/// What a large map may leave to the one beside it, where both have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The names of queries.
    pub queries: bool,
    /// The colour bar.
    pub bar: bool,
}

/// What to do with large maps, below them.
/// `flat`: the largest weight of the map, where its colours run so far above it that it looks even.
pub fn help_ui(ui: &mut Ui, flat: Option<f32>) {
    if let Some(most) = flat {
        let most = format::percent(f64::from(most));
        let words = format!("No weight is above {most}: without “0 to 1” the colours tell them apart.");
        ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).warning));
    }
    let text = "Point at a row to see what its query attends to, at the name of a key to see what attends to it. A click \
                locks it, Esc releases it.";
    ui.label(RichText::new(text).small().color(theme::palette(ui.visuals()).weak));
}

/// Below this largest weight a map whose colours run to 1 looks even.
const FLAT: f32 = 0.25;

/// The largest weight of a map that looks even in colours which run to 1.
pub fn looks_even(map: &HeatData, style: MapStyle) -> Option<f32> {
    Some(map.extent().most).filter(|most| style.is_whole && *most < FLAT)
}

impl Large<'_> {
    /// Draws it, so high; whether a query or key of it is described. What is `locked` stays the one that is.
    pub fn ui(&self, ui: &mut Ui, height: f32, left: Left, state: &mut HeatState, locked: &mut Option<Lock>) -> bool {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(self.name).color(palette.strong));
        let place = |at: usize| self.kept.places.get(at).copied().unwrap_or(at);
        let cell_name = |row: usize, column: usize| attends((&self.kept.words, self.map), place, row, column);
        let inside = locked.filter(|lock| lock.is_in(self.map));
        let cell = inside.and_then(|lock| if let Lock::Cell(row, column) = lock { Some((row, column)) } else { None });
        let line = inside.and_then(|lock| if let Lock::Line(line) = lock { Some(line) } else { None });
        let mut figure = self.whole();
        if left.queries {
            figure.row_axis = HeatAxis::default();
        }
        let map = HeatMap::of(self.name, &figure);
        let map = if left.bar { map.without_bar() } else { map };
        let shown = map
            .cell_name(&cell_name)
            .gap(MASKED)
            .selected(cell)
            .selected_line(line)
            .room(vec2(ui.available_width(), height))
            .show(ui, state);
        let clicked = shown.clicked.map(|(row, column)| Lock::Cell(row, column)).or(shown.named.map(Lock::Line));
        if clicked.is_some() {
            *locked = if *locked == clicked { None } else { clicked };
        }
        let pointed = shown.pointed.or(shown.hovered.map(|(row, _)| HeatLine::Row(row)));
        let told = locked.filter(|lock| lock.is_in(self.map)).map(Lock::line).or(pointed);
        let line = match told {
            None => return false,
            Some(HeatLine::Row(row)) => self.row_words(row),
            Some(HeatLine::Column(column)) => self.column_words(column),
        };
        ui.label(RichText::new(line).small().color(palette.text));
        true
    }

    /// Points that are not cells where it is so wide.
    pub fn beside_cells(&self, left: Left, width: f32) -> f32 {
        let (queries, _) = token_axes(&self.kept.words);
        let queries = if left.queries { HeatAxis::default() } else { queries };
        HeatMap::beside_cells(&queries, self.map.rows(), !left.bar, width)
    }

    /// Its colours.
    pub fn tone(&self) -> Tone {
        let extent = self.map.extent();
        if self.is_difference {
            Tone::fitting(ColourMap::Difference, self.style.scale, extent)
        } else {
            self.style.tone(extent)
        }
    }

    /// What attends to a key most: `2 "river" from: 5 fishes 0.42, 3 old 0.20`.
    fn column_words(&self, column: usize) -> String {
        let word = |at: usize| self.kept.words.get(at).map_or("", String::as_str);
        let place = |at: usize| self.kept.places.get(at).copied().unwrap_or(at);
        let mut queries: Vec<(usize, f32)> = (0..self.map.rows()).map(|row| (row, self.map.at(row, column))).collect();
        queries.retain(|(_, value)| !value.is_nan());
        queries.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let told: Vec<String> = queries
            .iter()
            .take(TOLD)
            .map(|(row, value)| format!("{} {} {}", place(*row), word(*row), format::fixed(f64::from(*value), 3)))
            .collect();
        let told = if told.is_empty() { "nothing".to_owned() } else { told.join(", ") };
        format!("To {} \"{}\" attend: {told}", place(column), word(column))
    }

    /// What a query attends to most: `5 "river": 4 the 0.42, 3 old 0.20; sum 1.00`.
    fn row_words(&self, row: usize) -> String {
        let word = |at: usize| self.kept.words.get(at).map_or("", String::as_str);
        let mut keys: Vec<(usize, f32)> =
            (0..self.map.columns()).map(|column| (column, self.map.at(row, column))).collect();
        keys.retain(|(_, value)| !value.is_nan());
        let sum: f32 = keys.iter().map(|(_, value)| value).sum();
        keys.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let place = |at: usize| self.kept.places.get(at).copied().unwrap_or(at);
        let told: Vec<String> = keys
            .iter()
            .take(TOLD)
            .map(|(column, value)| {
                format!("{} {} {}", place(*column), word(*column), format::fixed(f64::from(*value), 3))
            })
            .collect();
        let place = place(row);
        format!("{place} \"{}\": {}; sum of the row {}", word(row), told.join(", "), format::fixed(f64::from(sum), 3))
    }

    fn whole(&self) -> MapFigure {
        let value = if self.is_difference { "Difference" } else { "Attention" };
        MapFigure::new(self.name, self.map.clone(), token_axes(&self.kept.words), self.tone()).value(value)
    }

    /// The map as it is exported: the part that is seen.
    pub fn figure(&self, state: &HeatState) -> MapFigure {
        state.seen_of(self.whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::HeatScale;

    #[test]
    fn colours_of_a_difference_reach_to_the_largest_of_it_and_are_neutral_at_nought() {
        let kept = Kept::default();
        for largest in [0.004_f32, 0.3] {
            let map = HeatData::new(2, 2, vec![0.5 * largest, f32::NAN, -largest, 0.0]);
            for scale in HeatScale::ALL {
                // However weights are coloured.
                let style = MapStyle { scale, is_whole: true, ..MapStyle::default() };
                let of = |is_difference| Large { name: "L0H0", kept: &kept, map: &map, is_difference, style }.tone();
                let tone = of(true);
                assert_eq!((tone.colours, tone.high), (ColourMap::Difference, largest), "{scale:?}");
                assert_eq!(tone.place(0.0), Some(0.5), "{scale:?}");
                let (least, most) = (tone.place(-largest).unwrap(), tone.place(largest).unwrap());
                assert!(least.abs() < 1e-5 && (most - 1.0).abs() < 1e-5, "{scale:?}: {least} to {most}");
                assert_eq!(of(false).high, 1.0, "weights may be coloured from 0 to 1");
            }
        }
    }
}
