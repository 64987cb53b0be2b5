//! An image cut into squares, light where weights are large.

use egui::{Color32, Rect, Response, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions, Ui, Vec2, pos2, vec2};

use super::thumbnails::{Thumbnail, colours};
use crate::theme;

/// How dark a square without weight is, 0..=255.
const DARKEST: f32 = 215.0;

/// The image that was drawn last, with its texture.
#[derive(Default)]
pub struct Squares {
    picture: Option<Thumbnail>,
    texture: Option<TextureHandle>,
}

/// What happened to it.
pub struct SquaresResponse {
    /// The whole.
    pub response: Response,
    /// The square that was clicked, row by row.
    pub clicked: Option<usize>,
}

impl Squares {
    /// Draws it, so many points a side: as light as the weights of its squares, row by row, against the largest of them. The
    /// square that is `marked` has a frame.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        side: f32,
        picture: &Thumbnail,
        weights: &[f32],
        marked: Option<usize>,
    ) -> SquaresResponse {
        if self.picture.as_ref() != Some(picture) {
            self.texture = Some(ui.ctx().load_texture("squares", colours(picture), TextureOptions::NEAREST));
            self.picture = Some(picture.clone());
        }
        let (rect, response) = ui.allocate_exact_size(Vec2::splat(side), Sense::click());
        if let Some(texture) = &self.texture {
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            ui.painter().image(texture.id(), rect, whole, Color32::WHITE);
        }
        let across = weights.len().isqrt().max(1);
        let size = side / across as f32;
        let square = |place: usize| {
            let at = vec2((place % across) as f32, (place / across) as f32) * size;
            Rect::from_min_size(rect.min + at, Vec2::splat(size))
        };
        let most = weights.iter().copied().filter(|weight| weight.is_finite()).fold(0.0_f32, f32::max);
        for (place, weight) in weights.iter().enumerate() {
            let share = if most > 0.0 && weight.is_finite() { weight / most } else { 0.0 };
            let shade = Color32::from_black_alpha((DARKEST * (1.0 - share.clamp(0.0, 1.0))) as u8);
            ui.painter().rect_filled(square(place), 0.0, shade);
        }
        if let Some(place) = marked.filter(|place| *place < weights.len()) {
            let accent = theme::palette(ui.visuals()).accent;
            ui.painter().rect_stroke(square(place), 0.0, Stroke::new(2.0, accent), StrokeKind::Inside);
        }
        let clicked = response.interact_pointer_pos().filter(|_| response.clicked()).map(|at| {
            let [column, row] = [at.x - rect.min.x, at.y - rect.min.y].map(|way| (way / size).max(0.0) as usize);
            row.min(across - 1) * across + column.min(across - 1)
        });
        SquaresResponse { response, clicked }
    }
}
