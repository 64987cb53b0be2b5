use egui::Color32;
use serde::{Deserialize, Serialize};

use super::Extent;
use crate::{
    plot::{Axis, Scale},
    theme::ColourMap,
};

/// The least share of the largest value that a logarithmic tone still tells from nothing.
const LEAST_SHARE: f32 = 1e-6;

/// How values are spread over the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeatScale {
    /// Evenly.
    #[default]
    Linear,
    /// By their square roots: what is small is told apart better.
    SquareRoot,
    /// By their logarithms.
    Log,
}

impl HeatScale {
    /// Every scale, in menu order.
    pub const ALL: [Self; 3] = [Self::Linear, Self::SquareRoot, Self::Log];

    /// Its name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Linear => "Linear",
            Self::SquareRoot => "Square root",
            Self::Log => "Logarithmic",
        }
    }
}

/// Which colour a value has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// The colours.
    pub colours: ColourMap,
    /// How values are spread over them.
    pub scale: HeatScale,
    /// The value of the lowest colour; of a logarithmic difference, the largest that is drawn as nothing.
    pub low: f32,
    /// The value of the highest colour.
    pub high: f32,
}

impl Default for Tone {
    fn default() -> Self {
        Self::between(ColourMap::default(), HeatScale::default(), 0.0, 1.0)
    }
}

impl Tone {
    /// From the smallest to the largest value, around zero for differences.
    pub fn fitting(colours: ColourMap, scale: HeatScale, extent: Extent) -> Self {
        let Extent { least, least_positive, most, .. } = extent;
        let largest = least.abs().max(most.abs());
        let (low, high) = if largest.is_nan() {
            (if scale == HeatScale::Log { 1e-3 } else { 0.0 }, 1.0)
        } else if colours.is_diverging() {
            let high = if largest > 0.0 { largest } else { 1.0 };
            (if scale == HeatScale::Log { high * 1e-3 } else { -high }, high)
        } else if scale == HeatScale::Log {
            let high = if most > 0.0 { most } else { 1.0 };
            (least_positive.max(high * LEAST_SHARE).min(high * 0.999), high)
        } else {
            (least, most)
        };
        Self { colours, scale, low, high }.sound()
    }

    /// From `low` to `high`, whatever the values are; values outside have the colour of the nearer end.
    pub fn between(colours: ColourMap, scale: HeatScale, low: f32, high: f32) -> Self {
        let low = if scale == HeatScale::Log && low <= 0.0 { high.abs() * 1e-4 } else { low };
        Self { colours, scale, low, high }.sound()
    }

    /// A single value stands in the middle.
    fn sound(mut self) -> Self {
        if self.high <= self.low || !(self.high - self.low).is_finite() {
            let air = if self.low.is_finite() { (self.low.abs() * 0.05).max(1e-3) } else { 1.0 };
            let middle = if self.low.is_finite() { self.low } else { 0.0 };
            (self.low, self.high) = (middle - air, middle + air);
        }
        self
    }

    /// Where between lowest (0) and highest (1) a value stands; none where there is none.
    pub fn place(&self, value: f32) -> Option<f32> {
        if value.is_nan() {
            return None;
        }
        let Self { low, high, .. } = *self;
        let share = match (self.scale, self.colours.is_diverging()) {
            (HeatScale::Linear, _) => (value - low) / (high - low),
            (HeatScale::SquareRoot, false) => ((value - low) / (high - low)).max(0.0).sqrt(),
            (HeatScale::SquareRoot, true) => 0.5 + 0.5 * value.signum() * (value.abs() / high).sqrt(),
            (HeatScale::Log, false) => (value.max(low) / low).ln() / (high / low).ln(),
            (HeatScale::Log, true) => {
                0.5 + 0.5 * value.signum() * (value.abs().max(low) / low).ln() / (high / low).ln()
            }
        };
        Some(share.clamp(0.0, 1.0))
    }

    /// The colour of a value; none where there is none.
    pub fn colour(&self, value: f32) -> Option<Color32> {
        self.place(value).map(|place| self.colours.colour(place))
    }

    /// Places of the colour bar with their numbers, about so many.
    pub fn ticks(&self, target: usize) -> Vec<(f32, String)> {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let is_log = self.scale == HeatScale::Log;
        let axis = Axis::new("").scale(Scale::log_if(is_log));
        let from = if self.colours.is_diverging() && !is_log { -high } else { low };
        let ticks = axis.ticks(from, high, target).into_iter().filter(|tick| !tick.label.is_empty());
        let mut found: Vec<(f32, String)> = Vec::new();
        for tick in ticks {
            if let Some(place) = self.place(tick.value as f32) {
                found.push((place, tick.label.clone()));
                if self.colours.is_diverging() && is_log {
                    found.push((1.0 - place, format!("{}{}", crate::format::MINUS, tick.label)));
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::HeatData;

    fn fitting(colours: ColourMap, scale: HeatScale, values: &[f32]) -> Tone {
        Tone::fitting(colours, scale, HeatData::new(1, values.len(), values.to_vec()).extent())
    }

    #[test]
    fn every_scale_puts_the_ends_at_the_ends_and_keeps_the_order() {
        for scale in HeatScale::ALL {
            let tone = fitting(ColourMap::Viridis, scale, &[0.001, 0.5, 1.0]);
            assert!(tone.place(0.001).unwrap() < 1e-6 && tone.place(1.0) == Some(1.0), "{scale:?}");
            let places: Vec<f32> = (1..=1000).map(|step| tone.place(step as f32 / 1000.0).unwrap()).collect();
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{scale:?}");
            assert_eq!(tone.place(f32::NAN), None);
            assert_eq!((tone.place(-3.0), tone.place(f32::INFINITY)), (Some(0.0), Some(1.0)));
        }
        let half = |scale| fitting(ColourMap::Viridis, scale, &[0.0, 0.01, 1.0]).place(0.01).unwrap();
        assert!(half(HeatScale::Linear) < half(HeatScale::SquareRoot));
        assert!((half(HeatScale::SquareRoot) - 0.1).abs() < 1e-6);
    }

    #[test]
    fn zero_is_the_middle_of_differences() {
        for scale in HeatScale::ALL {
            let tone = fitting(ColourMap::Difference, scale, &[-0.1, 0.4]);
            assert_eq!(tone.place(0.0), Some(0.5), "{scale:?}");
            assert_eq!((tone.place(0.4), tone.place(-0.4)), (Some(1.0), Some(0.0)), "{scale:?}");
            let (up, down) = (tone.place(0.1).unwrap(), tone.place(-0.1).unwrap());
            assert!((up + down - 1.0).abs() < 1e-6 && up > 0.5, "{scale:?}");
            let ticks = tone.ticks(5);
            assert!(ticks.len() >= 2 && ticks.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{scale:?} {ticks:?}");
        }
    }

    #[test]
    fn one_value_and_none_break_nothing() {
        for scale in HeatScale::ALL {
            for colours in [ColourMap::Magma, ColourMap::Difference] {
                for values in [&[][..], &[f32::NAN], &[0.0], &[0.7, 0.7], &[f32::INFINITY], &[-2.0, -1.0]] {
                    let tone = fitting(colours, scale, values);
                    assert!(tone.low < tone.high, "{colours:?} {scale:?} {values:?} {tone:?}");
                    assert!(tone.place(0.7).unwrap().is_finite());
                    assert!(tone.ticks(4).iter().all(|(place, _)| place.is_finite()));
                }
            }
        }
    }
}
