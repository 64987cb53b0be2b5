//! What a chart is given to draw.

use egui::Color32;

use crate::{
    plot::Series,
    theme::{Dash, LineStyle},
};

/// The band around the mean of a group. Both edges have the same x values.
#[derive(Clone, Copy, Debug)]
pub struct Band<'a> {
    /// The lower edge.
    pub low: &'a Series,
    /// The upper edge.
    pub high: &'a Series,
}

/// One line of a chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartLine<'a> {
    /// What hover and highlight speak of: the run's stable number. Several lines of a run share it.
    pub id: u64,
    /// The name in tooltip and legend, with n where it is a group.
    pub name: &'a str,
    /// The points, unsmoothed.
    pub series: &'a Series,
    /// The colour of the run.
    pub colour: Color32,
    /// The dash pattern of the run.
    pub dash: Dash,
    /// Width in points: 1.6 as a rule, 3 for the baseline.
    pub width: f32,
    /// The band around a group.
    pub band: Option<Band<'a>>,
    /// Whether points that stand apart are dots and gaps are marked; false where a line is no series of measurements.
    pub dots: bool,
    /// Vertical marks with a text each, such as where the run was resumed.
    pub marks: &'a [(f64, String)],
}

/// Curves of fewer points are drawn as they are: each point is a measurement of its own, and a moving average of a few
/// evaluations would only lag behind them.
pub const FEWEST_SMOOTHED: usize = 30;

impl<'a> ChartLine<'a> {
    /// The smoothing that this line gets where the chart's is `asked`.
    pub(super) fn smoothing(&self, asked: f64) -> f64 {
        if self.series.len() < FEWEST_SMOOTHED { 0.0 } else { asked }
    }

    /// The width of an ordinary line in points.
    pub const WIDTH: f32 = LineStyle::WIDTH;

    /// A line in the style of this place in a list.
    pub fn new(id: u64, name: &'a str, series: &'a Series) -> Self {
        Self::styled(id, name, series, LineStyle::of_place(id as usize))
    }

    /// A line in this style.
    pub fn styled(id: u64, name: &'a str, series: &'a Series, style: LineStyle) -> Self {
        let LineStyle { colour, dash, width } = style;
        Self { id, name, series, colour, dash, width, band: None, dots: true, marks: &[] }
    }

    /// How it is drawn.
    pub fn style(&self) -> LineStyle {
        LineStyle { colour: self.colour, dash: self.dash, width: self.width }
    }
}
