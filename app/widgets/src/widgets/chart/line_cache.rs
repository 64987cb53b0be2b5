//! Everything cached of one line: an unchanged frame builds nothing.

use egui::epaint::Mesh;
use egui::{Shape, Stroke};
use egui_plot::PlotPoint;

use super::curve::{Curve, Misfit, SUNK, Settings};
use super::drawn::Drawn;
use super::line::{Band, ChartLine};
use super::mesh::band_mesh;
use super::scene::Scene;
use crate::theme::Dash;

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
        let of = |curve: &Curve| curve.pyramid.y_range_within(x_range);
        let edges = self.edges.as_ref();
        let low = edges.and_then(|(low, _)| of(low)).filter(|range| range.0 > SUNK);
        let all = [self.lines_range(x_range), low, edges.and_then(|(_, high)| of(high))];
        all.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The same of the line itself and the unsmoothed one, without its band.
    pub fn lines_range(&self, x_range: (f64, f64)) -> Option<(f64, f64)> {
        let of = |curve: &Curve| curve.pyramid.y_range_within(x_range);
        let all = [of(&self.main), self.raw.as_ref().and_then(of)];
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
        self.main_drawn.line(scene, &self.main, scene.columns(0.7), stroke, line.dash, line.dots, rebuilt)
    }
}
