use egui::{Align2, Mesh, Painter, Rect, Shape, Stroke, StrokeKind, TextStyle, Ui, pos2};

use super::layout::{GAP, LINE};
use crate::{
    plot::Tone,
    theme::{self, ColourMap},
};

/// The colour bar: lowest at the foot, numbers at its right.
pub(super) fn bar_ui(ui: &Ui, rect: Rect, tone: &Tone, value: &str) {
    let palette = theme::palette(ui.visuals());
    let painter = ui.painter();
    painter.add(gradient(rect, tone.colours));
    painter.rect_stroke(rect, 0.0, Stroke::new(1.0, palette.line), StrokeKind::Outside);
    let small = TextStyle::Small.resolve(ui.style());
    let (mut last, mut widest) = (f32::INFINITY, 0.0_f32);
    for (place, label) in tone.ticks((rect.height() / 34.0).clamp(2.0, 8.0) as usize) {
        let y = rect.bottom() - rect.height() * place;
        if last - y < 12.0 {
            continue;
        }
        last = y;
        painter.hline(rect.right()..=rect.right() + 3.0, y, Stroke::new(1.0, palette.weak));
        let drawn = painter.text(pos2(rect.right() + 6.0, y), Align2::LEFT_CENTER, label, small.clone(), palette.weak);
        widest = widest.max(drawn.width());
    }
    // Beside its numbers: further away it would be read as the axis of what stands next to the map.
    let beside = rect.right() + 6.0 + widest + GAP + LINE / 2.0;
    upright(ui, painter, pos2(beside, rect.center().y), value, rect.height());
}

/// A line of small letters that is read from below, around a point.
pub(super) fn upright(ui: &Ui, painter: &Painter, centre: egui::Pos2, text: &str, room: f32) {
    let palette = theme::palette(ui.visuals());
    let galley = painter.layout_no_wrap(text.to_owned(), TextStyle::Small.resolve(ui.style()), palette.weak);
    let size = galley.size();
    if text.is_empty() || size.x > room + 40.0 {
        return;
    }
    let corner = pos2(centre.x - size.y / 2.0, centre.y + size.x / 2.0);
    let shape = egui::epaint::TextShape::new(corner, galley, palette.weak);
    painter.add(shape.with_angle(-std::f32::consts::FRAC_PI_2));
}

fn gradient(rect: Rect, colours: ColourMap) -> Shape {
    let mut mesh = Mesh::default();
    let steps = 40_u32;
    for step in 0..=steps {
        let share = step as f32 / steps as f32;
        let y = rect.bottom() - rect.height() * share;
        for x in [rect.left(), rect.right()] {
            mesh.colored_vertex(pos2(x, y), colours.colour(share));
        }
        if step > 0 {
            let at = step * 2;
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    Shape::mesh(mesh)
}
