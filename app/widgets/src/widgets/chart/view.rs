//! A chart that keeps its lines, as those of an analysis do.

use std::collections::BTreeMap;

use egui::{Color32, Ui};

use super::{Chart, ChartLine, ChartResponse, ChartState, SharedX};
use crate::{
    export::Figure,
    plot::Series,
    theme::{self, Dash},
};

/// A line with its points.
#[derive(Clone, Debug)]
pub struct ViewLine {
    /// The name in tooltip and legend.
    pub name: String,
    /// The points.
    pub series: Series,
    /// Its colour.
    pub colour: Color32,
    /// Its dash pattern.
    pub dash: Dash,
    /// Its width in points.
    pub width: f32,
}

impl ViewLine {
    /// An unbroken line of the usual width.
    pub fn new(name: impl Into<String>, series: Series, colour: Color32) -> Self {
        Self { name: name.into(), series, colour, dash: Dash::Solid, width: ChartLine::WIDTH }
    }

    /// A line in the style that belongs to the run, or the place in a list, with this number.
    pub fn of_run(number: u64, name: impl Into<String>, series: Series) -> Self {
        let (colour, dash) = theme::run_style(number);
        Self { dash, ..Self::new(name, series, colour) }
    }

    /// A line of several that have an order, such as layers: its place among them, and how many they are.
    pub fn of_order((place, count): (usize, usize), name: impl Into<String>, series: Series) -> Self {
        let (colour, dash) = theme::ordered_style(place, count);
        Self { dash, ..Self::new(name, series, colour) }
    }

    /// Broken in this way, and so wide.
    #[must_use]
    pub fn drawn(self, dash: Dash, width: f32) -> Self {
        Self { dash, width, ..self }
    }
}

/// Lines, made anew only when what they show changes, and what their chart remembers between frames. Its x is not linked to
/// that of other charts. The chart itself is given anew each frame, without lines: the window and the exported figure are
/// made of the same one.
#[derive(Debug, Default)]
pub struct ChartView {
    /// The lines.
    pub lines: Vec<ViewLine>,
    /// Vertical marks with a text each.
    pub marks: Vec<(f64, String)>,
    state: ChartState,
}

impl ChartView {
    /// A view of lines that stay as they are.
    pub fn new(lines: Vec<ViewLine>) -> Self {
        Self { lines, ..Self::default() }
    }

    fn chart_lines<'a>(lines: &'a [ViewLine], marks: &'a [(f64, String)]) -> Vec<ChartLine<'a>> {
        let line = |(place, line): (usize, &'a ViewLine)| {
            let ViewLine { name, series, colour, dash, width } = line;
            let marks = if place == 0 { marks } else { &[] };
            let line = ChartLine::new(place as u64, name, series);
            ChartLine { colour: *colour, dash: *dash, width: *width, marks, ..line }
        };
        lines.iter().enumerate().map(line).collect()
    }

    /// Draws the lines in a chart.
    pub fn show(&mut self, ui: &mut Ui, chart: Chart<'_>) -> ChartResponse {
        let lines = Self::chart_lines(&self.lines, &self.marks);
        chart.of(&lines).show(ui, &mut self.state, &mut SharedX::default())
    }

    /// What is shown, as it is exported.
    pub fn figure(&mut self, chart: Chart<'_>, metadata: BTreeMap<String, String>) -> Figure {
        let lines = Self::chart_lines(&self.lines, &self.marks);
        chart.of(&lines).figure(&mut self.state, &SharedX::default(), metadata)
    }
}
