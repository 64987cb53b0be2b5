//! Where the dialog stands in the window.

use egui::Context;

/// Width of the dialog in points: all columns of its lists find room.
pub(super) const WIDTH: f32 = 760.0;

/// Where it ends in the window.
pub(super) fn right_edge(ctx: &Context) -> f32 {
    let window = ctx.content_rect();
    window.center().x + 0.5 * width(ctx)
}

pub(super) fn width(ctx: &Context) -> f32 {
    WIDTH.min(ctx.content_rect().width() - 40.0)
}
