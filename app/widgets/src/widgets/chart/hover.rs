//! What is under the pointer, and the tooltip that says so.

use egui::{Align2, Pos2, Rect, Response, RichText, Ui, Vec2};
use egui_plot::{PlotPoint, PlotTransform};

use super::line::ChartLine;
use super::line_cache::LineCache;
use super::state::ChartState;
use crate::theme;
use crate::{
    format::Names,
    plot::Axis,
    widgets::{brief, swatch_ui},
};

/// Lines within this many points of the pointer are in the tooltip.
const REACH: f32 = 40.0;

/// The nearest line within this many points counts as hovered.
const TOUCH: f32 = 14.0;

/// Between the pointer and the tooltip, in points.
const APART: f32 = 14.0;

/// Rows in a tooltip; the rest is counted.
const ROWS: usize = 8;

/// Points of other lines this close along x, in points of the screen, are told beside the nearest one: long curves are drawn with fewer.
const SAME_X: f32 = 3.0;

/// A line near the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    /// Index among the lines of the chart.
    pub line: usize,
    /// Distance of the line to the pointer, in points.
    pub distance: f32,
    /// The nearer end of the nearest stretch: a point of the data.
    pub point: PlotPoint,
}

/// All lines within reach of the pointer, nearest first.
pub(super) fn near(lines: &[ChartLine<'_>], state: &ChartState, transform: &PlotTransform, pointer: Pos2) -> Vec<Near> {
    let mut found: Vec<Near> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| {
            let cache = state.lines.get(&(line.id, line.series.version().generation))?;
            let (distance, point) = nearest(cache.points(), transform, pointer)?;
            (distance <= REACH).then_some(Near { line: index, distance, point })
        })
        .collect();
    found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    found
}

/// Distance to a polyline with gaps, and the nearer end of its nearest segment, of those in view if any is. Points are ascending
/// in x.
fn nearest(points: &[PlotPoint], transform: &PlotTransform, pointer: Pos2) -> Option<(f32, PlotPoint)> {
    let reach = f64::from(REACH) * transform.dvalue_dpos()[0].abs();
    let x = transform.value_from_position(pointer).x;
    let start = points.partition_point(|p| p.x < x - reach).saturating_sub(1);
    let end = (points.partition_point(|p| p.x <= x + reach) + 1).min(points.len());
    let at = |p: &PlotPoint| transform.position_from_point(p);
    let in_view = |p: &PlotPoint| transform.bounds().range_x().contains(&p.x);
    let mut best: Option<(f32, PlotPoint)> = None;
    let mut offer = |distance: f32, point: PlotPoint| {
        if best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, point));
        }
    };
    let window = points.get(start..end).unwrap_or_default();
    for point in window.iter().filter(|p| p.y.is_finite()) {
        offer(at(point).distance(pointer), *point);
    }
    for pair in window.windows(2) {
        let [a, b] = pair else { continue };
        if a.y.is_finite() && b.y.is_finite() {
            let (pa, pb) = (at(a), at(b));
            let along = (pb - pa).length_sq();
            let t = if along > 0.0 { ((pointer - pa).dot(pb - pa) / along).clamp(0.0, 1.0) } else { 0.0 };
            let (near, far) = if t < 0.5 { (a, b) } else { (b, a) };
            let named = if !in_view(near) && in_view(far) { far } else { near };
            offer((pa + (pb - pa) * t).distance(pointer), *named);
        }
    }
    best
}

/// The points of all other lines where the nearest point is along x, whatever their height, the nearest to the pointer first.
pub(super) fn others(
    lines: &[ChartLine<'_>],
    near: &[Near],
    (state, transform, pointer): (&ChartState, &PlotTransform, Pos2),
) -> Vec<Near> {
    let Some(first) = near.first() else { return Vec::new() };
    let at = |point: &PlotPoint| transform.position_from_point(point);
    let apart = |point: &PlotPoint| (at(point).x - at(&first.point).x).abs();
    let mut found: Vec<Near> = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| near.iter().all(|near| near.line != *index))
        .filter_map(|(index, line)| {
            let points = state.lines.get(&(line.id, line.series.version().generation))?.points();
            // A single point is that of a scatter: what stands below it is another model.
            if points.len() < 2 {
                return None;
            }
            let after = points.partition_point(|point| point.x < first.point.x);
            let beside = points.get(after.saturating_sub(1)..(after + 1).min(points.len()))?;
            let nearest =
                beside.iter().filter(|point| point.y.is_finite()).min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
            let distance = (at(nearest).y - pointer.y).abs();
            (apart(nearest) <= SAME_X).then_some(Near { line: index, distance, point: *nearest })
        })
        .collect();
    found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    found
}

/// The id of the line that the pointer touches. A line that is no series of measurements, such as the front of a scatter, goes
/// through points of others: those come first.
pub(super) fn touched(lines: &[ChartLine<'_>], near: &[Near]) -> Option<u64> {
    let touching = || near.iter().filter(|near| near.distance <= TOUCH).filter_map(|near| lines.get(near.line));
    touching().find(|line| line.dots).or_else(|| touching().next()).map(|line| line.id)
}

/// Where the tooltip of this size stands: in the quarter around the pointer that covers the least of the curves and of what
/// stands around the chart, and lies in the window; to the right below where all are alike.
fn beside(curves: &[&[PlotPoint]], transform: &PlotTransform, pointer: Pos2, size: Vec2, window: Rect) -> Align2 {
    let quarters = [Align2::LEFT_TOP, Align2::LEFT_BOTTOM, Align2::RIGHT_TOP, Align2::RIGHT_BOTTOM];
    let covered = |rect: Rect| -> f32 {
        let left = transform.value_from_position(rect.left_top()).x;
        let right = transform.value_from_position(rect.right_top()).x;
        let mut length = 0.0;
        for points in curves {
            let from = points.partition_point(|point| point.x < left).saturating_sub(1);
            let to = (points.partition_point(|point| point.x <= right) + 1).min(points.len());
            for pair in points.get(from..to).unwrap_or_default().windows(2) {
                let ends = [transform.position_from_point(&pair[0]), transform.position_from_point(&pair[1])];
                if ends.iter().all(|end| end.is_finite()) {
                    length += inside(ends, rect);
                }
            }
        }
        // What it covers of axes and titles counts as much as a curve along the half of it.
        let within = transform.frame().intersect(rect);
        let share = if within.is_positive() { within.area() / rect.area().max(1.0) } else { 0.0 };
        length + (1.0 - share) * size.x * 0.5
    };
    let mut best = (f32::INFINITY, Align2::LEFT_TOP);
    for quarter in quarters {
        let rect = quarter.anchor_size(pointer - quarter.to_sign() * APART, size);
        if window.contains_rect(rect) {
            let found = covered(rect);
            if found + 0.5 < best.0 {
                best = (found, quarter);
            }
        }
    }
    best.1
}

/// How much of a stretch lies in a rectangle, in points along x, or along y where it is steep.
fn inside([a, b]: [Pos2; 2], rect: Rect) -> f32 {
    let (mut from, mut to) = (0.0_f32, 1.0_f32);
    for (start, by, low, high) in
        [(a.x, b.x - a.x, rect.left(), rect.right()), (a.y, b.y - a.y, rect.top(), rect.bottom())]
    {
        if by == 0.0 {
            if start < low || start > high {
                return 0.0;
            }
            continue;
        }
        let (enter, leave) = ((low - start) / by, (high - start) / by);
        from = from.max(enter.min(leave));
        to = to.min(enter.max(leave));
    }
    if from < to { (to - from) * a.distance(b) } else { 0.0 }
}

/// Shows the tooltip: the x of the nearest point, then up to eight lines with value and, when smoothed, raw value: those near the pointer, then
/// what the others have there.
pub(super) fn tooltip(
    response: &Response,
    (lines, near): (&[ChartLine<'_>], &[Near]),
    (state, transform, pointer): (&ChartState, &PlotTransform, Pos2),
    (x_axis, y_axis): (&Axis, &Axis),
    smoothing: f64,
) {
    let Some(first) = near.first() else { return };
    let id = response.id.with("tooltip");
    let size = response.ctx.data(|data| data.get_temp(id)).unwrap_or(Vec2::new(180.0, 60.0));
    let curves: Vec<&[PlotPoint]> = near
        .iter()
        .filter_map(|near| lines.get(near.line))
        .filter_map(|line| state.lines.get(&(line.id, line.series.version().generation)))
        .map(LineCache::points)
        .collect();
    let rows: Vec<Near> = near.iter().copied().chain(others(lines, near, (state, transform, pointer))).collect();
    let quarter = beside(&curves, transform, pointer, size, response.ctx.content_rect());
    let anchor = egui::PopupAnchor::Position(pointer - quarter.to_sign() * APART);
    let mut tip = egui::Tooltip::always_open(response.ctx.clone(), response.layer_id, id, anchor).gap(0.0);
    let align = egui::RectAlign { parent: Align2::CENTER_CENTER, child: quarter };
    tip.popup = tip.popup.align(align).align_alternatives(&[]);
    let shown = tip.accessible_name("Values under the pointer").show(|ui| {
        let x = x_axis.scale.inverse(first.point.x);
        let is_outside = !transform.bounds().range_x().contains(&first.point.x);
        let outside = if is_outside { ", outside the view" } else { "" };
        ui.label(RichText::new(format!("{} {}{outside}", x_axis.label, x_axis.quantity.value(x))).small().weak());
        let names: Names = lines.iter().map(|line| line.name).collect();
        egui::Grid::new("values").num_columns(4).min_col_width(0.0).spacing([10.0, 3.0]).show(ui, |ui| {
            for near in rows.iter().take(ROWS) {
                if let Some(line) = lines.get(near.line) {
                    let smoothed = line.smoothing(smoothing) > 0.0;
                    row_ui(ui, (line, &names), near, (x_axis, y_axis), smoothed, near.point.x != first.point.x);
                }
            }
        });
        if let Some(more) = rows.len().checked_sub(ROWS + 1) {
            ui.label(RichText::new(format!("+{}", more + 1)).small().weak());
        }
    });
    if let Some(shown) = shown {
        response.ctx.data_mut(|data| data.insert_temp(id, shown.response.rect.size()));
    }
}

fn row_ui(
    ui: &mut Ui,
    (line, names): (&ChartLine<'_>, &Names),
    near: &Near,
    (x_axis, y_axis): (&Axis, &Axis),
    smoothed: bool,
    own_x: bool,
) {
    swatch_ui(ui, line.style());
    ui.label(brief(ui, line.name, names));
    let strong = theme::palette(ui.visuals()).strong;
    let value = y_axis.quantity.value(y_axis.scale.inverse(near.point.y));
    ui.label(RichText::new(with_unit(&value, &y_axis.unit)).color(strong));
    let x = x_axis.scale.inverse(near.point.x);
    let mut note = String::new();
    if smoothed {
        let at = line.series.x().partition_point(|&other| other < x - x.abs() * 1e-12);
        if let Some(&raw) = line.series.y().get(at) {
            note = format!("raw {}", y_axis.quantity.value(raw));
        }
    }
    if own_x {
        note = format!("{note}{}at {}", if note.is_empty() { "" } else { " " }, x_axis.quantity.value(x));
    }
    ui.label(RichText::new(note).small().weak());
    ui.end_row();
}

fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}

/// The rectangle that a drag from `from` to `to` selects: a drag that hardly moves along one axis takes all of it.
pub(super) fn zoom_box(frame: Rect, from: Pos2, to: Pos2) -> Option<Rect> {
    const LEAST: f32 = 8.0;
    let mut rect = Rect::from_two_pos(from, to).intersect(frame);
    let (wide, high) = (rect.width() >= LEAST, rect.height() >= LEAST);
    if !wide && !high {
        return None;
    }
    if !wide {
        (rect.min.x, rect.max.x) = (frame.min.x, frame.max.x);
    }
    if !high {
        (rect.min.y, rect.max.y) = (frame.min.y, frame.max.y);
    }
    Some(rect)
}

#[cfg(test)]
mod tests {
    use egui::{pos2, vec2};
    use egui_plot::PlotBounds;

    use super::*;
    use crate::plot::Series;

    #[test]
    fn nearest_is_by_pixels_on_the_line_and_names_a_point_of_the_data() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0));
        let transform = PlotTransform::new(frame, PlotBounds::from_min_max([0.0, 0.0], [100.0, 100.0]), false);
        let points = [[0.0, 0.0], [60.0, 0.0], [70.0, f64::NAN], [80.0, 50.0], [90.0, 50.0]].map(PlotPoint::from);
        let (distance, point) = nearest(&points, &transform, pos2(20.0, 90.0)).unwrap();
        assert!((distance - 10.0).abs() < 1e-3);
        assert_eq!(point.x, 0.0);
        let (distance, point) = nearest(&points, &transform, pos2(72.0, 50.0)).unwrap();
        assert!((distance - 8.0).abs() < 1e-3, "the gap is no line: {distance}");
        assert_eq!(point.x, 80.0);
        assert!(nearest(&points[2..3], &transform, pos2(70.0, 50.0)).is_none());
    }

    #[test]
    fn a_line_through_the_points_of_others_does_not_hide_them() {
        let series: Series = [(1.0, 1.0)].into_iter().collect();
        let lines = [ChartLine { dots: false, ..ChartLine::new(7, "Front", &series) }, ChartLine::new(2, "a", &series)];
        let near = |line: usize, distance: f32| Near { line, distance, point: PlotPoint::new(1.0, 1.0) };
        assert_eq!(touched(&lines, &[near(0, 3.0), near(1, 3.0)]), Some(2));
        assert_eq!(touched(&lines, &[near(0, 3.0), near(1, TOUCH + 1.0)]), Some(7), "away from its point");
        assert_eq!(touched(&lines, &[near(0, TOUCH + 1.0), near(1, TOUCH + 1.0)]), None);
    }

    #[test]
    fn the_tooltip_stands_where_it_covers_least_of_the_curves_and_in_the_window() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 400.0));
        let transform = PlotTransform::new(frame, PlotBounds::from_min_max([0.0, 0.0], [400.0, 400.0]), false);
        let (size, pointer) = (vec2(100.0, 40.0), pos2(200.0, 200.0));
        let line = |from: [f64; 2], to: [f64; 2]| [PlotPoint::from(from), PlotPoint::from(to)];
        let at = |curves: &[&[PlotPoint]], pointer: Pos2| beside(curves, &transform, pointer, size, frame);
        // A falling curve: its right lower quarter is covered, the one above is free.
        assert_eq!(at(&[&line([0.0, 260.0], [400.0, 140.0])], pointer), Align2::LEFT_BOTTOM);
        // A rising one leaves the room below free.
        assert_eq!(at(&[&line([0.0, 140.0], [400.0, 260.0])], pointer), Align2::LEFT_TOP);
        assert_eq!(at(&[&line([0.0, 140.0], [400.0, 260.0])], pos2(390.0, 200.0)), Align2::RIGHT_TOP);
        assert_eq!(at(&[], pointer), Align2::LEFT_TOP);
        assert!(
            (inside([pos2(0.0, 0.0), pos2(10.0, 0.0)], Rect::from_min_max(pos2(4.0, -1.0), pos2(8.0, 1.0))) - 4.0)
                .abs()
                < 1e-4
        );
    }

    #[test]
    fn a_flat_drag_zooms_one_axis_only() {
        let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 80.0));
        assert_eq!(zoom_box(frame, pos2(5.0, 5.0), pos2(8.0, 8.0)), None);
        assert_eq!(
            zoom_box(frame, pos2(20.0, 40.0), pos2(60.0, 42.0)),
            Some(Rect::from_min_max(pos2(20.0, 0.0), pos2(60.0, 80.0)))
        );
        assert_eq!(
            zoom_box(frame, pos2(60.0, 40.0), pos2(20.0, 500.0)),
            Some(Rect::from_min_max(pos2(20.0, 40.0), pos2(60.0, 80.0)))
        );
    }
}
