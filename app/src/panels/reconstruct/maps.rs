//! A map, the same put together from some of its pairs, and what is between them.

use std::sync::Arc;

use egui::{RichText, Ui, vec2};
use headroom_engine::{analysis::reconstruction::RebuiltMap, attention::HeadAt, config::counted};

use crate::{
    export::MapFigure,
    format,
    panels::{
        analysis::{MapStyle, head_name},
        heads::{MASKED, attends, of_text, token_axes, visible_token},
    },
    plot::{HeatData, HeatScale, Tone},
    state::ShownRebuilt,
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
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
    /// The colours of probabilities.
    pub style: MapStyle,
    /// The tokens.
    pub words: &'a Arc<[String]>,
}

impl Drawn<'_> {
    fn maps(&self) -> &[HeatData; 3] {
        if self.is_scores { &self.rebuilt.scores } else { &self.rebuilt.maps }
    }

    /// The same colours for the same values in the first two, and the same at every k in all three: they follow from the
    /// true map alone, so that what the slider changes is seen.
    fn tone(&self, place: usize) -> Tone {
        let [truth, _, _] = self.maps();
        let truth = truth.extent();
        let largest = truth.least.abs().max(truth.most.abs());
        if self.is_scores {
            // Scores have a sign. From nothing computed to all, differences go from minus the scores to zero.
            return Tone::between(ColourMap::Difference, HeatScale::Linear, -largest, largest);
        }
        let is_whole = self.style.is_whole;
        if place == 2 {
            let (scale, most) = (self.style.scale, if is_whole { 1.0 } else { largest });
            let low = if scale == HeatScale::Log { most * 1e-3 } else { -most };
            return Tone::between(ColourMap::Difference, scale, low, most);
        }
        self.style.tone(truth)
    }

    fn whole(&self, place: usize, title: String) -> Option<MapFigure> {
        let value = match (place, self.is_scores) {
            (2, _) => "Difference",
            (_, true) => "Score",
            (_, false) => "Attention",
        };
        let map = self.maps().get(place)?.clone();
        Some(MapFigure::new(title, map, token_axes(self.words), self.tone(place)).value(value))
    }
}

impl Maps {
    /// Draws the three, beside each other where there is room.
    pub fn ui(&mut self, ui: &mut Ui, drawn: &Drawn<'_>, is_wide: bool, height: f32) {
        if is_wide {
            ui.columns(3, |columns| {
                for (place, (column, state)) in columns.iter_mut().zip(&mut self.states).enumerate() {
                    // Columns set their text to both edges; what stands in one of them does not.
                    column.vertical(|ui| one_ui(ui, drawn, place, state, height));
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
            "This map restored from {} per query: the squared error of its scores is {} of their squares; its \
             probabilities differ by {} in total variation, by at most {} for one query (0 = identical, 1 = disjoint).",
            counted(k as u64, "pair"),
            format::percent(score_error),
            format::fixed(map_distance, 3),
            format::fixed(largest_distance, 3),
        );
        ui.label(RichText::new(text).color(palette.text)).on_hover_text(
            "Total variation of a query: half the sum over keys of |p - p'|, p' being the softmax of the restored \
             scores; \
             mean over queries",
        );
    }

    /// One of them as it is exported.
    pub fn figure(&self, drawn: &Drawn<'_>, place: usize, head: &str) -> Option<MapFigure> {
        let title =
            format!("{} of {head}, {} of each query", NAMES.get(place)?, counted(drawn.rebuilt.k as u64, "pair"));
        Some(self.states.get(place)?.seen_of(drawn.whole(place, title)?))
    }
}

/// The three maps of a head as they leave where nobody zoomed, each with a name that is fit for a file.
pub fn rebuilt_figures(
    at: HeadAt,
    found: &RebuiltMap,
    (target, tokens): (&str, &[String]),
) -> Vec<(String, MapFigure)> {
    let rebuilt = ShownRebuilt::from(found.clone());
    let words: Arc<[String]> = tokens.iter().map(|token| visible_token(token)).collect();
    let drawn = Drawn { rebuilt: &rebuilt, is_scores: false, style: MapStyle::default(), words: &words };
    let (maps, head) = (Maps::default(), head_name(at));
    let figure = |(place, name): (usize, &str)| {
        let figure = maps.figure(&drawn, place, &head)?;
        Some((format!("{name}-{head}-k{}", rebuilt.k), of_text(figure, target, tokens)))
    };
    ["true", "rebuilt", "difference"].into_iter().enumerate().filter_map(figure).collect()
}

fn one_ui(ui: &mut Ui, drawn: &Drawn<'_>, place: usize, state: &mut HeatState, height: f32) {
    let palette = theme::palette(ui.visuals());
    let (Some(name), Some(figure)) = (NAMES.get(place), drawn.whole(place, String::new())) else { return };
    let label = ui.label(RichText::new(*name).color(palette.strong));
    label.on_hover_text(
        "Colours follow the true map, so they are the same at every k. Values beyond its range have the colours of \
         its ends.",
    );
    let cell_name = |query: usize, key: usize| attends((drawn.words, &figure.data), |at| at, query, key);
    let map = HeatMap::of(name, &figure).cell_name(&cell_name).gap(MASKED);
    map.room(vec2(ui.available_width(), height)).show(ui, state);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebuilt(k: usize, part: f32) -> ShownRebuilt {
        let three = |truth: [f32; 4]| {
            let rebuilt = truth.map(|value| value * part);
            let apart = [0, 1, 2, 3].map(|at| rebuilt[at] - truth[at]);
            [truth, rebuilt, apart].map(|values| HeatData::new(2, 2, values.to_vec()))
        };
        ShownRebuilt {
            k,
            scores: three([-4.0, 1.0, 2.0, 3.0]),
            maps: three([0.25, 0.75, 0.5, 0.5]),
            ..ShownRebuilt::default()
        }
    }

    #[test]
    fn colours_are_the_same_at_every_k_and_scores_have_a_neutral_middle() {
        let (few, most) = (rebuilt(1, 0.25), rebuilt(9, 3.0));
        let words: Arc<[String]> = Arc::from([]);
        for (is_scores, is_whole) in [(false, false), (false, true), (true, false)] {
            for scale in HeatScale::ALL {
                let style = MapStyle { scale, is_whole, ..MapStyle::default() };
                let tone = |rebuilt: &ShownRebuilt, place: usize| {
                    Drawn { rebuilt, is_scores, style, words: &words }.tone(place)
                };
                for place in 0..3 {
                    let found = tone(&few, place);
                    assert_eq!(found, tone(&most, place), "{is_scores} {is_whole} {scale:?} {place}");
                    assert_eq!(found.colours.is_diverging(), is_scores || place == 2);
                    if found.colours.is_diverging() {
                        assert_eq!(found.place(0.0), Some(0.5), "{scale:?}");
                        let (up, down) = (found.place(0.5).unwrap(), found.place(-0.5).unwrap());
                        assert!(up > 0.5 && (up + down - 1.0).abs() < 1e-6, "{scale:?} {up} {down}");
                    }
                }
            }
        }
        let scores = Drawn { rebuilt: &few, is_scores: true, style: MapStyle::default(), words: &words };
        assert_eq!((scores.tone(1).low, scores.tone(1).high), (-4.0, 4.0));
    }
}
