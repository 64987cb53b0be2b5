//! A map, the same put together from some of its pairs, and what is between them.

use egui::{RichText, Ui, vec2};

use crate::{
    export::MapFigure,
    panels::snapshots::Look,
    state::ShownRebuilt,
    theme::{self, ColourMap},
    widgets::{HeatAxis, HeatData, HeatMap, HeatScale, HeatState, Tone, format},
};

/// Their names, also of exported figures.
pub const NAMES: [&str; 3] = ["True map", "Rebuilt map", "Rebuilt minus true"];

/// Three maps beside each other.
#[derive(Default)]
pub struct Maps {
    states: [HeatState; 3],
}

/// What is drawn of them.
pub struct Drawn<'a> {
    /// What came of rebuilding.
    pub rebuilt: &'a ShownRebuilt,
    /// Scores before the softmax rather than probabilities.
    pub is_scores: bool,
    /// How probabilities look.
    pub look: Look,
    /// The tokens.
    pub words: &'a [String],
}

impl Drawn<'_> {
    fn maps(&self) -> &[HeatData; 3] {
        if self.is_scores { &self.rebuilt.scores } else { &self.rebuilt.maps }
    }

    fn value(&self) -> &'static str {
        if self.is_scores { "Score" } else { "Attention" }
    }

    fn axes(&self) -> (HeatAxis, HeatAxis) {
        (HeatAxis::names("Query", self.words.to_vec()), HeatAxis::names("Key", self.words.to_vec()))
    }

    /// The same colours for the same values in the first two.
    fn tone(&self, place: usize) -> Tone {
        let [truth, rebuilt, difference] = self.maps();
        if place == 2 {
            return Tone::fitting(ColourMap::Difference, HeatScale::Linear, difference.extent());
        }
        if self.look.is_whole && !self.is_scores {
            return Tone::between(self.look.colours, self.look.scale, 0.0, 1.0);
        }
        let (a, b) = (truth.extent(), rebuilt.extent());
        let (low, high) = (a.least.min(b.least), a.most.max(b.most));
        let scale = if self.is_scores { HeatScale::Linear } else { self.look.scale };
        Tone::between(self.look.colours, scale, low, high)
    }
}

impl Maps {
    /// Draws the three, beside each other where there is room.
    pub fn ui(&mut self, ui: &mut Ui, drawn: &Drawn<'_>, is_wide: bool, height: f32) {
        if is_wide {
            ui.columns(3, |columns| {
                for (place, (ui, state)) in columns.iter_mut().zip(&mut self.states).enumerate() {
                    one_ui(ui, drawn, place, state, height);
                }
            });
        } else {
            for (place, state) in self.states.iter_mut().enumerate() {
                one_ui(ui, drawn, place, state, height);
            }
        }
        let ShownRebuilt { k, score_error, map_distance, largest_distance, .. } = *drawn.rebuilt;
        let palette = theme::palette(ui.visuals());
        let text = format!(
            "This map from {} pairs of each query: squared error of its scores {} of their squares; its probabilities are \
             off by {} in total variation, at most {} for a query (0 = the same, 1 = nothing in common).",
            format::count(k as u64),
            format::percent(score_error),
            format::fixed(map_distance, 3),
            format::fixed(largest_distance, 3),
        );
        ui.label(RichText::new(text).color(palette.text)).on_hover_text(
            "Total variation of a query: half the sum over keys of |p - p'|, p' being the softmax of the restored scores; \
             mean over queries",
        );
    }

    /// One of them as it leaves.
    pub fn figure(&self, drawn: &Drawn<'_>, place: usize, head: &str) -> Option<MapFigure> {
        let (map, state) = (drawn.maps().get(place)?, self.states.get(place)?);
        let title = format!("{} of {head}, {} pairs of each query", NAMES.get(place)?, drawn.rebuilt.k);
        let figure = MapFigure::new(title, map.clone(), drawn.axes(), drawn.tone(place));
        let value = if place == 2 { "Difference" } else { drawn.value() }.to_owned();
        Some(MapFigure { value, ..figure }.seen(state.seen(map)))
    }
}

fn one_ui(ui: &mut Ui, drawn: &Drawn<'_>, place: usize, state: &mut HeatState, height: f32) {
    let palette = theme::palette(ui.visuals());
    let (Some(name), Some(map)) = (NAMES.get(place), drawn.maps().get(place)) else { return };
    ui.label(RichText::new(*name).color(palette.strong));
    let (rows, columns) = drawn.axes();
    let word = |at: usize| drawn.words.get(at).map_or("", String::as_str);
    let cell_name = |query: usize, key: usize| format!("{query} \"{}\" looks at {key} \"{}\"", word(query), word(key));
    HeatMap::new(name, map)
        .axes(&rows, &columns)
        .tone(drawn.tone(place))
        .value(if place == 2 { "Difference" } else { drawn.value() })
        .cell_name(&cell_name)
        .room(vec2(ui.available_width(), height))
        .show(ui, state);
}
