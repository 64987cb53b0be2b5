use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// Angles by which queries and keys are turned for each position (Su et al., 2021).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rotation {
    /// Base of the frequencies: `rope_theta`.
    pub base: f64,
    /// Stretching of the frequencies for texts that are longer than those of the first training.
    #[serde(default, skip_serializing_if = "RotaryScaling::is_none")]
    pub scaling: RotaryScaling,
}

/// Scaled frequencies, as `transformers` computes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RotaryScaling {
    /// `base^(-2 i / d)`.
    #[default]
    None,
    /// All frequencies divided by a factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// A base that grows with texts beyond the positions of the model; no text here is longer than these.
    Dynamic {
        /// The factor.
        factor: f64,
    },
    /// Low frequencies divided by a factor, high ones as they were, a ramp between them (`YaRN`; Peng et al., 2023).
    Yarn {
        /// The factor.
        factor: f64,
        /// Positions of the first training.
        original: f64,
        /// Turns within these positions above which a frequency stays as it is.
        beta_fast: f64,
        /// Turns below which it is divided.
        beta_slow: f64,
        /// True if the ends of the ramp are whole numbers.
        truncates: bool,
        /// Multiplier of sines and cosines.
        attention: f64,
    },
    /// The same by wave lengths (Llama 3.1; Grattafiori et al., 2024).
    Llama3 {
        /// The factor.
        factor: f64,
        /// `original / low` is the wave length from which on frequencies are divided.
        low: f64,
        /// `original / high` is the wave length up to which they stay.
        high: f64,
        /// Positions of the first training.
        original: f64,
    },
}

impl RotaryScaling {
    /// True if frequencies are as they are without scaling.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Name in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "default",
            Self::Linear { .. } => "linear",
            Self::Dynamic { .. } => "dynamic",
            Self::Yarn { .. } => "yarn",
            Self::Llama3 { .. } => "llama3",
        }
    }

    /// Multiplier of sines and cosines.
    pub fn attention(&self) -> f64 {
        match *self {
            Self::Yarn { attention, .. } => attention,
            Self::None | Self::Linear { .. } | Self::Dynamic { .. } | Self::Llama3 { .. } => 1.0,
        }
    }
}

impl Rotation {
    /// A rotation without scaling.
    pub const fn of(base: f64) -> Self {
        Self { base, scaling: RotaryScaling::None }
    }

    /// The angle by which each pair of columns of a head of `d` columns turns from one position to the next. `[d / 2]`
    pub fn frequencies(&self, d: usize) -> Vec<f64> {
        let size = d as f64;
        let plain = (0..d / 2).map(|i| self.base.powf(-2.0 * i as f64 / size));
        match self.scaling {
            RotaryScaling::None | RotaryScaling::Dynamic { .. } => plain.collect(),
            RotaryScaling::Linear { factor } => plain.map(|frequency| frequency / factor).collect(),
            RotaryScaling::Yarn { factor, original, beta_fast, beta_slow, truncates, .. } => {
                // The column that turns so often within the positions of the first training.
                let column = |turns: f64| size * (original / (turns * 2.0 * PI)).ln() / (2.0 * self.base.ln());
                let (low, high) = (column(beta_fast), column(beta_slow));
                let (low, high) = if truncates { (low.floor(), high.ceil()) } else { (low, high) };
                let (low, high) = (low.max(0.0), high.min(size - 1.0));
                let width = if (high - low).abs() < f64::EPSILON { 1e-3 } else { high - low };
                let divided = |i: usize| ((i as f64 - low) / width).clamp(0.0, 1.0);
                let mixed = |(i, frequency): (usize, f64)| frequency * (1.0 - divided(i) + divided(i) / factor);
                plain.enumerate().map(mixed).collect()
            }
            RotaryScaling::Llama3 { factor, low, high, original } => {
                let scaled = |frequency: f64| {
                    let turns = original * frequency / (2.0 * PI);
                    if turns < low {
                        frequency / factor
                    } else if turns > high {
                        frequency
                    } else {
                        let kept = (turns - low) / (high - low);
                        frequency * (kept + (1.0 - kept) / factor)
                    }
                };
                plain.map(scaled).collect()
            }
        }
    }

    /// True if all its numbers can be computed with.
    pub fn is_sound(&self) -> bool {
        let positive = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite() && *number > 0.0);
        positive(&[self.base])
            && match self.scaling {
                RotaryScaling::None => true,
                RotaryScaling::Linear { factor } | RotaryScaling::Dynamic { factor } => positive(&[factor]),
                RotaryScaling::Yarn { factor, original, beta_fast, beta_slow, attention, truncates: _ } => {
                    positive(&[factor, original, beta_fast, beta_slow, attention]) && self.base > 1.0
                }
                RotaryScaling::Llama3 { factor, low, high, original } => {
                    positive(&[factor, low, high, original]) && low < high
                }
            }
    }
}
