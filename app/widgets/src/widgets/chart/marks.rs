//! The ticks of a chart's axis.

use egui::{Color32, FontId, Painter};
use egui_plot::GridMark;

use crate::plot::{Axis, Tick};

/// The ticks of one axis in axis positions.
#[derive(Clone, Default)]
pub(super) struct Marks {
    ticks: Vec<(f64, Tick)>,
    span: f64,
}

impl Marks {
    /// The ticks for the axis positions `lo..=hi`.
    pub fn new(axis: &Axis, (lo, hi): (f64, f64), target: usize) -> Self {
        let ticks = axis.ticks(axis.scale.inverse(lo), axis.scale.inverse(hi), target);
        Self { ticks: ticks.into_iter().map(|tick| (axis.scale.forward(tick.value), tick)).collect(), span: hi - lo }
    }

    /// Every mark claims the whole axis for itself, so that the plot neither fades nor drops it: there are few.
    pub fn grid(&self) -> Vec<GridMark> {
        self.ticks
            .iter()
            .filter(|(_, tick)| tick.major)
            .map(|&(value, _)| GridMark { value, step_size: self.span })
            .collect()
    }

    /// Width of the widest label in points.
    pub fn widest(&self, painter: &Painter, font: &FontId) -> f32 {
        let labels = self.ticks.iter().filter(|(_, tick)| tick.major).map(|(_, tick)| &tick.label);
        let width = |label: &String| painter.layout_no_wrap(label.clone(), font.clone(), Color32::PLACEHOLDER).size().x;
        labels.map(width).fold(0.0, f32::max)
    }

    /// The text of the mark at exactly this axis position.
    pub fn label(&self, position: f64) -> String {
        self.ticks.iter().find(|(at, _)| *at == position).map(|(_, tick)| tick.label.clone()).unwrap_or_default()
    }
}
