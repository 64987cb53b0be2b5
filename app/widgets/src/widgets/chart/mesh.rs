//! From points to triangles.

use egui::epaint::{BandPoint, BandShape, Mesh, Tessellator};
use egui::{Color32, Pos2, Shape, Stroke, pos2, vec2};
use egui_plot::PlotPoint;

use super::curve::Curve;
use super::scene::{MANY_LINES, Scene};
use crate::theme::Dash;

/// Half the stroke across the end of a whisker, in points.
const WHISKER: f32 = 4.0;
/// Points closer than this have no dots of their own.
const DOT_SPACING: f32 = 14.0;

/// The triangles of a line.
pub(super) fn line_mesh(
    scene: Scene<'_>,
    points: &[PlotPoint],
    columns: usize,
    stroke: Stroke,
    dash: Dash,
    decorated: bool,
    mesh: &mut Mesh,
) {
    let mut tessellator = scene.tessellator();
    let column_width = scene.frame().width() / columns as f32;
    for run in points.split(|p| !p.y.is_finite()) {
        let path: Vec<Pos2> = run.iter().map(|p| scene.position(*p)).collect();
        let (Some(first), Some(last)) = (path.first(), path.last()) else { continue };
        if path.len() == 1 {
            tessellator.tessellate_shape(Shape::circle_filled(*first, stroke.width.max(1.0) * 1.4, stroke.color), mesh);
            continue;
        }
        let span = (last.x - first.x).max(column_width);
        if path.len() as f32 > 1.3 * span / column_width + 4.0 {
            for band in cut(columns_of(&path, column_width, stroke.width), dash, scene.frame().left()) {
                if scene.lines > MANY_LINES {
                    quick_band(&band, 1.0 / scene.pixels_per_point, stroke.color, mesh);
                } else {
                    tessellator.tessellate_shape(BandShape::filled(band, stroke.color).into(), mesh);
                }
            }
        } else {
            if decorated && span / (path.len() as f32) > DOT_SPACING {
                // A dashed line is often the second of a run and lies on the first: its dots stand out.
                let radius = stroke.width.max(1.0) * if dash.pattern().is_empty() { 1.4 } else { 2.2 };
                for &at in &path {
                    tessellator.tessellate_shape(Shape::circle_filled(at, radius, stroke.color), mesh);
                }
            }
            let shape = match dash.pattern() {
                [] => vec![Shape::line(path, stroke)],
                pattern => {
                    let (on, off): (Vec<_>, Vec<_>) =
                        pattern.chunks_exact(2).filter_map(|c| Some((*c.first()?, *c.get(1)?))).unzip();
                    Shape::dashed_line_with_offset(&path, stroke, &on, &off, 0.0)
                }
            };
            for shape in shape {
                tessellator.tessellate_shape(shape, mesh);
            }
        }
    }
    if decorated {
        gap_marks(scene, points, stroke.color, &mut tessellator, mesh);
    }
}

/// A dense path as a band: one vertical extent per column, at least as high as the line is wide.
fn columns_of(path: &[Pos2], column_width: f32, width: f32) -> Vec<BandPoint> {
    let mut band: Vec<BandPoint> = Vec::with_capacity(path.len() / 2 + 2);
    let mut column_end = f32::NEG_INFINITY;
    for &at in path {
        match band.last_mut() {
            Some(point) if at.x < column_end => {
                point.y.min = point.y.min.min(at.y);
                point.y.max = point.y.max.max(at.y);
            }
            _ => {
                band.push(BandPoint::new(at.x, at.y..=at.y));
                column_end = at.x + column_width;
            }
        }
    }
    if let (Some(point), Some(at)) = (band.last_mut(), path.last()) {
        point.x = at.x;
    }
    for point in &mut band {
        point.y.min -= width / 2.0;
        point.y.max += width / 2.0;
    }
    band
}

/// A band whose edges fade out vertically over one pixel. On steep slopes that is less smooth than the tessellator's
/// own, which nobody sees where dozens of lines overlap.
fn quick_band(band: &[BandPoint], pixel: f32, colour: Color32, mesh: &mut Mesh) {
    mesh.reserve_vertices(band.len() * 4);
    mesh.reserve_triangles(band.len() * 6);
    for (i, point) in band.iter().enumerate() {
        let (top, bottom) = (point.y.min, point.y.max.max(point.y.min + pixel));
        let first = mesh.vertices.len() as u32;
        mesh.colored_vertex(pos2(point.x, top - pixel / 2.0), Color32::TRANSPARENT);
        mesh.colored_vertex(pos2(point.x, top + pixel / 2.0), colour);
        mesh.colored_vertex(pos2(point.x, bottom - pixel / 2.0), colour);
        mesh.colored_vertex(pos2(point.x, bottom + pixel / 2.0), Color32::TRANSPARENT);
        if i > 0 {
            for row in 0..3 {
                let (a, b) = (first - 4 + row, first + row);
                mesh.add_triangle(a, a + 1, b);
                mesh.add_triangle(a + 1, b + 1, b);
            }
        }
    }
}

/// Cuts a band into dashes along x.
fn cut(band: Vec<BandPoint>, dash: Dash, left: f32) -> Vec<Vec<BandPoint>> {
    let pattern = dash.pattern();
    let total: f32 = pattern.iter().sum();
    if total <= 0.0 {
        return vec![band];
    }
    let is_on = |x: f32| {
        let mut at = (x - left).rem_euclid(total);
        for (i, &length) in pattern.iter().enumerate() {
            if at < length {
                return i % 2 == 0;
            }
            at -= length;
        }
        false
    };
    let mut pieces: Vec<Vec<BandPoint>> = Vec::new();
    let mut current: Vec<BandPoint> = Vec::new();
    for point in band {
        current.push(point);
        if !is_on(point.x) {
            if current.len() > 1 {
                pieces.push(std::mem::take(&mut current));
            }
            // The next dash starts here if the next column is on.
            current.clear();
        }
    }
    if current.len() > 1 {
        pieces.push(current);
    }
    pieces
}

/// Crosses at the edge of the plot where the value is not finite: on top for NaN and +inf, at the bottom for -inf.
fn gap_marks(scene: Scene<'_>, points: &[PlotPoint], colour: Color32, tessellator: &mut Tessellator, mesh: &mut Mesh) {
    let frame = scene.frame();
    let mut last = f32::NEG_INFINITY;
    for point in points.iter().filter(|p| !p.y.is_finite()) {
        let x = scene.transform.position_from_point_x(point.x);
        if x - last < 7.0 || !frame.x_range().contains(x) {
            continue;
        }
        last = x;
        let y = if point.y == f64::NEG_INFINITY { frame.bottom() - 8.0 } else { frame.top() + 8.0 };
        for (dx, dy) in [(3.5, 3.5), (3.5, -3.5)] {
            let ends = [pos2(x - dx, y - dy), pos2(x + dx, y + dy)];
            tessellator.tessellate_shape(Shape::line_segment(ends, Stroke::new(1.8, colour)), mesh);
        }
    }
}

/// The triangles of the band between two curves.
pub(super) fn band_mesh(scene: Scene<'_>, low: &Curve, high: &Curve, columns: usize, colour: Color32, mesh: &mut Mesh) {
    if let ([x], [bottom], [top]) = (low.pyramid.x(), low.pyramid.y(), high.pyramid.y()) {
        return whisker_mesh(scene, [*bottom, *top].map(|y| PlotPoint::new(*x, y)), colour, mesh);
    }
    let (low, high) = (&low.pyramid, &high.pyramid);
    if low.x() != high.x() {
        return;
    }
    let x = scene.transform.bounds().range_x();
    let (lo, hi) = (*x.start(), *x.end());
    let visible = low.visible((lo, hi));
    let range = visible.start.saturating_sub(1)..(visible.end + 1).min(low.len());
    let mut tessellator = scene.tessellator();
    let mut run: Vec<BandPoint> = Vec::new();
    let mut at = range.start;
    let step = (hi - lo) / columns as f64;
    while at < range.end {
        let Some(&start) = low.x().get(at) else { break };
        let rest = low.x().get(at..range.end).unwrap_or_default();
        let end = if range.len() <= columns { at + 1 } else { at + rest.partition_point(|&x| x < start + step).max(1) };
        match (low.y_range(at..end), high.y_range(at..end)) {
            (Some((bottom, _)), Some((_, top))) => {
                let a = scene.position(PlotPoint::new(start, top));
                let b = scene.position(PlotPoint::new(start, bottom));
                run.push(BandPoint::new(a.x, a.y.min(b.y)..=a.y.max(b.y)));
            }
            _ => tessellator.tessellate_shape(BandShape::filled(std::mem::take(&mut run), colour).into(), mesh),
        }
        at = end;
    }
    tessellator.tessellate_shape(BandShape::filled(run, colour).into(), mesh);
}

/// The band of a single point: a line from its lower to its upper edge, with a stroke across each end.
fn whisker_mesh(scene: Scene<'_>, ends: [PlotPoint; 2], fill: Color32, mesh: &mut Mesh) {
    let [bottom, top] = ends.map(|end| scene.position(end));
    let [r, g, b, _] = fill.to_srgba_unmultiplied();
    let stroke = Stroke::new(1.4, Color32::from_rgb(r, g, b).gamma_multiply(0.8));
    let mut tessellator = scene.tessellator();
    let across = |at: Pos2| [at - vec2(WHISKER, 0.0), at + vec2(WHISKER, 0.0)];
    for segment in [[bottom, top], across(bottom), across(top)] {
        tessellator.tessellate_shape(Shape::line_segment(segment, stroke), mesh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_path_becomes_columns_that_hold_its_extremes() {
        let path: Vec<Pos2> =
            (0..1000).map(|i| pos2(i as f32 * 0.1, if i == 537 { -50.0 } else { (i % 3) as f32 })).collect();
        let band = columns_of(&path, 1.0, 2.0);
        assert!(band.len() <= 101, "{}", band.len());
        assert!(band.windows(2).all(|w| w[0].x <= w[1].x));
        assert_eq!(band.iter().map(|b| b.y.min).fold(f32::INFINITY, f32::min), -51.0);
        assert_eq!(band.last().map(|b| b.x), path.last().map(|p| p.x));
    }

    #[test]
    fn dashes_leave_gaps() {
        let band: Vec<BandPoint> = (0..100).map(|i| BandPoint::new(i as f32, 0.0..=1.0)).collect();
        assert_eq!(cut(band.clone(), Dash::Solid, 0.0).len(), 1);
        let pieces = cut(band, Dash::Dashed, 0.0);
        assert!((8..=10).contains(&pieces.len()), "{}", pieces.len());
        assert!(pieces.windows(2).all(|w| w[0].last().unwrap().x + 2.0 <= w[1][0].x));
    }
}
