//! From curves to triangles, and the caches on the way: an unchanged frame builds nothing.

use std::cell::Cell;
use std::sync::Arc;

use egui::epaint::{BandPoint, BandShape, Mesh, TessellationOptions, Tessellator};
use egui::{Color32, Pos2, Rect, Shape, Stroke, Vec2, pos2};
use egui_plot::{PlotPoint, PlotTransform};

use super::curve::{Curve, Misfit, Settings};
use super::line::{Band, ChartLine};
use crate::widgets::{Dash, Scale};

/// How many columns all lines of a chart may use together. Each costs at most four vertices: the whole stays well
/// under the 16 ms of a frame. With few lines every line has one column per pixel.
const COLUMN_BUDGET: usize = 120_000;

/// The fewest columns of a line, however many lines there are.
const FEWEST_COLUMNS: usize = 96;

/// From this many lines on, dense lines get a simpler soft edge that is many times quicker to build.
pub(super) const MANY_LINES: usize = 24;

/// How much coarser a picture of many lines is while the view moves. Extremes are still drawn: columns get wider.
const ROUGHER: usize = 3;

/// While the view moves because a run grows, the triangles of many lines are moved along with it; they are made anew
/// once they would be stretched by more than this share.
const STRETCH: f64 = 0.05;

/// The most that triangles are stretched while they wait for their turn to be made anew.
const MOST_STRETCH: f64 = 1.0;

/// How many columns of stretched lines are made anew in one frame.
pub(super) const RENEWED_COLUMNS: usize = 16_000;

/// Points closer than this have no dots of their own.
const DOT_SPACING: f32 = 14.0;

/// What the drawn points of a curve depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PointsKey {
    version: (u64, usize, u64, Scale, Scale),
    x_range: (u64, u64),
    columns: usize,
}

/// What the triangles depend on besides the points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeshKey {
    points: PointsKey,
    other: Option<PointsKey>,
    y_range: (u64, u64),
    size: Vec2,
    pixels_per_point: f32,
    stroke: Stroke,
    dash: Dash,
}

/// The decimated points of a curve and their triangles.
#[derive(Default)]
struct Drawn {
    points_key: Option<PointsKey>,
    points: Vec<PlotPoint>,
    mesh_key: Option<MeshKey>,
    /// Where the frame was when the mesh was built.
    origin: Pos2,
    mesh: Arc<Mesh>,
    /// The view that the mesh was built for, and the one that it was last moved to.
    built: View,
    shown: View,
    /// It was stretched by too much and waits for its turn to be made anew.
    is_waiting: bool,
}

/// A range of both axes, in axis positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct View {
    x: (f64, f64),
    y: (f64, f64),
}

impl View {
    /// How much larger or smaller, as a share, things are along the axis that changed more.
    fn stretch(self, other: Self) -> f64 {
        let share = |a: (f64, f64), b: (f64, f64)| {
            let ratio = (a.1 - a.0) / (b.1 - b.0);
            ratio.max(ratio.recip()) - 1.0
        };
        share(self.x, other.x).max(share(self.y, other.y))
    }
}

/// Everything cached of one line.
pub(super) struct LineCache {
    pub main: Curve,
    pub raw: Option<Curve>,
    pub edges: Option<(Curve, Curve)>,
    main_drawn: Drawn,
    raw_drawn: Drawn,
    band_drawn: Drawn,
    /// Marks lines that are still in use.
    pub seen: bool,
}

/// The scene that all lines of a frame share.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub transform: &'a PlotTransform,
    pub pixels_per_point: f32,
    pub lines: usize,
    /// The view changes with every frame, and there are so many lines that a full picture would not keep up.
    pub is_rough: bool,
    /// How many columns of stretched lines may still be made anew in this frame.
    pub renewable: &'a Cell<usize>,
    /// Set when a line waits for its turn to be made anew.
    pub is_unfinished: &'a Cell<bool>,
}

impl Scene<'_> {
    fn frame(&self) -> Rect {
        *self.transform.frame()
    }

    fn columns(&self, share: f64) -> usize {
        let pixels = (self.frame().width() * self.pixels_per_point).ceil().max(1.0) as usize;
        let budget = if self.is_rough { COLUMN_BUDGET / ROUGHER } else { COLUMN_BUDGET };
        let fair = (budget as f64 * share / self.lines.max(1) as f64) as usize;
        pixels.min(fair.max(FEWEST_COLUMNS))
    }

    fn view(&self) -> View {
        let (min, max) = (self.transform.bounds().min(), self.transform.bounds().max());
        View { x: (min[0], max[0]), y: (min[1], max[1]) }
    }

    fn points_key(&self, curve: &Curve, columns: usize) -> PointsKey {
        let x = self.transform.bounds().range_x();
        PointsKey { version: curve.version(), x_range: (x.start().to_bits(), x.end().to_bits()), columns }
    }

    fn mesh_key(&self, points: PointsKey, other: Option<PointsKey>, stroke: Stroke, dash: Dash) -> MeshKey {
        let y = self.transform.bounds().range_y();
        MeshKey {
            points,
            other,
            y_range: (y.start().to_bits(), y.end().to_bits()),
            size: self.frame().size(),
            pixels_per_point: self.pixels_per_point,
            stroke,
            dash,
        }
    }

    /// The screen position; far off the screen is as good as infinitely far, and safe for the tessellator.
    fn position(&self, point: PlotPoint) -> Pos2 {
        let at = self.transform.position_from_point(&point);
        pos2(at.x.clamp(-1e5, 1e5), at.y.clamp(-1e5, 1e5))
    }

    fn tessellator(&self) -> Tessellator {
        Tessellator::new(self.pixels_per_point, TessellationOptions::default(), [1, 1], Vec::new())
    }
}

impl LineCache {
    pub fn new(settings: Settings) -> Self {
        Self {
            main: Curve::new(settings),
            raw: None,
            edges: None,
            main_drawn: Drawn::default(),
            raw_drawn: Drawn::default(),
            band_drawn: Drawn::default(),
            seen: true,
        }
    }

    /// Brings the curves up to date with the line.
    pub fn update(&mut self, line: &ChartLine<'_>, settings: Settings, with_raw: bool) {
        self.seen = true;
        self.main.update(line.series, settings);
        if with_raw {
            let raw = Settings { smoothing: 0.0, ..settings };
            self.raw.get_or_insert_with(|| Curve::new(raw)).update(line.series, raw);
        } else {
            self.raw = None;
        }
        if let Some(Band { low, high }) = line.band {
            let sink = Settings { misfit: Misfit::Sink, ..settings };
            let (a, b) = self.edges.get_or_insert_with(|| (Curve::new(sink), Curve::new(sink)));
            a.update(low, sink);
            b.update(high, sink);
        } else {
            self.edges = None;
        }
    }

    /// Smallest and largest y position that is drawn for x positions in `x_range`.
    pub fn y_range(&self, x_range: (f64, f64)) -> Option<(f64, f64)> {
        let of = |curve: &Curve| curve.pyramid.y_range(curve.pyramid.visible(x_range));
        let edges = self.edges.as_ref();
        let low = edges.and_then(|(low, _)| of(low)).filter(|range| range.0 > super::curve::SUNK);
        let all = [of(&self.main), self.raw.as_ref().and_then(of), low, edges.and_then(|(_, high)| of(high))];
        all.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The points on screen, in axis positions, ascending in x: what a pointer can hit.
    pub fn points(&self) -> &[PlotPoint] {
        &self.main_drawn.points
    }

    /// The triangles of the band, if there is one. Adds to `rebuilt` what had to be built.
    pub fn band_shape(&mut self, scene: Scene<'_>, line: &ChartLine<'_>, rebuilt: &mut u64) -> Option<Shape> {
        let (low, high) = self.edges.as_ref()?;
        let columns = scene.columns(0.3);
        let (a, b) = (scene.points_key(low, columns), scene.points_key(high, columns));
        let stroke = Stroke::new(0.0, line.colour.gamma_multiply(0.18));
        let key = scene.mesh_key(a, Some(b), stroke, Dash::Solid);
        let drawn = &mut self.band_drawn;
        if drawn.mesh_key != Some(key) {
            let mut mesh = Mesh::default();
            band_mesh(scene, low, high, columns, stroke.color, &mut mesh);
            drawn.keep(key, mesh, scene, rebuilt);
        }
        drawn.shape(scene)
    }

    /// The triangles of the unsmoothed line, if it is drawn.
    pub fn raw_shape(&mut self, scene: Scene<'_>, line: &ChartLine<'_>, rebuilt: &mut u64) -> Option<Shape> {
        let curve = self.raw.as_ref().filter(|_| !scene.is_rough)?;
        let stroke = Stroke::new(1.0, line.colour.gamma_multiply(0.30));
        self.raw_drawn.line(scene, curve, scene.columns(0.3), stroke, Dash::Solid, false, rebuilt)
    }

    /// The triangles of the line itself.
    pub fn main_shape(
        &mut self,
        scene: Scene<'_>,
        line: &ChartLine<'_>,
        highlighted: bool,
        rebuilt: &mut u64,
    ) -> Option<Shape> {
        let width = if highlighted { line.width + 1.6 } else { line.width };
        let stroke = Stroke::new(width, line.colour);
        self.main_drawn.line(scene, &self.main, scene.columns(0.7), stroke, line.dash, true, rebuilt)
    }
}

impl Drawn {
    #[expect(clippy::too_many_arguments, reason = "private, called from two places, each argument its own matter")]
    fn line(
        &mut self,
        scene: Scene<'_>,
        curve: &Curve,
        columns: usize,
        stroke: Stroke,
        dash: Dash,
        decorated: bool,
        rebuilt: &mut u64,
    ) -> Option<Shape> {
        let points_key = scene.points_key(curve, columns);
        let mesh_key = scene.mesh_key(points_key, None, stroke, dash);
        let is_stale = self.mesh_key != Some(mesh_key) || self.is_waiting;
        if is_stale && self.moves_along(scene, curve, mesh_key) {
            self.move_to(scene, mesh_key);
            return self.shape(scene);
        }
        if self.points_key != Some(points_key) {
            let x = scene.transform.bounds().range_x();
            let mut keep = Vec::new();
            curve.pyramid.query((*x.start(), *x.end()), columns, &mut keep);
            let at = |i: &u32| {
                Some(PlotPoint::new(*curve.pyramid.x().get(*i as usize)?, *curve.pyramid.y().get(*i as usize)?))
            };
            self.points.clear();
            self.points.extend(keep.iter().filter_map(at));
            self.points_key = Some(points_key);
        }
        if is_stale {
            let mut mesh = Mesh::default();
            line_mesh(scene, &self.points, columns, stroke, dash, decorated, &mut mesh);
            self.keep(mesh_key, mesh, scene, rebuilt);
        }
        self.shape(scene)
    }

    /// Whether the triangles can be moved to the scene's view: only the view changed, by little, and they hold the
    /// whole curve. When they were stretched too far and it is their turn they cannot.
    fn moves_along(&mut self, scene: Scene<'_>, curve: &Curve, key: MeshKey) -> bool {
        let Some(known) = self.mesh_key else { return false };
        let same_view = MeshKey {
            points: PointsKey { x_range: known.points.x_range, ..key.points },
            y_range: known.y_range,
            ..key
        };
        let (built, view) = (self.built, scene.view());
        let is_whole = curve.x_range().is_some_and(|(first, last)| built.x.0 <= first && last <= built.x.1);
        // The crosses of gaps stand at the plot's edge, not at a value.
        let is_movable = curve.pyramid.non_finite().is_empty() || built.y == view.y;
        if scene.lines <= MANY_LINES || scene.is_rough || known != same_view || !is_whole || !is_movable {
            return false;
        }
        let stretch = built.stretch(view);
        if stretch <= STRETCH {
            return true;
        }
        let columns = key.points.columns;
        if let Some(left) = scene.renewable.get().checked_sub(columns) {
            scene.renewable.set(left);
            return false;
        }
        self.is_waiting = stretch <= MOST_STRETCH;
        scene.is_unfinished.set(scene.is_unfinished.get() || self.is_waiting);
        self.is_waiting
    }

    /// Moves the triangles from the view that they are shown in to the scene's.
    fn move_to(&mut self, scene: Scene<'_>, key: MeshKey) {
        let (from, to, size) = (self.shown, scene.view(), scene.frame().size());
        let along = |from: (f64, f64), to: (f64, f64), length: f32| {
            let scale = (from.1 - from.0) / (to.1 - to.0);
            (scale as f32, ((from.0 - to.0) / (to.1 - to.0) * f64::from(length)) as f32)
        };
        let ((x_scale, right), (y_scale, up)) = (along(from.x, to.x, size.x), along(from.y, to.y, size.y));
        // The triangles are where the frame was then; y grows downwards on the screen.
        let (left, bottom) = (self.origin.x, self.origin.y + size.y);
        let is_flat = (y_scale, up) == (1.0, 0.0);
        for vertex in &mut Arc::make_mut(&mut self.mesh).vertices {
            vertex.pos.x = left + right + (vertex.pos.x - left) * x_scale;
            if !is_flat {
                vertex.pos.y = bottom - up - (bottom - vertex.pos.y) * y_scale;
            }
        }
        self.shown = to;
        self.mesh_key = Some(key);
    }

    fn keep(&mut self, key: MeshKey, mesh: Mesh, scene: Scene<'_>, rebuilt: &mut u64) {
        (self.built, self.shown, self.is_waiting) = (scene.view(), scene.view(), false);
        self.mesh_key = Some(key);
        self.origin = scene.frame().min;
        self.mesh = Arc::new(mesh);
        *rebuilt += 1;
    }

    fn shape(&mut self, scene: Scene<'_>) -> Option<Shape> {
        let moved = scene.frame().min - self.origin;
        if moved != Vec2::ZERO {
            // Scrolled: the picture is the same, elsewhere.
            Arc::make_mut(&mut self.mesh).translate(moved);
            self.origin = scene.frame().min;
        }
        (!self.mesh.is_empty()).then(|| Shape::Mesh(Arc::clone(&self.mesh)))
    }
}

fn line_mesh(
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
                for &at in &path {
                    tessellator
                        .tessellate_shape(Shape::circle_filled(at, stroke.width.max(1.0) * 1.4, stroke.color), mesh);
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

fn band_mesh(scene: Scene<'_>, low: &Curve, high: &Curve, columns: usize, colour: Color32, mesh: &mut Mesh) {
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
    fn triangles_that_were_moved_lie_where_new_ones_would() {
        use crate::widgets::Series;

        let series: Series = (0..5000).map(|i| (f64::from(i), f64::from(i * 37 % 101) * 0.1)).collect();
        let settings = Settings { smoothing: 0.0, x: Scale::Linear, y: Scale::Linear, misfit: Misfit::Drop };
        let mut curve = Curve::new(settings);
        curve.update(&series, settings);
        let frame = Rect::from_min_size(pos2(40.0, 30.0), Vec2::new(900.0, 500.0));
        let bounds = |x: [f64; 2], y: [f64; 2]| egui_plot::PlotBounds::from_min_max([x[0], y[0]], [x[1], y[1]]);
        let (renewable, is_unfinished) = (Cell::new(0), Cell::new(false));
        let draw = |drawn: &mut Drawn, bounds| {
            let transform = PlotTransform::new(frame, bounds, false);
            let scene = Scene {
                transform: &transform,
                pixels_per_point: 1.0,
                lines: 100,
                is_rough: false,
                renewable: &renewable,
                is_unfinished: &is_unfinished,
            };
            let mut rebuilt = 0;
            let stroke = Stroke::new(1.0, Color32::PLACEHOLDER);
            drawn.line(scene, &curve, 450, stroke, Dash::Solid, true, &mut rebuilt);
            (drawn.mesh.calc_bounds(), rebuilt)
        };
        let (before, after) = (bounds([-50.0, 5050.0], [-1.0, 11.0]), bounds([-60.0, 5200.0], [-1.2, 11.2]));
        let mut moved = Drawn::default();
        assert_eq!(draw(&mut moved, before).1, 1);
        let (there, rebuilt) = draw(&mut moved, after);
        assert_eq!((rebuilt, is_unfinished.get()), (0, false));
        let (anew, _) = draw(&mut Drawn::default(), after);
        let off = (there.min - anew.min).abs().max_elem().max((there.max - anew.max).abs().max_elem());
        assert!(off < 0.1, "{off}: {there} and {anew}");
        // Half as wide again is too much to stay so, and part of it in view cannot be made of what was cut off.
        draw(&mut moved, bounds([-60.0, 7500.0], [-1.2, 11.2]));
        assert!(is_unfinished.get());
        renewable.set(450);
        assert_eq!(draw(&mut moved, bounds([-60.0, 7500.0], [-1.2, 11.2])).1, 1);
        assert_eq!(draw(&mut moved, bounds([100.0, 200.0], [-1.0, 11.0])).1, 1);
        assert_eq!(draw(&mut moved, bounds([100.0, 201.0], [-1.0, 11.0])).1, 1, "it holds a part only");
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
