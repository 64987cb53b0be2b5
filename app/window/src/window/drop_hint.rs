//! Hint while something is held over the window.

use egui::{Align2, Context, Id, LayerId, Order, StrokeKind, TextStyle};

use crate::theme;

/// While something is held over the window: what happens when it is let go.
pub(super) fn dropping_ui(ctx: &Context) {
    if ctx.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let palette = theme::palette(&ctx.global_style().visuals);
    let painter = ctx.layer_painter(LayerId::new(Order::Foreground, Id::unique("dropping")));
    let rect = ctx.content_rect().shrink(12.0);
    painter.rect_filled(rect, 6.0, palette.surface.gamma_multiply(0.85));
    painter.rect_stroke(rect, 6.0, (2.0, palette.accent), StrokeKind::Inside);
    let font = TextStyle::Heading.resolve(&ctx.global_style());
    let text = "Let go to look into this model: its folder, config.json or weights";
    painter.text(rect.center(), Align2::CENTER_CENTER, text, font, palette.strong);
}
