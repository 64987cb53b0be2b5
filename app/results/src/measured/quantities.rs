use std::collections::BTreeMap;

use headroom_engine::{
    config::{Cache, to_toml},
    speed::{GenerationMeasurement, Measurement, Outcome, PointResult, SideResult, Spread, SweepSpec},
    store::BenchmarkRecord,
};
use serde::{Deserialize, Serialize};

use super::trust::disturbed_note;
use crate::{
    export::{Figure, FigureAxis, FigureSeries},
    format,
    plot::{Axis, Quantity as Kind, Scale, Series},
};

/// What the chart shows of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Median time of a step.
    #[default]
    StepTime,
    /// Tokens a second.
    Tokens,
    /// Memory of the model.
    Memory,
    /// Predicted FLOPs over the measured time.
    Flops,
    /// Energy of a token.
    Energy,
    /// The most examples that fit into memory.
    LargestBatch,
    /// Time of attention to the source, of a new token of one text.
    AttentionTime,
    /// Texts a second.
    Texts,
    /// Time of a new token of one text.
    TokenTime,
    /// Time to read the sources.
    ReadingTime,
    /// Bytes that are kept between tokens.
    CacheBytes,
}

impl Quantity {
    /// Every quantity, in menu order.
    pub const ALL: [Self; 11] = [
        Self::StepTime,
        Self::Tokens,
        Self::Memory,
        Self::Flops,
        Self::Energy,
        Self::AttentionTime,
        Self::Texts,
        Self::TokenTime,
        Self::ReadingTime,
        Self::CacheBytes,
        Self::LargestBatch,
    ];

    /// Those that a benchmark has, in menu order: of training steps, or of generated texts.
    pub fn of_spec(spec: &SweepSpec) -> Vec<Self> {
        let generates = spec.generation.is_some();
        let fits = |quantity: &Self| *quantity == Self::LargestBatch || quantity.is_of_texts() == generates;
        Self::ALL.into_iter().filter(fits).collect()
    }

    fn is_of_texts(self) -> bool {
        match self {
            Self::AttentionTime | Self::Texts | Self::TokenTime | Self::ReadingTime | Self::CacheBytes => true,
            Self::StepTime | Self::Tokens | Self::Memory | Self::Flops | Self::Energy | Self::LargestBatch => false,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StepTime => "Step time",
            Self::Tokens => "Tokens per second",
            Self::Memory => "Peak memory",
            Self::Flops => "FLOP per second",
            Self::Energy => "Energy per token",
            Self::LargestBatch => "Largest batch",
            Self::AttentionTime => "Attention time",
            Self::Texts => "Samples per second",
            Self::TokenTime => "Time per token",
            Self::ReadingTime => "Reading time",
            Self::CacheBytes => "Kept between tokens",
        }
    }

    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::StepTime => "step-time",
            Self::Tokens => "tokens-per-second",
            Self::Memory => "peak-memory",
            Self::Flops => "flop-per-second",
            Self::Energy => "energy-per-token",
            Self::LargestBatch => "largest-batch",
            Self::AttentionTime => "attention-time",
            Self::Texts => "samples-per-second",
            Self::TokenTime => "time-per-token",
            Self::ReadingTime => "reading-time",
            Self::CacheBytes => "kept-between-tokens",
        }
    }

    /// Its value for a side of a point; none where it is not known.
    pub fn of(self, side: &SideResult) -> Option<f64> {
        if self == Self::LargestBatch {
            return side.largest_batch.map(|found| found.batch as f64);
        }
        match &side.outcome {
            Outcome::Measured(found) => self.of_measurement(found),
            Outcome::Generated(found) => self.of_generation(found),
            Outcome::OutOfMemory { .. } | Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
        }
    }

    /// Its quartiles for a side of a point, the lower one first; none where there is one number alone.
    pub fn quartiles(self, side: &SideResult) -> Option<(f64, f64)> {
        let Outcome::Measured(found) = &side.outcome else { return None };
        let Spread { lower, upper, .. } = found.step_secs;
        match self {
            Self::StepTime => Some((lower, upper)),
            Self::Tokens => Some((found.tokens as f64 / upper, found.tokens as f64 / lower)),
            Self::Flops => Some((found.predicted_flops as f64 / upper, found.predicted_flops as f64 / lower)),
            Self::Memory
            | Self::Energy
            | Self::LargestBatch
            | Self::AttentionTime
            | Self::Texts
            | Self::TokenTime
            | Self::ReadingTime
            | Self::CacheBytes => None,
        }
    }

    fn of_generation(self, found: &GenerationMeasurement) -> Option<f64> {
        match self {
            Self::AttentionTime => Some(found.attention_secs()),
            Self::Texts => Some(found.samples_per_sec()),
            Self::TokenTime => Some(found.token_secs()),
            Self::ReadingTime => Some(found.reading_secs),
            Self::CacheBytes => Some(found.cache_bytes as f64),
            Self::StepTime | Self::Tokens | Self::Memory | Self::Flops | Self::Energy | Self::LargestBatch => None,
        }
    }

    fn of_measurement(self, found: &Measurement) -> Option<f64> {
        match self {
            Self::StepTime => Some(found.step_secs.median),
            Self::Tokens => Some(found.tokens_per_sec()),
            Self::Memory => found.model_memory_bytes().map(|bytes| bytes as f64),
            Self::Flops => Some(found.flops_per_sec()),
            Self::Energy => found.token_joules(),
            Self::LargestBatch
            | Self::AttentionTime
            | Self::Texts
            | Self::TokenTime
            | Self::ReadingTime
            | Self::CacheBytes => None,
        }
    }

    /// The axis of a chart of it.
    pub fn axis(self) -> Axis {
        let axis = Axis::new(self.name());
        match self {
            Self::StepTime | Self::ReadingTime => axis.quantity(Kind::ShortTime),
            Self::Tokens => axis.unit("tokens/s").quantity(Kind::Count),
            Self::Memory | Self::CacheBytes => axis.quantity(Kind::Bytes),
            Self::Flops => axis.unit("FLOP/s").quantity(Kind::Flops),
            Self::Energy => axis.unit("J"),
            Self::LargestBatch => axis.unit("examples").quantity(Kind::Count),
            Self::AttentionTime => Axis::new("Attention per text and token").quantity(Kind::ShortTime),
            Self::Texts => axis.unit("samples/s"),
            Self::TokenTime => Axis::new("Time per text and token").quantity(Kind::ShortTime),
        }
    }
}

/// Seconds of a step as people compare them: "12.34 ms". Of less than a millisecond a fourth digit is noise.
pub fn millis(seconds: f64) -> String {
    let digits = if seconds.abs() < 1e-3 { 3 } else { 4 };
    format!("{} ms", format::significant(seconds * 1e3, digits))
}

/// The lower and the upper quartile of times: "3.052 to 7.846 ms".
pub fn quartile_words(times: &Spread) -> String {
    let [lower, upper] = [times.lower, times.upper].map(|seconds| format::significant(seconds * 1e3, 4));
    format!("{lower} to {upper} ms")
}

/// What the bands of a benchmark's lines are.
pub const QUARTILES: &str = "Bands: half of the steps lie in them.";

/// A line of a chart of a benchmark.
#[derive(Clone, Debug)]
pub struct Line {
    /// The side, and the value of a second axis.
    pub name: String,
    /// Medians over the first axis.
    pub series: Series,
    /// The lower and the upper quartile over the same x, where every point has them.
    pub quartiles: Option<(Series, Series)>,
}

/// The lines, kept until what they show changes.
#[derive(Default)]
pub struct Lines {
    key: Option<(String, usize, Quantity)>,
    /// What is drawn.
    pub lines: Vec<Line>,
}

impl Lines {
    /// Brings the lines up to date.
    pub fn update(&mut self, id: &str, spec: &SweepSpec, points: &[PointResult], quantity: Quantity) {
        let key = Some((id.to_owned(), points.len(), quantity));
        if self.key != key {
            self.key = key;
            self.lines = lines(spec, points, quantity);
        }
    }
}

/// The x axis: the swept field, or the place in its list where its values are no numbers.
pub fn x_axis(spec: &SweepSpec) -> Axis {
    let Some(axis) = spec.axes.first() else { return Axis::default() };
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(values) if values.iter().all(|value: &f64| value.fract() == 0.0) => {
            Axis::new(&axis.field).quantity(Kind::Count).ticked_at(values)
        }
        Some(values) => Axis::new(&axis.field).ticked_at(values),
        None => Axis::new(format!("{} (1 = {})", axis.field, axis.values.join(", 2 = "))).quantity(Kind::Count),
    }
}

fn x_of(spec: &SweepSpec, value: &str) -> Option<f64> {
    let axis = spec.axes.first()?;
    if axis.values.iter().all(|value| value.parse::<f64>().is_ok()) {
        value.parse().ok()
    } else {
        axis.values.iter().position(|known| known == value).map(|place| (place + 1) as f64)
    }
}

/// A point of a line.
struct Measured {
    x: f64,
    y: f64,
    quartiles: Option<(f64, f64)>,
}

/// The lower and the upper quartile over x; none unless every point has them.
fn quartiles_of(points: &[Measured]) -> Option<(Series, Series)> {
    if points.is_empty() || points.iter().any(|point| point.quartiles.is_none()) {
        return None;
    }
    let edges = || points.iter().filter_map(|point| Some((point.x, point.quartiles?)));
    Some((edges().map(|(x, (low, _))| (x, low)).collect(), edges().map(|(x, (_, high))| (x, high)).collect()))
}

fn lines(spec: &SweepSpec, points: &[PointResult], quantity: Quantity) -> Vec<Line> {
    let seconds: Vec<Option<&String>> = match spec.axes.get(1) {
        Some(axis) => axis.values.iter().map(Some).collect(),
        None => vec![None],
    };
    let mut lines = Vec::new();
    for side in spec.side_names() {
        for &second in &seconds {
            let mut found: Vec<Measured> = points
                .iter()
                .filter(|point| point.settings.get(1).map(|setting| &setting.value) == second)
                .filter_map(|point| {
                    let x = x_of(spec, &point.settings.first()?.value)?;
                    let found = point.sides.iter().find(|known| known.side == side)?;
                    Some(Measured { x, y: quantity.of(found)?, quartiles: quantity.quartiles(found) })
                })
                .collect();
            if quantity == Quantity::Texts && spec.axes.first().is_some_and(|axis| axis.field == "batch") {
                found.extend(at_largest_batch(points, &side, second));
            }
            found.sort_by(|a, b| a.x.total_cmp(&b.x));
            let quartiles = quartiles_of(&found);
            let series: Series = found.into_iter().map(|point| (point.x, point.y)).collect();
            let cache = spec.generation.as_ref().and_then(|_| side.parse::<Cache>().ok());
            let side = cache.map_or_else(|| side.clone(), |cache| cache.label().to_owned());
            let name = match (second, spec.axes.get(1)) {
                (Some(value), Some(axis)) => format!("{side}, {}={value}", axis.field),
                _ => side,
            };
            lines.push(Line { name, series, quartiles });
        }
    }
    lines
}

/// The batches that were looked for and run, with their texts a second: the ends of lines over batches.
fn at_largest_batch(points: &[PointResult], side: &str, second: Option<&String>) -> Vec<Measured> {
    let points = points.iter().filter(|point| point.settings.get(1).map(|setting| &setting.value) == second);
    let sides = points.flat_map(|point| &point.sides).filter(|known| known.side == side);
    let batches = sides.filter_map(|known| {
        let (largest, at_point) = (known.largest_batch?, known.outcome.generation().map(|found| found.texts));
        // Not where the axis ends with it.
        (at_point != Some(largest.batch as u64)).then_some((largest.batch as f64, largest.run_secs?))
    });
    batches.map(|(batch, secs)| Measured { x: batch, y: batch / secs, quartiles: None }).collect()
}

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
        .filter_map(|(number, line)| {
            let points: Vec<(f64, f64)> = line.series.points().collect();
            let band = line
                .quartiles
                .iter()
                .flat_map(|(low, high)| low.points().zip(high.points()).map(|((x, low), (_, high))| (x, low, high)));
            let band = band.collect();
            (!points.is_empty())
                .then(|| FigureSeries { band, ..FigureSeries::of_run(number as u64, &line.name, points) })
        })
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    let bands = || series.iter().flat_map(|series| series.band.iter().flat_map(|&(_, low, high)| [low, high]));
    let (x, y) = (extent(all().map(|point| point.0))?, extent(all().map(|point| point.1).chain(bands()))?);
    // Lengths and batches double from point to point more often than not.
    let wide = |(low, high): (f64, f64)| low > 0.0 && high / low >= 8.0;
    let axis = |axis: Axis, range: (f64, f64)| {
        let (scale, range) = if wide(range) { (Scale::Log, range) } else { (Scale::Linear, from_zero(range)) };
        FigureAxis { axis: axis.scale(scale), range }
    };
    let has_bands = series.iter().any(|series| !series.band.is_empty());
    Some(Figure {
        title: quantity.name().to_owned(),
        x: axis(x_axis(spec), x),
        y: axis(quantity.axis(), y),
        notes: has_bands.then(|| QUARTILES.to_owned()).into_iter().chain(disturbed_note(points)).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_milliseconds_with_the_digits_that_tell_something() {
        assert_eq!([0.007_634, 0.000_170_3, 0.000_085_5].map(millis), ["7.634 ms", "0.170 ms", "0.0855 ms"]);
        let times = Spread { lower: 0.003_052, median: 0.007_076, upper: 0.007_846 };
        assert_eq!(quartile_words(&times), "3.052 to 7.846 ms");
    }
}
