//! Zoom and pan, by mouse and keyboard.

use egui::{CursorIcon, Key, PointerButton, Response, Stroke, StrokeKind, Ui, Vec2};
use egui_plot::PlotTransform;

use super::hover;
use super::plot::Chart;
use super::state::{ChartState, Drag, SharedX};
use crate::plot::Scale;
use crate::theme;

impl Chart<'_> {
    /// Zoom and pan.
    pub(super) fn navigate(
        &self,
        ui: &Ui,
        state: &mut ChartState,
        shared: &mut SharedX,
        response: &Response,
        transform: &PlotTransform,
    ) {
        let frame = *transform.frame();
        let mut wanted: Option<([f64; 2], [f64; 2])> = None;
        let bounds = || (transform.bounds().min(), transform.bounds().max());
        if response.drag_started_by(PointerButton::Primary) {
            let from = ui.input(|i| i.pointer.press_origin());
            state.drag = if ui.input(|i| i.modifiers.shift) { Some(Drag::Pan) } else { from.map(Drag::Box) };
        }
        match (state.drag, response.interact_pointer_pos()) {
            (Some(Drag::Pan), _) if response.dragged() => {
                let delta = response.drag_delta();
                let (dx, dy) =
                    (transform.dvalue_dpos()[0] * f64::from(delta.x), transform.dvalue_dpos()[1] * f64::from(delta.y));
                let (min, max) = bounds();
                wanted = Some(([min[0] - dx, min[1] - dy], [max[0] - dx, max[1] - dy]));
                ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
            }
            (Some(Drag::Box(from)), Some(to)) => {
                if let Some(rect) = hover::zoom_box(frame, from, to) {
                    if response.drag_stopped() {
                        let (a, b) = (
                            transform.value_from_position(rect.left_bottom()),
                            transform.value_from_position(rect.right_top()),
                        );
                        wanted = Some(([a.x, a.y], [b.x, b.y]));
                    } else {
                        let accent = theme::palette(ui.visuals()).accent;
                        let painter = ui.painter().with_clip_rect(frame);
                        painter.rect(
                            rect,
                            0.0,
                            accent.gamma_multiply(0.12),
                            Stroke::new(1.0, accent),
                            StrokeKind::Inside,
                        );
                    }
                }
            }
            _ => {}
        }
        if response.drag_stopped() || !ui.input(|i| i.pointer.any_down()) {
            state.drag = None;
        }
        if let Some(pointer) = response.hover_pos() {
            let (mut zoom, alt) = ui.input(|i| (i.zoom_delta_2d(), i.modifiers.alt));
            if alt && zoom == Vec2::splat(1.0) {
                let scrolled = ui.input_mut(|i| std::mem::take(&mut i.smooth_scroll_delta));
                zoom.x = ((scrolled.x + scrolled.y) / 200.0).exp();
            }
            if zoom != Vec2::splat(1.0) {
                wanted = Some(zoomed(transform, zoom, transform.value_from_position(pointer)));
            }
        }
        if response.has_focus() {
            wanted = Self::keys(ui, transform).or(wanted);
        }
        if response.double_clicked() || (response.has_focus() && ui.input(|i| i.key_pressed(Key::Home))) {
            state.reset();
            if let Some(link) = self.link {
                shared.set_range(link, None);
            }
        } else if let Some((min, max)) = wanted {
            let data = |scale: Scale, lo: f64, hi: f64| {
                let range = (scale.inverse(lo), scale.inverse(hi));
                (range.0.is_finite() && range.1.is_finite() && hi - lo > 1e-12 * lo.abs().max(hi.abs()))
                    .then_some(range)
            };
            let old = bounds();
            if let Some(range) = data(self.x.scale, min[0], max[0]).filter(|_| (min[0], max[0]) != (old.0[0], old.1[0]))
            {
                match self.link {
                    Some(link) => shared.set_range(link, Some(range)),
                    None => state.x = Some(range),
                }
            }
            if let Some(range) = data(self.y.scale, min[1], max[1]).filter(|_| (min[1], max[1]) != (old.0[1], old.1[1]))
            {
                (state.y, state.y_since) = (Some(range), shared.resets(self.link));
            }
            ui.ctx().request_repaint();
        }
    }

    fn keys(ui: &Ui, transform: &PlotTransform) -> Option<([f64; 2], [f64; 2])> {
        let (mut shift, mut zoom) = (Vec2::ZERO, 1.0);
        ui.input(|i| {
            let pressed = |key| f32::from(u8::from(i.key_pressed(key)));
            shift = Vec2::new(
                pressed(Key::ArrowRight) - pressed(Key::ArrowLeft),
                pressed(Key::ArrowUp) - pressed(Key::ArrowDown),
            );
            zoom += 0.25 * (pressed(Key::Plus) + pressed(Key::Equals)) - 0.2 * pressed(Key::Minus);
        });
        let (min, max) = (transform.bounds().min(), transform.bounds().max());
        if shift != Vec2::ZERO {
            let (dx, dy) = (f64::from(shift.x) * 0.1 * (max[0] - min[0]), f64::from(shift.y) * 0.1 * (max[1] - min[1]));
            return Some(([min[0] + dx, min[1] + dy], [max[0] + dx, max[1] + dy]));
        }
        (zoom != 1.0)
            .then(|| zoomed(transform, Vec2::splat(zoom), transform.value_from_position(transform.frame().center())))
    }
}

fn zoomed(transform: &PlotTransform, zoom: Vec2, centre: egui_plot::PlotPoint) -> ([f64; 2], [f64; 2]) {
    let (min, max) = (transform.bounds().min(), transform.bounds().max());
    let (zx, zy) = (f64::from(zoom.x), f64::from(zoom.y));
    (
        [centre.x + (min[0] - centre.x) / zx, centre.y + (min[1] - centre.y) / zy],
        [centre.x + (max[0] - centre.x) / zx, centre.y + (max[1] - centre.y) / zy],
    )
}
