//! Dependencies of what is kept of a drawn curve.

use egui::{Stroke, Vec2};

use crate::{plot::Scale, theme::Dash};

/// What the drawn points of a curve depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PointsKey {
    pub version: (u64, usize, u64, Scale, Scale),
    pub x_range: (u64, u64),
    pub columns: usize,
}

/// What the triangles depend on besides the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeshKey {
    pub points: PointsKey,
    pub other: Option<PointsKey>,
    pub y_range: (u64, u64),
    pub size: Vec2,
    pub pixels_per_point: f32,
    pub stroke: Stroke,
    pub dash: Dash,
}

/// A range of both axes, in axis positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct View {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

impl View {
    /// How much larger or smaller, as a share, things are along the axis that changed more.
    pub(super) fn stretch(self, other: Self) -> f64 {
        let share = |a: (f64, f64), b: (f64, f64)| {
            let ratio = (a.1 - a.0) / (b.1 - b.0);
            ratio.max(ratio.recip()) - 1.0
        };
        share(self.x, other.x).max(share(self.y, other.y))
    }
}
