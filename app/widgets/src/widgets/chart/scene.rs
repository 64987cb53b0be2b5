//! What all lines of a frame share.

use std::cell::Cell;

use egui::epaint::{TessellationOptions, Tessellator};
use egui::{Pos2, Rect, Stroke, pos2};
use egui_plot::{PlotPoint, PlotTransform};

use super::curve::Curve;
use super::keys::{MeshKey, PointsKey, View};
use crate::theme::Dash;

/// How many columns all lines of a chart may use together. Each costs at most four vertices: the whole stays well
/// under the 16 ms of a frame. With few lines every line has one column per pixel.
const COLUMN_BUDGET: usize = 120_000;

/// The fewest columns of a line, however many lines there are.
const FEWEST_COLUMNS: usize = 96;

/// From this many lines on, dense lines get a simpler soft edge that is many times quicker to build.
pub(super) const MANY_LINES: usize = 24;

/// How much coarser a picture of many lines is while the view moves. Extremes are still drawn: columns get wider.
const ROUGHER: usize = 3;

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
    pub fn frame(&self) -> Rect {
        *self.transform.frame()
    }

    pub fn columns(&self, share: f64) -> usize {
        let pixels = (self.frame().width() * self.pixels_per_point).ceil().max(1.0) as usize;
        let budget = if self.is_rough { COLUMN_BUDGET / ROUGHER } else { COLUMN_BUDGET };
        let fair = (budget as f64 * share / self.lines.max(1) as f64) as usize;
        pixels.min(fair.max(FEWEST_COLUMNS))
    }

    pub fn view(&self) -> View {
        let (min, max) = (self.transform.bounds().min(), self.transform.bounds().max());
        View { x: (min[0], max[0]), y: (min[1], max[1]) }
    }

    pub fn points_key(&self, curve: &Curve, columns: usize) -> PointsKey {
        let x = self.transform.bounds().range_x();
        PointsKey { version: curve.version(), x_range: (x.start().to_bits(), x.end().to_bits()), columns }
    }

    pub fn mesh_key(&self, points: PointsKey, other: Option<PointsKey>, stroke: Stroke, dash: Dash) -> MeshKey {
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
    pub fn position(&self, point: PlotPoint) -> Pos2 {
        let at = self.transform.position_from_point(&point);
        pos2(at.x.clamp(-1e5, 1e5), at.y.clamp(-1e5, 1e5))
    }

    pub fn tessellator(&self) -> Tessellator {
        Tessellator::new(self.pixels_per_point, TessellationOptions::default(), [1, 1], Vec::new())
    }
}
