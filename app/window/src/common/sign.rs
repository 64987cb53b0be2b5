//! Small signs, drawn and not set: the built-in font has none of them.

use egui::{Color32, Painter, Rect, Response, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};
use headroom_engine::store::RunState;

/// Side of a sign in points.
const SIDE: f32 = 13.0;

/// The sign of a state. Purely visual: its word stands beside it.
pub fn state_sign_ui(ui: &mut Ui, state: RunState, colour: Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(SIDE), Sense::hover());
    if ui.is_rect_visible(rect) {
        paint_state(ui.painter(), rect.shrink(1.0), state, colour);
    }
    response
}

/// A pin: this is the baseline.
pub fn pin_ui(ui: &mut Ui, colour: Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(10.0, SIDE), Sense::hover());
    if ui.is_rect_visible(rect) {
        paint_pin(ui.painter(), rect, colour);
    }
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, "Baseline"));
    response.on_hover_text("The baseline: every other run is compared with it")
}

/// A pin in `rect`.
pub fn paint_pin(painter: &Painter, rect: Rect, colour: Color32) {
    let rect = Rect::from_center_size(rect.center(), vec2(10.0, SIDE));
    let head = pos2(rect.center().x, rect.top() + 4.0);
    painter.circle_filled(head, 3.5, colour);
    painter.line_segment([head, pos2(head.x, rect.bottom())], Stroke::new(1.5, colour));
}

/// An eye, open or closed, in `rect`.
pub fn paint_eye(painter: &Painter, rect: Rect, open: bool, colour: Color32) {
    let rect = Rect::from_center_size(rect.center(), vec2(16.0, 9.0));
    let stroke = Stroke::new(1.4, colour);
    let lid = |up: f32| -> Vec<_> {
        (0..=12_u8)
            .map(|i| {
                let t = f32::from(i) / 12.0;
                pos2(
                    rect.left() + rect.width() * t,
                    rect.center().y - up * (std::f32::consts::PI * t).sin() * rect.height() / 2.0,
                )
            })
            .collect()
    };
    painter.add(Shape::line(lid(-1.0), stroke));
    if open {
        painter.add(Shape::line(lid(1.0), stroke));
        painter.circle_filled(rect.center(), 2.6, colour);
    }
}

fn paint_state(painter: &Painter, r: Rect, state: RunState, colour: Color32) {
    let stroke = Stroke::new(1.8, colour);
    let thin = Stroke::new(1.4, colour);
    let at = |x: f32, y: f32| pos2(r.left() + r.width() * x, r.top() + r.height() * y);
    let fill = |points| painter.add(Shape::convex_polygon(points, colour, Stroke::NONE));
    let line = |points| painter.add(Shape::line(points, stroke));
    match state {
        RunState::Queued => {
            painter.circle_stroke(r.center(), r.width() / 2.0 - 0.5, thin);
            painter.add(Shape::line(vec![at(0.5, 0.22), at(0.5, 0.5), at(0.7, 0.62)], thin));
        }
        RunState::Running => {
            fill(vec![at(0.15, 0.05), at(0.95, 0.5), at(0.15, 0.95)]);
        }
        RunState::Paused => {
            painter.rect_filled(Rect::from_min_max(at(0.15, 0.08), at(0.42, 0.92)), 0.0, colour);
            painter.rect_filled(Rect::from_min_max(at(0.58, 0.08), at(0.85, 0.92)), 0.0, colour);
        }
        RunState::Finished => {
            line(vec![at(0.05, 0.55), at(0.38, 0.88), at(0.95, 0.15)]);
        }
        RunState::Stopped => {
            painter.rect_filled(Rect::from_min_max(at(0.12, 0.12), at(0.88, 0.88)), 1.0, colour);
        }
        RunState::Diverged => {
            line(vec![at(0.0, 0.85), at(0.35, 0.75), at(0.6, 0.45), at(0.75, 0.0)]);
            line(vec![at(0.55, 0.18), at(0.75, 0.0), at(0.9, 0.22)]);
        }
        RunState::Failed => {
            line(vec![at(0.1, 0.1), at(0.9, 0.9)]);
            line(vec![at(0.9, 0.1), at(0.1, 0.9)]);
        }
        RunState::Interrupted => {
            fill(vec![at(0.62, 0.0), at(0.15, 0.58), at(0.5, 0.58)]);
            fill(vec![at(0.38, 1.0), at(0.85, 0.42), at(0.5, 0.42)]);
        }
        RunState::Cancelled => {
            painter.circle_stroke(r.center(), r.width() / 2.0 - 0.5, thin);
            painter.add(Shape::line(vec![at(0.2, 0.8), at(0.8, 0.2)], thin));
        }
    }
}
