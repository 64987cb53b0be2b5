//! What a query attends to, in the image that was read.

use egui::{RichText, Ui};

use crate::{
    format,
    plot::HeatData,
    state::ShownMaps,
    theme,
    widgets::{Squares, Thumbnail},
};

/// Points of a side of the image, where there is room for them and for a map below.
const SIDE: f32 = 168.0;
/// With less height than this it is smaller.
const LOW: f32 = 460.0;
const SMALL: f32 = 104.0;

/// The image of what was read, where it was one.
#[derive(Default)]
pub(super) struct ImageView {
    squares: Squares,
}

impl ImageView {
    /// Points that it takes of so much height.
    pub fn height(maps: &ShownMaps, height: f32) -> f32 {
        if maps.picture.is_none() { 0.0 } else { side(height) + 8.0 }
    }

    /// Draws the image as light as `query` attends to its squares, and says what that is; the class token is the query where
    /// none is chosen. The token of the square that was clicked.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        maps: &ShownMaps,
        map: &HeatData,
        query: Option<usize>,
        height: f32,
    ) -> Option<usize> {
        let picture = maps.picture.as_ref()?;
        let before = tokens_before(map.columns());
        let query = query.unwrap_or(0).min(map.rows().saturating_sub(1));
        let weights: Vec<f32> = (before..map.columns()).map(|key| map.at(query, key)).collect();
        let label = class_words(&picture.label);
        let thumbnail = Thumbnail {
            word: String::new(),
            about: label.clone(),
            size: picture.shape.size,
            pixels: picture.pixels.clone(),
        };
        let palette = theme::palette(ui.visuals());
        let mut clicked = None;
        ui.horizontal_top(|ui| {
            let marked = query.checked_sub(before);
            let shown = self.squares.ui(ui, side(height), &thumbnail, &weights, marked);
            shown.response.accessible_name(format!("The image: {label}"));
            clicked = shown.clicked.map(|square| square + before);
            ui.vertical(|ui| {
                if !label.is_empty() {
                    ui.label(RichText::new(&label).color(palette.strong));
                }
                ui.label(format!("Light: what {} attends to.", words(maps, query)));
                let inside: f32 = weights.iter().filter(|weight| weight.is_finite()).sum();
                let share = format::percent(f64::from(inside));
                ui.label(
                    RichText::new(format!("{share} of its attention is on the image.")).small().color(palette.weak),
                );
                let help = "Click a square to see what it attends to; Esc goes back to the class token.";
                ui.label(RichText::new(help).small().color(palette.weak));
            });
        });
        clicked
    }
}

/// A class by its name. A number alone would be read as anything.
fn class_words(label: &str) -> String {
    if label.parse::<f64>().is_ok() { format!("class {label}") } else { label.to_owned() }
}

fn side(height: f32) -> f32 {
    if height < LOW { SMALL } else { SIDE }
}

/// Tokens in front of the squares, of which there are as many as a square has.
fn tokens_before(tokens: usize) -> usize {
    let side = tokens.isqrt();
    tokens - side * side
}

fn words(maps: &ShownMaps, query: usize) -> String {
    match (maps.tokens.get(query), query < tokens_before(maps.tokens.len())) {
        (Some(token), true) => token.clone(),
        (Some(token), false) => format!("the square {token} (row, column)"),
        (None, _) => "it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_without_a_name_is_called_one() {
        assert_eq!(["9", "trouser", ""].map(class_words), ["class 9", "trouser", ""]);
    }

    #[test]
    fn squares_come_after_the_class_token() {
        assert_eq!([17, 50, 18, 197, 16].map(tokens_before), [1, 1, 2, 1, 0]);
    }
}
