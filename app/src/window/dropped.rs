//! Files and folders that are dropped on the window: models, which the Models panel shows.

use egui::{Align2, Context, Id, LayerId, Order, StrokeKind, TextStyle};

use super::headroom_window::HeadroomWindow;
use crate::{context::PanelId, theme};

impl HeadroomWindow {
    /// Opens the model that was dropped.
    pub(super) fn take_dropped(&mut self, ctx: &Context) {
        let paths: Vec<_> =
            ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let mut paths = paths.into_iter();
        let Some(first) = paths.next() else { return };
        if paths.next().is_some() {
            // Files of one model are often taken together, and all of them lead to its folder.
            let text = format!("Several files were dropped; the first is shown: {}", first.display());
            self.state.messages.push_info(text);
        }
        self.state.models.open(first);
        self.open(PanelId::MODELS);
    }
}

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
