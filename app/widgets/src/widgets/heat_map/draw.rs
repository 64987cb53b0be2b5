//! What stands around the cells of a heat map, and what is drawn over them.

use egui::{Align2, Color32, Painter, Rect, Stroke, StrokeKind, TextStyle, Ui, pos2, vec2};

use super::{
    bar::upright,
    layout::{GAP, HeatLayout, LETTER, LINE, View, column_names, titled},
};
use crate::{plot::HeatAxis, theme, widgets::beginning};

/// How far a name may reach into the room between it and the title of its axis.
const REACH: f32 = 3.0;
/// Between two lines of the hatching that stands for nothing.
const HATCH: f32 = 6.0;

/// Names and titles of rows at the left and of columns above. The names of `told`, a row and a column, stand there whatever
/// the room: in place of neighbours that they would touch.
pub(super) fn axes_ui(
    ui: &Ui,
    layout: &HeatLayout,
    view: &View,
    (rows, columns): (&HeatAxis, &HeatAxis),
    told: (Option<usize>, Option<usize>),
) {
    let palette = theme::palette(ui.visuals());
    let small = TextStyle::Small.resolve(ui.style());
    let (plot, cell) = (layout.plot, view.cell(layout.plot));
    let (seen_rows, seen_columns) = view.seen();
    let inside = |at: f32, low: f32, high: f32| at >= low - 0.5 && at <= high + 0.5;
    let painter = ui.painter();
    // Letters may be wider than the room that was left for them: a name does not run into the title.
    let fitting = |name: String, room: f32| beginning(ui, &name, &small, room + REACH);
    let row_name = |row: usize| fitting(rows.short(row), plot.left() - GAP - layout.outer.left() - titled(rows));
    let row_every = rows.every(cell.y, LINE - 1.0);
    if let Some(every) = row_every {
        let at = |row: usize| view.rect(plot, (row, 0), 1, 1).center().y;
        let told = told.0.filter(|row| seen_rows.contains(row)).map(|row| (row, at(row)));
        for row in seen_rows.clone().filter(|row| row.is_multiple_of(every)) {
            let at = at(row);
            if inside(at, plot.top(), plot.bottom()) && told.is_none_or(|(_, told)| (told - at).abs() >= LINE - 1.0) {
                let place = pos2(plot.left() - GAP, at);
                painter.text(place, Align2::RIGHT_CENTER, row_name(row), small.clone(), palette.weak);
            }
        }
        if let Some((row, at)) = told {
            let at = at.clamp(plot.top(), plot.bottom());
            let galley = painter.layout_no_wrap(row_name(row), small.clone(), palette.strong);
            let rect = Align2::RIGHT_CENTER.anchor_size(pos2(plot.left() - GAP, at), galley.size());
            painter.rect_filled(rect.expand2(vec2(2.0, 0.0)), 2.0, palette.background);
            painter.galley(rect.min, galley, palette.strong);
        }
    }
    let (is_level, every) = column_names(columns, seen_columns.end, cell.x);
    let upright_name =
        |column: usize| fitting(columns.short(column), plot.top() - GAP - layout.outer.top() - titled(columns));
    let width = |column: usize| columns.short(column).chars().count() as f32 * LETTER;
    let told = told.1.filter(|column| every.is_some() && seen_columns.contains(column));
    let touches = |column: usize, at: f32| {
        told.is_some_and(|told| {
            let apart = if is_level { f32::midpoint(width(told), width(column)) + 2.0 } else { LINE - 1.0 };
            (view.rect(plot, (0, told), 1, 1).center().x - at).abs() < apart
        })
    };
    for column in seen_columns.filter(|column| every.is_some_and(|every| column.is_multiple_of(every))) {
        let at = view.rect(plot, (0, column), 1, 1).center().x;
        if !inside(at, plot.left(), plot.right()) || touches(column, at) {
            continue;
        }
        if is_level {
            let place = pos2(at, plot.top() - GAP + 2.0);
            painter.text(place, Align2::CENTER_BOTTOM, columns.short(column), small.clone(), palette.weak);
        } else {
            let galley = painter.layout_no_wrap(upright_name(column), small.clone(), palette.weak);
            let corner = pos2(at - galley.size().y / 2.0, plot.top() - GAP);
            let shape = egui::epaint::TextShape::new(corner, galley, palette.weak);
            painter.add(shape.with_angle(-std::f32::consts::FRAC_PI_2));
        }
    }
    if let Some(column) = told {
        let at = view.rect(plot, (0, column), 1, 1).center().x.clamp(plot.left(), plot.right());
        let name = if is_level { columns.short(column) } else { upright_name(column) };
        let galley = painter.layout_no_wrap(name, small.clone(), palette.strong);
        let size = galley.size();
        if is_level {
            let rect = Align2::CENTER_BOTTOM.anchor_size(pos2(at, plot.top() - GAP + 2.0), size);
            painter.rect_filled(rect.expand2(vec2(2.0, 0.0)), 2.0, palette.background);
            painter.galley(rect.min, galley, palette.strong);
        } else {
            let foot = pos2(at, plot.top() - GAP);
            let ground = Rect::from_min_max(foot - vec2(size.y / 2.0, size.x + 2.0), foot + vec2(size.y / 2.0, 2.0));
            painter.rect_filled(ground, 2.0, palette.background);
            let shape = egui::epaint::TextShape::new(foot - vec2(size.y / 2.0, 0.0), galley, palette.strong);
            painter.add(shape.with_angle(-std::f32::consts::FRAC_PI_2));
        }
    }
    upright(
        ui,
        painter,
        pos2(layout.outer.left() + LINE / 2.0, plot.center().y),
        &rows.title_of(row_every),
        plot.height(),
    );
    if !columns.title.is_empty() {
        let place = pos2(plot.center().x, layout.outer.top());
        painter.text(place, Align2::CENTER_TOP, columns.title_of(every), small, palette.weak);
    }
}

/// The ground of cells without a value.
pub(super) fn hatching(painter: &Painter, plot: Rect, ground: Color32, line: Color32) {
    painter.rect_filled(plot, 0.0, ground);
    let painter = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
    let mut from = plot.left() - plot.height();
    while from < plot.right() {
        let ends = [pos2(from, plot.bottom()), pos2(from + plot.height(), plot.top())];
        painter.line_segment(ends, Stroke::new(1.0, line));
        from += HATCH;
    }
}

/// An outline around a cell that is seen on every colour.
pub(super) fn outline(painter: &Painter, rect: Rect, stroke: Stroke, halo: Color32) {
    let rect = if rect.width() < 5.0 { Rect::from_center_size(rect.center(), vec2(5.0, 5.0)) } else { rect };
    painter.rect_stroke(rect, 0.0, Stroke::new(stroke.width + 2.0, halo), StrokeKind::Middle);
    painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Middle);
}
