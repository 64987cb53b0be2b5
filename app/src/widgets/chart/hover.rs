//! What is under the pointer, and the tooltip that says so.

use egui::{Pos2, Rect, Response, RichText, Ui};
use egui_plot::{PlotPoint, PlotTransform};

use super::line::ChartLine;
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

/// Rows in a tooltip; the rest is counted.
const ROWS: usize = 5;

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

/// Distance to a polyline with gaps, and the nearer end of its nearest segment. Points are ascending in x.
fn nearest(points: &[PlotPoint], transform: &PlotTransform, pointer: Pos2) -> Option<(f32, PlotPoint)> {
    let reach = f64::from(REACH) * transform.dvalue_dpos()[0].abs();
    let x = transform.value_from_position(pointer).x;
    let start = points.partition_point(|p| p.x < x - reach).saturating_sub(1);
    let end = (points.partition_point(|p| p.x <= x + reach) + 1).min(points.len());
    let at = |p: &PlotPoint| transform.position_from_point(p);
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
            offer((pa + (pb - pa) * t).distance(pointer), if t < 0.5 { *a } else { *b });
        }
    }
    best
}

/// The id of the line that the pointer touches.
pub(super) fn touched(lines: &[ChartLine<'_>], near: &[Near]) -> Option<u64> {
    let first = near.first().filter(|near| near.distance <= TOUCH)?;
    lines.get(first.line).map(|line| line.id)
}

/// Shows the tooltip: the x of the nearest point, then up to five lines with value and, when smoothed, raw value.
pub(super) fn tooltip(
    response: &Response,
    lines: &[ChartLine<'_>],
    near: &[Near],
    (x_axis, y_axis): (&Axis, &Axis),
    smoothing: f64,
) {
    let Some(first) = near.first() else { return };
    let tip = egui::Tooltip::always_open(
        response.ctx.clone(),
        response.layer_id,
        response.id.with("tooltip"),
        egui::PopupAnchor::Pointer,
    );
    tip.gap(14.0).accessible_name("Values under the pointer").show(|ui| {
        let x = x_axis.scale.inverse(first.point.x);
        ui.label(RichText::new(format!("{} {}", x_axis.label, x_axis.quantity.value(x))).small().weak());
        let names: Names = lines.iter().map(|line| line.name).collect();
        egui::Grid::new("values").num_columns(4).min_col_width(0.0).spacing([10.0, 3.0]).show(ui, |ui| {
            for near in near.iter().take(ROWS) {
                if let Some(line) = lines.get(near.line) {
                    let smoothed = line.smoothing(smoothing) > 0.0;
                    row_ui(ui, (line, &names), near, (x_axis, y_axis), smoothed, near.point.x != first.point.x);
                }
            }
        });
        if let Some(more) = near.len().checked_sub(ROWS + 1) {
            ui.label(RichText::new(format!("+{}", more + 1)).small().weak());
        }
    });
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
