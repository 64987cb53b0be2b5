//! Smoothing of curves: the debiased exponential moving average.

/// The weight of the past that charts start with.
pub const DEFAULT_SMOOTHING: f64 = 0.6;

/// The largest allowed weight of the past.
pub const MAX_SMOOTHING: f64 = 0.999;

/// A running debiased exponential moving average.
///
/// `last = s*last + (1-s)*y; n += 1; out = last / (1 - s^n)`, so that the first values are not drawn towards zero.
/// Non-finite values pass through and do not count. As long as all values so far are the same, the output is that very
/// value, free of rounding. The output for a point never depends on later points: a run looks the same when it grows.
#[derive(Clone, Debug)]
pub struct Smoother {
    s: f64,
    last: f64,
    /// `s^n`.
    decay: f64,
    constant: Option<f64>,
    count: u64,
}

impl Smoother {
    /// A smoother with past weight `s`, clamped to 0..=0.999; 0 passes everything through.
    pub fn new(s: f64) -> Self {
        let s = if s.is_finite() { s.clamp(0.0, MAX_SMOOTHING) } else { 0.0 };
        Self { s, last: 0.0, decay: 1.0, constant: None, count: 0 }
    }

    /// The next smoothed value.
    pub fn next(&mut self, y: f64) -> f64 {
        if !y.is_finite() || self.s == 0.0 {
            return y;
        }
        self.last = self.s * self.last + (1.0 - self.s) * y;
        self.decay *= self.s;
        self.count += 1;
        if self.count == 1 {
            self.constant = Some(y);
        } else if self.constant != Some(y) {
            self.constant = None;
        }
        self.constant.unwrap_or_else(|| self.last / (1.0 - self.decay))
    }
}

/// The smoothed copy of `y` with past weight `s`.
pub fn smooth(y: &[f64], s: f64) -> Vec<f64> {
    let mut smoother = Smoother::new(s);
    y.iter().map(|&y| smoother.next(y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula, written down once more, with `powi`.
    fn reference(y: &[f64], s: f64) -> Vec<f64> {
        let (mut last, mut n) = (0.0, 0);
        y.iter()
            .map(|&y| {
                if !y.is_finite() {
                    return y;
                }
                last = s * last + (1.0 - s) * y;
                n += 1;
                last / (1.0 - f64::powi(s, n))
            })
            .collect()
    }

    #[test]
    fn follows_the_formula() {
        let y: Vec<f64> = (0..500).map(|i| (f64::from(i) * 0.1).sin() * 3.0 + f64::from(i % 7)).collect();
        for s in [0.0, 0.3, 0.6, 0.9, 0.999] {
            for (a, b) in smooth(&y, s).iter().zip(reference(&y, s)) {
                assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "s = {s}: {a} and {b}");
            }
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(smooth(&[1.0, 3.0], 0.5), [1.0, (0.5 * 0.5 + 0.5 * 3.0) / 0.75]);
    }

    #[test]
    fn a_constant_series_stays_exactly_as_it_is() {
        for s in [0.1, 0.6, 0.999] {
            assert_eq!(smooth(&[0.1; 1000], s), [0.1; 1000]);
        }
    }

    #[test]
    fn non_finite_values_pass_through_and_do_not_count() {
        let with = smooth(&[1.0, f64::NAN, 2.0, f64::INFINITY, 5.0], 0.6);
        let without = smooth(&[1.0, 2.0, 5.0], 0.6);
        assert!(with[1].is_nan());
        assert_eq!(with[3], f64::INFINITY);
        assert_eq!([with[0], with[2], with[4]], without[..]);
    }

    #[test]
    fn a_run_looks_the_same_when_it_gets_longer() {
        let y: Vec<f64> = (0..100).map(|i| f64::from(i * i % 17)).collect();
        assert_eq!(smooth(&y[..60], 0.9), smooth(&y, 0.9)[..60]);
    }

    #[test]
    fn the_weight_is_clamped() {
        assert_eq!(smooth(&[1.0, 2.0], -3.0), [1.0, 2.0]);
        assert_eq!(smooth(&[1.0, 2.0], f64::NAN), [1.0, 2.0]);
        assert_eq!(smooth(&[1.0, 2.0], 7.0), smooth(&[1.0, 2.0], 0.999));
    }
}
