//! Small pictures beside each other, each with a word below it.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use egui::{Align2, Color32, ColorImage, FontId, Rect, Sense, TextureHandle, TextureOptions, Ui, Vec2, pos2};

use crate::{format::shortened, theme};

/// Height of a line of words.
const WORD: f32 = 15.0;
/// Width of a letter of them, about.
const LETTER: f32 = 5.5;

/// A square picture with its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    /// What stands below it, a line or two.
    pub word: String,
    /// What it is, in full.
    pub about: String,
    /// Pixels of a side.
    pub size: usize,
    /// `[channels, size, size]`: one channel is grey, three are red, green and blue.
    pub pixels: Vec<u8>,
}

/// Pictures with their textures, which are made anew when the pictures are others.
#[derive(Default)]
pub struct Thumbnails {
    /// Of what they were made.
    of: Option<u64>,
    pictures: Vec<Thumbnail>,
    textures: Vec<TextureHandle>,
}

impl Thumbnails {
    /// Draws them in as many rows as they need, each of so many points a side; made anew where they are `of` something else.
    pub fn ui(&mut self, ui: &mut Ui, side: f32, of: impl Hash, make: impl FnOnce() -> Vec<Thumbnail>) {
        self.draw(ui, (side, Sense::hover()), of, make);
    }

    /// The same to be clicked: the place of the one that was.
    pub fn buttons_ui(
        &mut self,
        ui: &mut Ui,
        side: f32,
        of: impl Hash,
        make: impl FnOnce() -> Vec<Thumbnail>,
    ) -> Option<usize> {
        self.draw(ui, (side, Sense::click()), of, make)
    }

    fn draw(
        &mut self,
        ui: &mut Ui,
        (side, sense): (f32, Sense),
        of: impl Hash,
        make: impl FnOnce() -> Vec<Thumbnail>,
    ) -> Option<usize> {
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        let of = Some(hasher.finish());
        if self.of != of {
            let pictures = make();
            let load = |one: &Thumbnail| ui.ctx().load_texture("thumbnail", colours(one), TextureOptions::NEAREST);
            self.textures = pictures.iter().map(load).collect();
            (self.of, self.pictures) = (of, pictures);
        }
        let weak = theme::palette(ui.visuals()).weak;
        let lines = self.pictures.iter().map(|one| one.word.lines().count()).max().unwrap_or(0);
        let below = WORD * lines as f32;
        let mut clicked = None;
        ui.horizontal_wrapped(|ui| {
            for (place, (one, texture)) in self.pictures.iter().zip(&self.textures).enumerate() {
                let (rect, response) = ui.allocate_exact_size(Vec2::new(side, side + below), sense);
                let picture = Rect::from_min_size(rect.min, Vec2::splat(side));
                ui.painter().image(
                    texture.id(),
                    picture,
                    Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0)),
                    Color32::WHITE,
                );
                let most = (side / LETTER) as usize;
                let word = one.word.lines().map(|line| shortened(line, most)).collect::<Vec<_>>().join("\n");
                ui.painter().text(rect.center_bottom(), Align2::CENTER_BOTTOM, word, FontId::proportional(11.0), weak);
                let response = response.on_hover_text(&one.about);
                if response.clicked() {
                    clicked = Some(place);
                }
                response.accessible_name(format!("Image: {}", one.about));
            }
        });
        clicked
    }
}

/// A picture as egui has them.
pub(super) fn colours(Thumbnail { size, pixels, .. }: &Thumbnail) -> ColorImage {
    let each = size * size;
    let channel = |channel: usize| pixels.get(channel * each..(channel + 1) * each).unwrap_or_default();
    let mut colours: Vec<Color32> = if pixels.len() > each {
        let [red, green, blue] = [0, 1, 2].map(channel);
        red.iter().zip(green).zip(blue).map(|((r, g), b)| Color32::from_rgb(*r, *g, *b)).collect()
    } else {
        channel(0).iter().map(|grey| Color32::from_gray(*grey)).collect()
    };
    colours.resize(each, Color32::BLACK);
    ColorImage::new([*size, *size], colours)
}
