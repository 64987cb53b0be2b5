//! What a figure is made of, independent of the format it is written in.

use std::collections::BTreeMap;

use egui::Color32;

use crate::{
    plot::{Axis, Quantity},
    theme::{self, Dash},
};

/// An axis and the range of data values that it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureAxis {
    /// Label, unit, scale.
    pub axis: Axis,
    /// Lowest and highest data value shown. On a logarithmic axis both are positive.
    pub range: (f64, f64),
}

/// One curve. All coordinates are data values, whatever the scale of the axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureSeries {
    /// The name in the legend, with n where it is a group: "baseline (n = 3)".
    pub name: String,
    /// The run's colour.
    pub colour: Color32,
    /// The run's dash pattern.
    pub dash: Dash,
    /// Line width in points.
    pub width: f32,
    /// The curve, x ascending; a non-finite y breaks it and is marked.
    pub points: Vec<(f64, f64)>,
    /// The unsmoothed values, drawn faint behind; empty when nothing was smoothed.
    pub raw: Vec<(f64, f64)>,
    /// (x, low, high) of the band around a group; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// Vertical marks on the x axis with a text each, such as where a run was resumed.
    pub marks: Vec<(f64, String)>,
}

impl FigureSeries {
    /// A curve in the style that belongs to the run, or the place in a list, with this number.
    pub fn of_run(number: u64, name: &str, points: Vec<(f64, f64)>) -> Self {
        let (colour, dash) = theme::run_style(number);
        Self { name: name.to_owned(), colour, dash, width: 1.6, points, ..Self::default() }
    }
}

/// What a zoomed chart shows when nothing is cut off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeRange {
    /// Lowest and highest data value along x.
    pub x: (f64, f64),
    /// The same along y.
    pub y: (f64, f64),
    /// The curves from their first point to their last.
    pub series: Vec<FigureSeries>,
}

/// A whole figure: what a chart shows, ready to be written as SVG, PNG or CSV.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Above the plot.
    pub title: String,
    /// Under the title, smaller: smoothing, alignment, data. May be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: FigureAxis,
    /// The vertical axis.
    pub y: FigureAxis,
    /// The curves, first drawn first.
    pub series: Vec<FigureSeries>,
    /// What stands outside a zoomed view as well; none where the view is everything.
    pub whole: Option<Box<WholeRange>>,
    /// Small print under the figure: what was left out and why.
    pub notes: Vec<String>,
    /// Whether there is a legend. A single unnamed curve never has one.
    pub legend: bool,
    /// Key to text, written into the file: config, program version, data hash.
    pub metadata: BTreeMap<String, String>,
    /// Size in points (1/96 inch in SVG).
    pub size: (f64, f64),
}

impl Figure {
    /// The same figure with nothing cut off.
    pub fn of_whole_range(mut self) -> Self {
        if let Some(whole) = self.whole.take() {
            (self.x.range, self.y.range, self.series) = (whole.x, whole.y, whole.series);
        }
        self
    }

    /// What part of x a zoomed figure shows: `Step 450 to 900`.
    pub fn view_words(&self) -> String {
        let FigureAxis { axis, range } = &self.x;
        let value = |x: f64| axis.quantity.value(if axis.quantity == Quantity::Count { x.round() } else { x });
        format!("{} {} to {}", axis.label, value(range.0), value(range.1))
    }
}

impl Default for Figure {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            x: FigureAxis::default(),
            y: FigureAxis::default(),
            series: Vec::new(),
            whole: None,
            notes: Vec::new(),
            legend: true,
            metadata: BTreeMap::new(),
            size: (720.0, 450.0),
        }
    }
}

/// A finished figure that is no chart of curves: its picture, and the numbers of exactly what it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Its title; gives the file its name.
    pub title: String,
    /// The picture as a complete SVG document.
    pub svg: String,
    /// The numbers as CSV.
    pub csv: String,
    /// Key to text, written into the file.
    pub metadata: BTreeMap<String, String>,
}

#[cfg(test)]
pub(super) mod examples {
    use super::*;
    use crate::plot::{Scale, XAxis, smooth};

    /// Three noisy loss curves, one with a gap, one with a band.
    pub(in crate::export) fn losses() -> Figure {
        let mut figure = Figure {
            title: "Validation loss".to_owned(),
            subtitle: "WikiText-2, smoothing 0.6 & raw values faint".to_owned(),
            x: FigureAxis { axis: XAxis::Step.into(), range: (0.0, 4_000.0) },
            y: FigureAxis {
                axis: Axis::new("Cross-entropy").unit("nats/token").quantity(Quantity::Number),
                range: (2.5, 7.0),
            },
            notes: vec!["Runs are aligned by step.".to_owned()],
            ..Figure::default()
        };
        figure.metadata.insert("config".to_owned(), "format = 1\nname = \"a <b> & c\"".to_owned());
        for (number, name) in [(0, "baseline"), (1, "first 2 layers reused (n = 3)"), (2, "alternate")] {
            let (colour, dash) = theme::run_style(if number == 2 { 8 } else { number });
            let curve = |x: f64| 2.7 + 0.2 * number as f64 + 4.0 * (-x / (500.0 + 100.0 * number as f64)).exp();
            let raw: Vec<(f64, f64)> = (0..400)
                .map(|i| {
                    let x = f64::from(i) * 10.0;
                    let noise = ((x * 12.9898 + number as f64).sin() * 43_758.545_3).fract() * 0.12;
                    (x, if number == 2 && (200..215).contains(&i) { f64::NAN } else { curve(x) + noise })
                })
                .collect();
            let y: Vec<f64> = raw.iter().map(|p| p.1).collect();
            let points = raw.iter().map(|p| p.0).zip(smooth(&y, 0.6)).collect();
            let band = if number == 1 {
                raw.iter().map(|&(x, _)| (x, curve(x) - 0.15, curve(x) + 0.2)).collect()
            } else {
                Vec::new()
            };
            figure.series.push(FigureSeries {
                name: name.to_owned(),
                colour,
                dash,
                width: 1.6,
                points,
                raw: if number == 1 { Vec::new() } else { raw },
                band,
                marks: if number == 0 { vec![(1_500.0, "resumed".to_owned())] } else { Vec::new() },
            });
        }
        figure
    }

    /// The same curves, both axes logarithmic.
    pub(in crate::export) fn log_losses() -> Figure {
        let mut figure = losses();
        figure.x.axis.scale = Scale::Log;
        figure.y.axis.scale = Scale::Log;
        figure.x.range = (10.0, 4_000.0);
        figure
    }
}
