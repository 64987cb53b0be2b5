//! The drawn points of a curve and their triangles, kept as long as they can be.

use std::sync::Arc;

use egui::epaint::Mesh;
use egui::{Pos2, Shape, Stroke, Vec2};
use egui_plot::PlotPoint;

use super::curve::Curve;
use super::keys::{MeshKey, PointsKey, View};
use super::mesh::line_mesh;
use super::scene::{MANY_LINES, Scene};
use crate::theme::Dash;

/// While the view moves because a run grows, the triangles of many lines are moved along with it; they are made anew
/// once they would be stretched by more than this share.
const STRETCH: f64 = 0.05;

/// The most that triangles are stretched while they wait for their turn to be made anew.
const MOST_STRETCH: f64 = 1.0;

/// How many columns of stretched lines are made anew in one frame.
pub(super) const RENEWED_COLUMNS: usize = 16_000;

/// The decimated points of a curve and their triangles.
#[derive(Default)]
pub(super) struct Drawn {
    points_key: Option<PointsKey>,
    /// The points on screen, in axis positions.
    pub points: Vec<PlotPoint>,
    pub mesh_key: Option<MeshKey>,
    /// Where the frame was when the mesh was built.
    origin: Pos2,
    mesh: Arc<Mesh>,
    /// The view that the mesh was built for, and the one that it was last moved to.
    built: View,
    shown: View,
    /// It was stretched by too much and waits for its turn to be made anew.
    is_waiting: bool,
}

impl Drawn {
    #[expect(clippy::too_many_arguments, reason = "private, called from two places, each argument its own matter")]
    pub fn line(
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
        // At least one line has its turn, however wide.
        let left = scene.renewable.get();
        if left > 0 {
            scene.renewable.set(left.saturating_sub(key.points.columns));
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

    pub fn keep(&mut self, key: MeshKey, mesh: Mesh, scene: Scene<'_>, rebuilt: &mut u64) {
        (self.built, self.shown, self.is_waiting) = (scene.view(), scene.view(), false);
        self.mesh_key = Some(key);
        self.origin = scene.frame().min;
        self.mesh = Arc::new(mesh);
        *rebuilt += 1;
    }

    pub fn shape(&mut self, scene: Scene<'_>) -> Option<Shape> {
        let moved = scene.frame().min - self.origin;
        if moved != Vec2::ZERO {
            // Scrolled: the picture is the same, elsewhere.
            Arc::make_mut(&mut self.mesh).translate(moved);
            self.origin = scene.frame().min;
        }
        (!self.mesh.is_empty()).then(|| Shape::Mesh(Arc::clone(&self.mesh)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use egui::{Color32, Rect, pos2};
    use egui_plot::PlotTransform;

    use super::*;
    use crate::plot::{Scale, Series};
    use crate::widgets::chart::curve::{Misfit, Settings};

    #[test]
    fn triangles_that_were_moved_lie_where_new_ones_would() {
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
}
