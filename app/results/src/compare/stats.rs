//! Statistics of a few numbers: what a group of seeds comes to.

use std::{
    f64::consts::{FRAC_PI_2, PI},
    sync::LazyLock,
};

/// The band around a group's mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// No band.
    None,
    /// Smallest to largest value.
    MinMax,
    /// Mean ± sample standard deviation (n - 1).
    #[default]
    StandardDeviation,
    /// Mean ± standard error, sd / sqrt(n).
    StandardError,
    /// Mean ± t(0.975, n - 1) · sd / sqrt(n): the 95 % confidence interval of the mean after Student.
    Confidence95,
}

impl Band {
    /// Every band, in menu order.
    pub const ALL: [Self; 5] =
        [Self::StandardDeviation, Self::StandardError, Self::Confidence95, Self::MinMax, Self::None];

    /// Its name in menus.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "No band",
            Self::MinMax => "Minimum to maximum",
            Self::StandardDeviation => "Standard deviation",
            Self::StandardError => "Standard error",
            Self::Confidence95 => "95 % interval",
        }
    }

    /// Its formula, for tooltips.
    pub fn formula(self) -> &'static str {
        match self {
            Self::None => "The mean alone.",
            Self::MinMax => "From the smallest to the largest value of the runs at each x.",
            Self::StandardDeviation => "Mean ± sd, with sd = √(Σ(y − mean)² / (n − 1)).",
            Self::StandardError => "Mean ± sd / √n, with the sample sd (n − 1).",
            Self::Confidence95 => "Mean ± t(0.975, n − 1) · sd / √n (Student's t).",
        }
    }
}

/// What some numbers come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// Arithmetic mean; NaN if one of the numbers is not finite.
    pub mean: f64,
    /// Sample standard deviation (n - 1); NaN for fewer than two.
    pub sd: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summarises numbers; none when there are none. A number that is not finite is not left out in silence:
    /// mean and sd become NaN.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Some(Self { n, mean: f64::NAN, sd: f64::NAN, min: f64::NAN, max: f64::NAN });
        }
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Of equal values the mean is their value, which a sum may miss by its last digit.
        let mean = if min == max { min } else { values.iter().sum::<f64>() / n as f64 };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { f64::NAN };
        Some(Self { n, mean, sd, min, max })
    }

    /// Standard error of the mean, sd / sqrt(n).
    pub fn standard_error(&self) -> f64 {
        self.sd / (self.n as f64).sqrt()
    }

    /// Half the width of a symmetric band, or none (no band, minimum to maximum, fewer than two values).
    pub fn half_width(&self, band: Band) -> Option<f64> {
        let half = match band {
            Band::None | Band::MinMax => return None,
            Band::StandardDeviation => self.sd,
            Band::StandardError => self.standard_error(),
            Band::Confidence95 => student_t_95(self.n.saturating_sub(1)) * self.standard_error(),
        };
        half.is_finite().then_some(half)
    }

    /// Lower and upper edge of the band; none without a band, with fewer than two values or with a non-finite one.
    pub fn edges(&self, band: Band) -> Option<(f64, f64)> {
        match band {
            Band::MinMax => (self.n > 1 && self.mean.is_finite()).then_some((self.min, self.max)),
            _ => self.half_width(band).map(|half| (self.mean - half, self.mean + half)),
        }
    }
}

/// Degrees of freedom up to which the quantiles of Student's t are kept.
const KEPT: usize = 100;

/// The 97.5 % quantiles of Student's t with 1 to 100 degrees of freedom, solved by bisection from the finite sums of Abramowitz and
/// Stegun, 26.7.3 and 26.7.4.
static QUANTILES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let quantile = |freedom: usize| {
        let (mut low, mut high) = (0.0_f64, FRAC_PI_2);
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if within(middle, freedom) < 0.95 {
                low = middle;
            } else {
                high = middle;
            }
        }
        (0.5 * (low + high)).tan() * (freedom as f64).sqrt()
    };
    (1..=KEPT).map(quantile).collect()
});

/// The 97.5 % quantile of the normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom: P(|T| < t) = 0.95. Infinite for 0.
pub fn student_t_95(freedom: usize) -> f64 {
    match freedom.checked_sub(1) {
        None => f64::INFINITY,
        Some(place) => QUANTILES.get(place).copied().unwrap_or_else(|| expansion(freedom as f64)),
    }
}

/// The same for a fractional number of degrees of freedom, which is taken as at least 1.
///
/// Below 100 it is interpolated in 1/freedom between whole numbers. The quantile is convex there, so that it is never too small.
pub fn student_t_95_between(freedom: f64) -> f64 {
    if freedom.is_nan() || freedom <= 1.0 {
        return student_t_95(1);
    }
    if freedom >= KEPT as f64 {
        return expansion(freedom);
    }
    let below = freedom.floor();
    let (low, high) = (student_t_95(below as usize), student_t_95(below as usize + 1));
    let share = (1.0 / below - 1.0 / freedom) / (1.0 / below - 1.0 / (below + 1.0));
    low + (high - low) * share
}

/// The quantile for 100 degrees of freedom or more, right to seven digits: Abramowitz and Stegun, 26.7.5.
fn expansion(freedom: f64) -> f64 {
    let z = NORMAL_95;
    let first = z.powi(3) + z;
    let second = 5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z;
    let third = 3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z;
    z + first / (4.0 * freedom) + second / (96.0 * freedom.powi(2)) + third / (384.0 * freedom.powi(3))
}

/// P(|T| < sqrt(n) tan θ) for n degrees of freedom.
fn within(theta: f64, n: usize) -> f64 {
    let (sin, cos) = theta.sin_cos();
    let odd = n % 2 == 1;
    // Terms c^k (k even) or c^(k+1), each (k + odd - 1)/(k + odd) of the one before.
    let (mut term, mut sum) = if odd { (cos, if n > 1 { cos } else { 0.0 }) } else { (1.0, 1.0) };
    let mut k = if odd { 3 } else { 2 };
    while k + 2 <= n {
        term *= cos * cos * (k - 1) as f64 / k as f64;
        sum += term;
        k += 2;
    }
    if odd { (theta + sin * sum) * 2.0 / PI } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_agrees_with_the_printed_table() {
        let table = [
            (1, 12.706_2),
            (2, 4.302_7),
            (3, 3.182_4),
            (4, 2.776_4),
            (5, 2.570_6),
            (9, 2.262_2),
            (10, 2.228_1),
            (29, 2.045_2),
            (30, 2.042_3),
            (60, 2.000_3),
            (120, 1.979_9),
            (100_000, 1.959_99),
        ];
        for (freedom, t) in table {
            assert!((student_t_95(freedom) - t).abs() < 6e-5, "{freedom}: {} is not {t}", student_t_95(freedom));
        }
        assert_eq!(student_t_95(0), f64::INFINITY);
    }

    #[test]
    fn between_whole_numbers_the_quantile_is_interpolated_and_never_too_small() {
        // Of 1.5 and 2.5 degrees of freedom, by numerical integration of the density.
        for (freedom, exact) in [(1.5, 6.016_6), (2.5, 3.574_6), (4.57, 2.645_0)] {
            let found = student_t_95_between(freedom);
            assert!((exact..1.2 * exact).contains(&found), "{freedom}: {found} for {exact}");
        }
        for freedom in [1, 2, 7, 99, 100, 101, 250, 1000] {
            let (whole, between) = (student_t_95(freedom), student_t_95_between(freedom as f64));
            assert!((whole - between).abs() < 1e-7, "{freedom}: {whole} {between}");
        }
        assert!((student_t_95(KEPT) - expansion(KEPT as f64)).abs() < 1e-7, "both ways meet");
        assert!((student_t_95_between(1e12) - NORMAL_95).abs() < 1e-9);
        assert_eq!(student_t_95_between(0.2), student_t_95(1));
        assert_eq!(student_t_95_between(f64::NAN), student_t_95(1));
    }

    #[test]
    fn the_deviation_divides_by_n_minus_one() {
        assert_eq!(Summary::of(&[0.8175; 3]).map(|of| (of.mean, of.sd)), Some((0.8175, 0.0)), "not a last digit of it");
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.n, summary.mean, summary.min, summary.max), (8, 5.0, 2.0, 9.0));
        assert!((summary.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((summary.standard_error() - (4.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let (low, high) = summary.edges(Band::Confidence95).unwrap();
        assert!(((high - low) / 2.0 - 2.364_624 * summary.standard_error()).abs() < 1e-5);
        assert_eq!(summary.edges(Band::MinMax), Some((2.0, 9.0)));
    }

    #[test]
    fn one_value_has_no_band_and_a_non_finite_one_shows() {
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!(one.mean, 3.0);
        assert!(Band::ALL.into_iter().all(|band| one.edges(band).is_none()));
        let broken = Summary::of(&[3.0, f64::NAN]).unwrap();
        assert!(broken.mean.is_nan());
        assert!(Band::ALL.into_iter().all(|band| broken.edges(band).is_none()));
        assert_eq!(Summary::of(&[]), None);
    }
}
