//! The exported figure: what the chart shows, at full resolution.

use std::collections::BTreeMap;

use super::line::{Band, ChartLine};
use super::plot::{Chart, dropped_note};
use super::state::{ChartState, SharedX};
use crate::export::{Figure, FigureAxis, FigureSeries, WholeRange};
use crate::{
    format,
    plot::{Series, smooth},
};

impl Chart<'_> {
    /// The figure of what this chart shows now: the same lines, smoothing, scales and zoom; every point in view, not
    /// only those drawn; with the whole range at hand where the chart is zoomed. `metadata` goes into the files: the config,
    /// the program version.
    pub fn figure(&self, state: &mut ChartState, shared: &SharedX, metadata: BTreeMap<String, String>) -> Figure {
        self.update(state);
        let is_zoomed = state.is_zoomed() || self.link.is_some_and(|link| shared.range(link).is_some());
        let whole = is_zoomed.then(|| {
            let zoom = (state.x.take(), state.y.take());
            let (x, y) = self.ranges(state, &SharedX::default());
            (state.x, state.y) = zoom;
            Box::new(WholeRange { x, y, series: self.series(x) })
        });
        let (x, y) = self.ranges(state, shared);
        let dropped: usize = state.lines.values().map(|cache| cache.main.dropped()).sum();
        let subtitle = if self.is_smoothed() {
            format!("Smoothing {}", format::significant(self.smoothing, 2))
        } else {
            String::new()
        };
        Figure {
            title: self.title.to_owned(),
            subtitle,
            x: FigureAxis { axis: self.x_axis_of(state), range: x },
            y: FigureAxis { axis: self.y.clone(), range: y },
            series: self.series(x),
            whole,
            notes: (dropped > 0).then(|| dropped_note(dropped)).into_iter().collect(),
            metadata,
            ..Figure::default()
        }
    }

    /// The bounds in data values.
    fn ranges(&self, state: &mut ChartState, shared: &SharedX) -> ((f64, f64), (f64, f64)) {
        let (x, y) = self.bounds(state, shared);
        let (x_scale, y_scale) = (self.x.scale, self.y.scale);
        ((x_scale.inverse(x.0), x_scale.inverse(x.1)), (y_scale.inverse(y.0), y_scale.inverse(y.1)))
    }

    /// The curves with what of them lies in these data values of x.
    fn series(&self, range: (f64, f64)) -> Vec<FigureSeries> {
        let of_line = |line: &ChartLine<'_>| {
            let smoothing = line.smoothing(self.smoothing);
            let band = line.band.map(|Band { low, high }| {
                let edge = |edge: &Series| smoothed_points(edge, smoothing, range);
                edge(low).into_iter().zip(edge(high)).map(|((x, low), (_, high))| (x, low, high)).collect()
            });
            FigureSeries {
                name: line.name.to_owned(),
                colour: line.colour,
                dash: line.dash,
                width: line.width,
                points: smoothed_points(line.series, smoothing, range),
                raw: if self.draws_raw(line) { within(line.series.points(), range) } else { Vec::new() },
                band: band.unwrap_or_default(),
                marks: line.marks.to_vec(),
            }
        };
        self.lines.iter().map(of_line).collect()
    }
}

fn smoothed_points(series: &Series, smoothing: f64, range: (f64, f64)) -> Vec<(f64, f64)> {
    let y = smooth(series.y(), smoothing);
    within(series.x().iter().copied().zip(y), range)
}

/// The points in `lo..=hi` and their neighbours outside, so that lines run to the edge.
fn within(points: impl Iterator<Item = (f64, f64)>, (lo, hi): (f64, f64)) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    let mut before = None;
    for point in points {
        if point.0 < lo {
            before = Some(point);
            continue;
        }
        kept.extend(before.take());
        kept.push(point);
        if point.0 > hi {
            break;
        }
    }
    if kept.is_empty() { before.into_iter().collect() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::to_csv;
    use crate::plot::XAxis;

    #[test]
    fn it_holds_what_is_shown() {
        let series: Series = (0..100).map(|i| (f64::from(i), f64::from(i % 5) - 1.0)).collect();
        let lines = [ChartLine::new(3, "a", &series)];
        let chart = Chart::new("c", "Loss", &lines).x(XAxis::Tokens).log_y(true).smoothing(0.6);
        let (mut state, mut shared) = (ChartState::default(), SharedX::default());
        shared.set_range(XAxis::Tokens, Some((10.0, 20.0)));
        let figure = chart.figure(&mut state, &shared, BTreeMap::new());
        assert_eq!(figure.x.range, (10.0, 20.0));
        assert_eq!(figure.series[0].points.len(), 13);
        let expected = smooth(series.y(), 0.6)[15];
        let csv = to_csv(&figure);
        assert_eq!(csv.lines().count(), 12);
        assert_eq!(csv.lines().nth(6), Some(format!("15,{expected},-1").as_str()));
        assert_eq!(figure.x.axis.label, "Tokens");
        assert_eq!(figure.view_words(), "Tokens 10 to 20");
        let unzoomed = chart.figure(&mut ChartState::default(), &SharedX::default(), BTreeMap::new());
        assert_eq!(unzoomed.whole, None);
        assert_eq!(figure.of_whole_range(), unzoomed, "what is cut off is at hand");
    }

    #[test]
    fn lines_of_few_points_are_drawn_as_they_are() {
        let few: Series = (0..12).map(|i| (f64::from(i), f64::from(i % 5))).collect();
        let many: Series = (0..60).map(|i| (f64::from(i), f64::from(i % 5))).collect();
        let lines = [ChartLine::new(0, "few", &few), ChartLine::new(1, "many", &many)];
        let chart = Chart::new("c", "Loss", &lines).smoothing(0.6);
        let figure = chart.figure(&mut ChartState::default(), &SharedX::default(), BTreeMap::new());
        assert_eq!(figure.series[0].points, few.points().collect::<Vec<_>>());
        assert!(figure.series[0].raw.is_empty() && !figure.series[1].raw.is_empty());
        assert_eq!(figure.subtitle, "Smoothing 0.60");
        let alone = Chart::new("c", "Loss", &lines[..1]).smoothing(0.6);
        let figure = alone.figure(&mut ChartState::default(), &SharedX::default(), BTreeMap::new());
        assert_eq!(figure.subtitle, "");
    }
}
