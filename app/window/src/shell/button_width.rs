//! Widths of buttons.

use crate::widgets::text_width;
use egui::{TextStyle, Ui};

/// From this width of the window on, buttons are as wide as the widest words that they may have: what stands beside them does not move
/// when the words change. A narrower window has no room to spare.
const WIDEST_FROM: f32 = 900.0;

/// The least width of a button that may have these words.
pub(super) fn least_width(ui: &Ui, widest: &str) -> f32 {
    if ui.ctx().content_rect().width() < WIDEST_FROM {
        return 0.0;
    }
    let font = TextStyle::Button.resolve(ui.style());
    (text_width(ui, widest, &font) + 2.0 * ui.spacing().button_padding.x).ceil()
}
