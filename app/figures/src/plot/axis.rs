//! What an axis shows: its quantity, its scale, its label; and how its values are written.

use super::quantity::Quantity;
use super::ticks::{self, Tick};

/// Linear or logarithmic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Equal distances are equal differences.
    #[default]
    Linear,
    /// Equal distances are equal ratios; values at or below zero have no place.
    Log,
}

impl Scale {
    /// `Log` when `log`.
    pub fn log_if(log: bool) -> Self {
        if log { Self::Log } else { Self::Linear }
    }

    /// Value to axis position: itself, or its decimal logarithm. NaN where the value has no place.
    pub fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log if value > 0.0 => value.log10(),
            Self::Log => f64::NAN,
        }
    }

    /// Axis position to value: the inverse of [`Scale::forward`].
    pub fn inverse(self, position: f64) -> f64 {
        match self {
            Self::Linear => position,
            Self::Log => {
                let value = 10f64.powf(position);
                // A whole number, such as a step, comes back as one.
                let whole = value.round();
                if (value - whole).abs() <= whole * 1e-12 { whole } else { value }
            }
        }
    }
}

/// What the x axis of a chart of runs counts. The caller gives the x values; this says what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XAxis {
    /// Optimiser steps.
    #[default]
    Step,
    /// Tokens seen.
    Tokens,
    /// Passes over the data.
    Epoch,
    /// Date and time, UTC.
    WallTime,
    /// Time since the run started, pauses left out.
    RelativeTime,
    /// Floating point operations spent.
    Flops,
}

impl XAxis {
    /// Every kind, in menu order.
    pub const ALL: [Self; 6] = [Self::Step, Self::Tokens, Self::Epoch, Self::RelativeTime, Self::WallTime, Self::Flops];

    /// The label under the axis.
    pub fn label(self) -> &'static str {
        match self {
            Self::Step => "Step",
            Self::Tokens => "Tokens",
            Self::Epoch => "Epoch",
            Self::WallTime => "Date and time (UTC)",
            Self::RelativeTime => "Time since start",
            Self::Flops => "Compute",
        }
    }

    /// How its values are written.
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Step | Self::Tokens => Quantity::Count,
            Self::Epoch => Quantity::Number,
            Self::WallTime => Quantity::UnixTime,
            Self::RelativeTime => Quantity::Seconds,
            Self::Flops => Quantity::Flops,
        }
    }
}

/// With fewer labels a scale cannot be read: two do not tell whether it is straight.
const LEAST_TICKS: usize = 3;

/// One axis of a chart or figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is shown, in words: "Validation loss".
    pub label: String,
    /// The unit, without brackets; empty when the values carry it or there is none: "nats/token".
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// How values are written.
    pub quantity: Quantity,
    /// The few values that there are, each with a tick of its own where the axis is logarithmic: lengths that were measured. A count
    /// that is the only one has the only tick of any axis.
    pub values: Vec<f64>,
}

/// More values than these have no ticks of their own.
const MOST_OWN_TICKS: usize = 12;

impl Axis {
    /// A linear axis of plain numbers.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// With this unit.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// With this scale.
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// With values of this kind.
    pub fn quantity(mut self, quantity: Quantity) -> Self {
        self.quantity = quantity;
        self
    }

    /// With ticks at these values where the axis is logarithmic and they are few, or where there is but one count.
    pub fn ticked_at(mut self, values: Vec<f64>) -> Self {
        self.values = values;
        self
    }

    /// Ticks at those of the axis' own values that are in sight, where these are few.
    fn own(&self, lo: f64, hi: f64) -> Vec<Tick> {
        let is_asked = self.scale == Scale::Log && self.values.len() <= MOST_OWN_TICKS;
        let seen = self.values.iter().filter(|value| is_asked && (lo..=hi).contains(*value));
        let tick = |value: &f64| Tick { value: *value, label: self.quantity.value(*value), major: true };
        seen.map(tick).collect()
    }

    /// The tick of a count that is the only one, where it is in sight: other numbers around it would tell of nothing.
    fn only(&self, lo: f64, hi: f64) -> Option<Tick> {
        let [value] = self.values[..] else { return None };
        let is_seen = self.quantity == Quantity::Count && (lo..=hi).contains(&value);
        is_seen.then(|| Tick { value, label: self.quantity.value(value), major: true })
    }

    /// Label and unit: `Validation loss (nats/token)`.
    pub fn title(&self) -> String {
        if self.unit.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, self.unit) }
    }

    /// Ticks for the value range `lo..=hi`, about `target` labelled ones and three at least, where the range has so many; the
    /// values are data values on either scale.
    pub fn ticks(&self, lo: f64, hi: f64, target: usize) -> Vec<Tick> {
        if let Some(only) = self.only(lo, hi) {
            return vec![only];
        }
        let own = self.own(lo, hi);
        if own.len() >= LEAST_TICKS {
            return own;
        }
        let common = self.common(lo, hi, target);
        if own.len() < 2 {
            return common;
        }
        let filled = self.filled(&own, &common, (lo, hi), target);
        if filled.len() >= LEAST_TICKS {
            return filled;
        }
        if has_enough(&common) { common } else { own }
    }

    /// Ticks that any axis of this range has.
    fn common(&self, lo: f64, hi: f64, target: usize) -> Vec<Tick> {
        let from = target.max(LEAST_TICKS);
        let of = |scale| {
            let mut tried = (from..=from + 2 * LEAST_TICKS).map(|target| self.about(scale, lo, hi, target));
            tried.find(|ticks| has_enough(ticks))
        };
        // Between neighbouring digits of a logarithmic axis the ticks of a linear one serve.
        of(self.scale).or_else(|| of(Scale::Linear)).unwrap_or_else(|| self.about(self.scale, lo, hi, target))
    }

    /// The `own` ticks with those `common` ones that are not too near to any of them.
    fn filled(&self, own: &[Tick], common: &[Tick], (lo, hi): (f64, f64), target: usize) -> Vec<Tick> {
        let span = self.scale.forward(hi) - self.scale.forward(lo);
        let least = 0.6 * span / target.max(LEAST_TICKS) as f64;
        let is_apart =
            |one: &Tick, other: &Tick| (self.scale.forward(one.value) - self.scale.forward(other.value)).abs() >= least;
        let more = common.iter().filter(|tick| !tick.label.is_empty() && own.iter().all(|known| is_apart(known, tick)));
        let mut filled: Vec<Tick> = own.iter().chain(more).cloned().collect();
        filled.sort_by(|a, b| a.value.total_cmp(&b.value));
        filled
    }

    fn about(&self, scale: Scale, lo: f64, hi: f64, target: usize) -> Vec<Tick> {
        match (scale, self.quantity) {
            (Scale::Log, _) => ticks::log(lo, hi, target, self.quantity),
            (Scale::Linear, Quantity::Seconds) => ticks::seconds(lo, hi, target),
            (Scale::Linear, Quantity::UnixTime) => ticks::dates(lo, hi, target),
            (Scale::Linear, quantity) => ticks::linear(lo, hi, target, quantity),
        }
    }
}

/// Whether so many of them have labels that the scale can be read.
fn has_enough(ticks: &[Tick]) -> bool {
    ticks.iter().filter(|tick| !tick.label.is_empty()).count() >= LEAST_TICKS
}

impl From<XAxis> for Axis {
    fn from(x: XAxis) -> Self {
        Self::new(x.label()).quantity(x.quantity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_invert() {
        for value in [1e-9, 0.5, 1.0, 3e7] {
            for scale in [Scale::Linear, Scale::Log] {
                let back = scale.inverse(scale.forward(value));
                assert!((back - value).abs() <= 1e-12 * value);
            }
        }
        assert!(Scale::Log.forward(0.0).is_nan());
        assert!(Scale::Log.forward(-1.0).is_nan());
        assert!(Scale::Log.forward(f64::NAN).is_nan());
        assert_eq!(Scale::Log.forward(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn measured_values_have_the_ticks_of_a_log_axis() {
        let axis = Axis::new("length").quantity(Quantity::Count).ticked_at(vec![64.0, 128.0, 256.0]);
        let labels = |axis: &Axis, lo: f64| -> Vec<String> {
            axis.ticks(lo, 270.0, 5).into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
        };
        assert!(!labels(&axis, 60.0).contains(&"64".to_owned()), "a linear axis has round numbers");
        let axis = axis.scale(Scale::Log);
        assert_eq!(labels(&axis, 60.0), ["64", "128", "256"]);
        assert!(labels(&axis, 200.0).len() >= LEAST_TICKS, "one value alone does not tell the scale");
    }

    #[test]
    fn counts_have_whole_ticks_and_a_single_one_has_its_own() {
        let steps = Axis::from(XAxis::Step);
        for scale in [Scale::Linear, Scale::Log] {
            let axis = steps.clone().scale(scale);
            // Around one step, on either scale.
            for (lo, hi) in [(0.5, 1.5), (0.316, 3.16), (7.2, 8.8), (2.5, 25.3)] {
                let ticks = axis.ticks(lo, hi, 5);
                let are_whole = ticks.iter().all(|tick| tick.value.fract() == 0.0);
                assert!(!ticks.is_empty() && are_whole, "{scale:?}: {ticks:?}");
            }
            let only = axis.ticked_at(vec![437.0]);
            let labels = |lo, hi| -> Vec<String> { only.ticks(lo, hi, 5).into_iter().map(|tick| tick.label).collect() };
            assert_eq!(labels(393.3, 480.7), ["437"]);
            assert!(labels(440.0, 460.0).len() >= LEAST_TICKS, "zoomed beside it");
        }
    }

    #[test]
    fn whole_numbers_come_back_from_a_log_axis() {
        for step in (1_u32..3000).chain([123_456_789]) {
            let step = f64::from(step);
            assert_eq!(Scale::Log.inverse(Scale::Log.forward(step)), step);
        }
        let small = Scale::Log.inverse(Scale::Log.forward(0.125));
        assert!((small - 0.125).abs() < 1e-12, "{small}");
    }

    #[test]
    fn every_axis_has_three_labels_at_least() {
        let count = |axis: &Axis, lo: f64, hi: f64, target: usize| {
            axis.ticks(lo, hi, target).iter().filter(|tick| !tick.label.is_empty()).count()
        };
        let quantities = [
            Quantity::Number,
            Quantity::Fraction,
            Quantity::Bytes,
            Quantity::Flops,
            Quantity::Seconds,
            Quantity::ShortTime,
        ];
        for quantity in quantities {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = Axis::new("y").scale(scale).quantity(quantity);
                for (lo, hi) in [(2.31, 6.97), (0.49, 1.02), (3.0, 4.0), (1.0, 90.0), (0.0012, 0.0019), (90.0, 101.0)] {
                    for target in 1..=4 {
                        assert!(count(&axis, lo, hi, target) >= 3, "{axis:?} {lo} to {hi}, {target}");
                    }
                }
            }
        }
        let steps = Axis::new("Step").quantity(Quantity::Count);
        assert_eq!(count(&steps, 0.0, 1.0, 4), 2, "there are no more whole numbers");
    }

    #[test]
    fn axes_of_any_range_have_three_labels_at_least_and_all_of_them_in_sight() {
        let quantities = [
            Quantity::Number,
            Quantity::Fraction,
            Quantity::Bytes,
            Quantity::Flops,
            Quantity::Seconds,
            Quantity::ShortTime,
        ];
        let ratios = [1.001, 1.03, 1.4, 2.0, 2.24, 2.25, 2.8, 3.1, 4.4, 6.3, 7.9, 9.9, 28.0, 33.0, 1e3, 3e7];
        let tenths = |power: f64| (10..100).step_by(3).map(move |tenths| power * f64::from(tenths) / 10.0);
        for lo in [1e-5, 0.1, 10.0, 1e6].into_iter().flat_map(tenths) {
            for (quantity, scale) in quantities.iter().flat_map(|of| [(of, Scale::Linear), (of, Scale::Log)]) {
                let axis = Axis::new("y").scale(scale).quantity(*quantity);
                for hi in ratios.map(|ratio| lo * ratio) {
                    let ticks = axis.ticks(lo, hi, 5);
                    assert!(has_enough(&ticks), "{axis:?} {lo} to {hi}: {ticks:?}");
                    let slack = (hi - lo) * 1e-6;
                    let is_seen = |tick: &Tick| (lo - slack..=hi + slack).contains(&tick.value);
                    assert!(ticks.iter().all(is_seen), "{axis:?} {lo} to {hi}: {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn two_measured_values_stay_and_what_lies_between_is_told_too() {
        let axis = Axis::new("length").quantity(Quantity::Count).scale(Scale::Log);
        let seen = [([64.0, 128.0], 60.0, 140.0), ([1.0, 16.0], 0.9, 18.0), ([100.0, 1e4], 90.0, 11_000.0)];
        for (values, lo, hi) in seen {
            let axis = axis.clone().ticked_at(values.to_vec());
            let told: Vec<f64> = axis.ticks(lo, hi, 5).into_iter().map(|tick| tick.value).collect();
            assert!(told.len() >= LEAST_TICKS && told.is_sorted(), "{told:?}");
            assert!(values.iter().all(|value| told.contains(value)), "{told:?}");
            assert!(told.windows(2).all(|pair| pair[1] / pair[0] > 1.05), "too near to be read: {told:?}");
        }
        let neighbours = axis.ticked_at(vec![1.0, 2.0]).ticks(0.95, 2.1, 5);
        assert_eq!(neighbours.len(), 2, "there is no whole number between them: {neighbours:?}");
    }

    #[test]
    fn values_are_written_in_their_unit() {
        assert_eq!(Quantity::Count.value(12_345.0), "12,345");
        assert_eq!(Quantity::Seconds.value(130.0), "2:10");
        let times = [0.007_634, 1.25].map(|time| Quantity::ShortTime.value(time));
        assert_eq!(times, ["7.634 ms", "1.250 s"]);
        assert_eq!(Quantity::Flops.value(2e15), "2.00 PFLOP");
        assert_eq!(Quantity::Fraction.value(0.5), "50 %");
        assert_eq!(Axis::new("Loss").unit("nats/token").title(), "Loss (nats/token)");
        assert_eq!(Axis::from(XAxis::Step).title(), "Step");
    }
}
