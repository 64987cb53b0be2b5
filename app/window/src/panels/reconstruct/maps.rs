//! A map, the same put together from some of its pairs, and what is between them.

use std::{ops::RangeInclusive, sync::Arc};

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
    widgets::{HeatMap, HeatState, HeightHandle},
};

/// Their names, also of exported figures.
pub const NAMES: [&str; 3] = ["True map", "Rebuilt map", "Rebuilt minus true"];

/// The usual height of a map in points.
const HEIGHT: f32 = 380.0;
/// Heights that maps can be given.
const HEIGHTS: RangeInclusive<f32> = 140.0..=1200.0;

/// Numbers of 32 bits that were summed in another order differ by less.
const LEAST_DIFFERENCE: f32 = 1e-6;

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

    /// The same colours for the same values in the first two, and the same at every k: they follow from the true map alone,
    /// so that what the slider changes is seen. What is between them is drawn up to the next of 1, 2, 5, 10 … beyond the
    /// largest of it, which the bar beside it says: at many pairs little is left, and that is looked for.
    fn tone(&self, place: usize) -> Tone {
        let [truth, _, apart] = self.maps();
        let largest = |map: &HeatData| {
            let extent = map.extent();
            extent.least.abs().max(extent.most.abs())
        };
        if place == 2 {
            let scale = if self.is_scores { HeatScale::Linear } else { self.style.scale };
            let most = at_least(largest(apart));
            let low = if scale == HeatScale::Log { most * 1e-3 } else { -most };
            return Tone::between(ColourMap::Difference, scale, low, most);
        }
        if self.is_scores {
            // Scores have a sign.
            let largest = largest(truth);
            return Tone::between(ColourMap::Difference, HeatScale::Linear, -largest, largest);
        }
        self.style.tone(truth.extent())
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
    /// Draws the three, beside each other where there is room, and the handle that changes their height.
    pub fn ui(&mut self, ui: &mut Ui, drawn: &Drawn<'_>, is_wide: bool, height: &mut Option<f32>) {
        let now = height.unwrap_or(HEIGHT);
        if is_wide {
            ui.columns(3, |columns| {
                for (place, (column, state)) in columns.iter_mut().zip(&mut self.states).enumerate() {
                    // Columns set their text to both edges; what stands in one of them does not.
                    column.vertical(|ui| one_ui(ui, drawn, place, state, now));
                }
            });
        } else {
            for (place, state) in self.states.iter_mut().enumerate() {
                one_ui(ui, drawn, place, state, now);
            }
        }
        HeightHandle::new("restored maps", HEIGHTS).show(ui, height, now);
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

/// The smallest of 1, 2 and 5 times a power of ten that is not below; differences of rounding alone count as none.
fn at_least(value: f32) -> f32 {
    if !value.is_finite() || value < LEAST_DIFFERENCE {
        return LEAST_DIFFERENCE;
    }
    let power = 10_f32.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= value * (1.0 - 1e-5)).unwrap_or(value)
}

fn one_ui(ui: &mut Ui, drawn: &Drawn<'_>, place: usize, state: &mut HeatState, height: f32) {
    let palette = theme::palette(ui.visuals());
    let (Some(name), Some(figure)) = (NAMES.get(place), drawn.whole(place, String::new())) else { return };
    let label = ui.label(RichText::new(*name).color(palette.strong));
    label.on_hover_text(if place == 2 {
        "Colours reach to the next of 1, 2, 5, 10 … beyond the largest difference: see the bar"
    } else {
        "Colours follow the true map, so they are the same at every k. Values beyond its range have the colours of \
         its ends."
    });
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
    fn colours_of_maps_are_the_same_at_every_k_and_scores_have_a_neutral_middle() {
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
                    if place < 2 {
                        assert_eq!(found, tone(&most, place), "{is_scores} {is_whole} {scale:?} {place}");
                    }
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

    #[test]
    fn what_is_between_maps_fills_its_colours_however_little_it_is() {
        let words: Arc<[String]> = Arc::from([]);
        for (part, of_maps, of_scores) in [(0.0, 1.0, 5.0), (0.9, 0.1, 0.5), (0.999, 1e-3, 5e-3), (1.0, 1e-6, 1e-6)] {
            let rebuilt = rebuilt(1, part);
            for (is_scores, expected) in [(false, of_maps), (true, of_scores)] {
                let style = MapStyle { scale: HeatScale::Linear, ..MapStyle::default() };
                let tone = Drawn { rebuilt: &rebuilt, is_scores, style, words: &words }.tone(2);
                assert!((tone.high / expected - 1.0).abs() < 1e-4, "{part}: {} for {expected}", tone.high);
                assert_eq!(tone.low, -tone.high);
            }
        }
        assert!([0.1, 0.2, 0.5, 1.0, 2e-3].iter().all(|value| (at_least(*value) / value - 1.0).abs() < 1e-5));
        assert_eq!(at_least(f32::NAN), LEAST_DIFFERENCE);
    }
}
