//! How a value stands against the baseline's.

use headroom_engine::store::Direction;

/// The distance of a value from the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// `value - baseline`.
    pub absolute: f64,
    /// `(value - baseline) / |baseline|`; none when the baseline is 0.
    pub relative: Option<f64>,
    /// What to think of it.
    pub verdict: Verdict,
}

/// What to think of a [`Delta`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// In the good direction.
    Better,
    /// In the bad direction.
    Worse,
    /// No difference, or a metric without a direction.
    #[default]
    Neutral,
}

impl Delta {
    /// The delta of `value` against `baseline`; none when either is not finite.
    pub fn of(value: f64, baseline: f64, direction: Direction) -> Option<Self> {
        if !value.is_finite() || !baseline.is_finite() {
            return None;
        }
        let absolute = value - baseline;
        let relative = (baseline != 0.0).then(|| absolute / baseline.abs());
        let verdict = match direction {
            Direction::Lower if absolute < 0.0 => Verdict::Better,
            Direction::Lower if absolute > 0.0 => Verdict::Worse,
            Direction::Higher if absolute > 0.0 => Verdict::Better,
            Direction::Higher if absolute < 0.0 => Verdict::Worse,
            _ => Verdict::Neutral,
        };
        Some(Self { absolute, relative, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_metric_with_a_direction_is_better_or_worse() {
        let verdict = |value, baseline, direction| Delta::of(value, baseline, direction).map(|delta| delta.verdict);
        assert_eq!(verdict(1.0, 2.0, Direction::Lower), Some(Verdict::Better));
        assert_eq!(verdict(1.0, 2.0, Direction::Higher), Some(Verdict::Worse));
        assert_eq!(verdict(1.0, 2.0, Direction::None), Some(Verdict::Neutral));
        assert_eq!(verdict(2.0, 2.0, Direction::Lower), Some(Verdict::Neutral));
        assert_eq!(verdict(f64::NAN, 2.0, Direction::Lower), None);
    }

    #[test]
    fn the_share_is_of_the_baselines_size_whatever_its_sign() {
        let delta = Delta::of(-1.0, -2.0, Direction::Higher).unwrap();
        assert_eq!((delta.absolute, delta.relative), (1.0, Some(0.5)));
        assert_eq!(Delta::of(1.0, 0.0, Direction::Lower).unwrap().relative, None);
    }
}
