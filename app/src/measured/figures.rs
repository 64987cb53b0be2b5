use std::collections::BTreeMap;

use headroom_engine::{
    config::to_toml,
    speed::{PointResult, SweepSpec},
    store::BenchmarkRecord,
};

use super::{
    Quantity,
    lines::{lines, x_axis},
};
use crate::{
    export::{Figure, FigureAxis, FigureSeries},
    plot::{Axis, Scale},
    theme,
};

/// Every quantity of which a benchmark has points, as a figure with a name that is fit for a file.
pub fn figures(record: &BenchmarkRecord) -> Vec<(&'static str, Figure)> {
    let BenchmarkRecord { summary, spec, results } = record;
    let metadata = BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", summary.program())),
        ("machine".to_owned(), summary.machine.cpu.clone()),
        ("device".to_owned(), summary.device_words()),
        ("benchmark".to_owned(), summary.id.to_string()),
        ("config".to_owned(), to_toml(&spec.base)),
    ]);
    let figure = |quantity: Quantity| {
        let figure = figure(spec, &results.points, quantity)?;
        let subtitle = format!("{}, {}, {}", summary.name, summary.device_words(), summary.machine.cpu);
        Some((quantity.key(), Figure { subtitle, metadata: metadata.clone(), ..figure }))
    };
    Quantity::ALL.into_iter().filter_map(figure).collect()
}

/// One quantity over the first axis; none where no point has it.
fn figure(spec: &SweepSpec, points: &[PointResult], quantity: Quantity) -> Option<Figure> {
    let series: Vec<FigureSeries> = lines(spec, points, quantity)
        .into_iter()
        .enumerate()
        .filter_map(|(number, (name, line))| {
            let points: Vec<(f64, f64)> = line.points().collect();
            let (colour, dash) = theme::run_style(number as u64);
            let series = FigureSeries { name, colour, dash, width: 1.6, points, ..FigureSeries::default() };
            (!series.points.is_empty()).then_some(series)
        })
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let (x, y) = (extent(all().map(|point| point.0))?, extent(all().map(|point| point.1))?);
    // Lengths and batches double from point to point more often than not.
    let wide = |(low, high): (f64, f64)| low > 0.0 && high / low >= 8.0;
    let axis = |axis: Axis, range: (f64, f64)| {
        let (scale, range) = if wide(range) { (Scale::Log, range) } else { (Scale::Linear, from_zero(range)) };
        FigureAxis { axis: axis.scale(scale), range }
    };
    Some(Figure {
        title: quantity.name().to_owned(),
        x: axis(x_axis(spec), x),
        y: axis(quantity.axis(), y),
        series,
        ..Figure::default()
    })
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |found, value| match found {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// A linear axis begins at zero, so that heights compare, and has some room above.
fn from_zero((low, high): (f64, f64)) -> (f64, f64) {
    let room = if high > 0.0 { 0.05 * high } else { 1.0 };
    (low.min(0.0), high + room)
}
