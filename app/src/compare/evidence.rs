//! Whether a difference clears its noise: one rule for the window and the command line.
//!
//! - Runs that repeat the same seeds are paired: the 95 % interval of the mean of the differences, after Student.
//! - Groups without common seeds: the 95 % interval of the difference of their means, after Welch.
//! - One run against several: the 95 % interval in which one more run of the several would lie.
//! - One run each: how far their last evaluations lie from a straight line through them. Other seeds may differ more. Of the
//!   first half of a curve nothing is taken: a loss that falls is no line, and what it falls by is no noise.
//!
//! A difference is better or worse only where 0 lies outside; where nothing is known of the noise it is neither.

use headroom_engine::{speed::Spread, store::Direction};

use super::{Summary, student_t_95};

/// The last points of a curve that tell its noise.
const COURSE: usize = 8;
/// With fewer points nothing is known: a line goes through two of them.
const LEAST: usize = 4;

/// How far the values of one run lie from their own course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation around a straight line.
    pub sd: f64,
    /// Degrees of freedom: points less two.
    pub freedom: usize,
}

impl Noise {
    /// Of the last eight points of a curve, of those of its second half where it has fewer than sixteen, of four at least; none
    /// with fewer than four, or where one is not finite.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let n = x.len().min(y.len());
        let from = n.saturating_sub((n / 2).clamp(LEAST, COURSE));
        let points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).skip(from).take(n - from).collect();
        if points.len() < LEAST || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return None;
        }
        let count = points.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(&|point| point.0), mean(&|point| point.1));
        let across: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let along: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = if across > 0.0 { along / across } else { 0.0 };
        let squares: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
        let freedom = points.len() - 2;
        Some(Self { sd: (squares / freedom as f64).sqrt(), freedom })
    }
}

/// What one run comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The run's seed: runs of the same seed are pairs.
    pub seed: u64,
    /// The value.
    pub value: f64,
    /// The noise of the run's own curve; none where nothing is known of it.
    pub noise: Option<Noise>,
}

/// What the interval of a difference rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Counted, not measured.
    Exact,
    /// So many pairs of the same seed.
    Pairs(usize),
    /// So many runs of the baseline and of the other, with other seeds.
    Groups(usize, usize),
    /// One run, against so many.
    OneOf(usize),
    /// The evaluations of one run each.
    Evaluations,
    /// One run each, and nothing is known of their noise.
    Nothing,
}

/// What to think of a [`Delta`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// In the good direction, and clear of the noise.
    Better,
    /// In the bad direction, and clear of the noise.
    Worse,
    /// Within the noise, or nothing is known of it.
    Unclear,
    /// Both are written with the same digits.
    Same,
    /// A metric without a direction.
    #[default]
    Neutral,
}

impl Verdict {
    /// One word for tables; empty where nothing is to be said.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Unclear => "unclear",
            Self::Same | Self::Neutral => "",
        }
    }

    /// By quartiles: better or worse only where those of the two do not overlap.
    pub fn of_spreads(value: &Spread, baseline: &Spread, direction: Direction) -> Self {
        if value.upper >= baseline.lower && baseline.upper >= value.lower {
            return if direction == Direction::None { Self::Neutral } else { Self::Unclear };
        }
        Self::clear(value.median - baseline.median, direction)
    }

    /// Of a difference that clears its noise.
    fn clear(difference: f64, direction: Direction) -> Self {
        match direction {
            Direction::Lower if difference < 0.0 => Self::Better,
            Direction::Lower if difference > 0.0 => Self::Worse,
            Direction::Higher if difference > 0.0 => Self::Better,
            Direction::Higher if difference < 0.0 => Self::Worse,
            _ => Self::Neutral,
        }
    }
}

/// The distance of a value, or of a group's mean, from the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Value less baseline; over pairs the mean of the differences.
    pub absolute: f64,
    /// The same over the size of the baseline; none when that is 0.
    pub relative: Option<f64>,
    /// Half the width of the 95 % interval of the difference; none where nothing is known of it.
    pub half_width: Option<f64>,
    /// What the interval rests on.
    pub basis: Basis,
    /// What to think of it.
    pub verdict: Verdict,
}

impl Delta {
    /// Of numbers without noise; none when either is not finite.
    pub fn exact(value: f64, baseline: f64, direction: Direction) -> Option<Self> {
        let absolute = value - baseline;
        let delta = Self {
            absolute,
            relative: share(absolute, baseline),
            half_width: None,
            basis: Basis::Exact,
            verdict: Verdict::clear(absolute, direction),
        };
        absolute.is_finite().then_some(delta)
    }

    /// Of measured values, by the rule of this file; none where one side has none or a mean is not finite.
    pub fn measured(own: &[Reading], baseline: &[Reading], direction: Direction) -> Option<Self> {
        let (own, baseline) = (&once(own)[..], &once(baseline)[..]);
        let pairs: Vec<(f64, f64)> = own
            .iter()
            .filter_map(|own| Some((own.value, baseline.iter().find(|base| base.seed == own.seed)?.value)))
            .collect();
        let values = |readings: &[Reading]| readings.iter().map(|reading| reading.value).collect::<Vec<f64>>();
        let (one, other) = (Summary::of(&values(own))?, Summary::of(&values(baseline))?);
        let (absolute, base, half_width, basis) = if pairs.len() > 1 {
            let differences: Vec<f64> = pairs.iter().map(|(own, base)| own - base).collect();
            let found = Summary::of(&differences)?;
            let base = pairs.iter().map(|(_, base)| base).sum::<f64>() / pairs.len() as f64;
            let half = student_t_95(found.n - 1) * found.standard_error();
            (found.mean, base, Some(half), Basis::Pairs(found.n))
        } else {
            let (half, basis) = unpaired(own, baseline, &one, &other);
            (one.mean - other.mean, other.mean, half, basis)
        };
        if !absolute.is_finite() {
            return None;
        }
        let half_width = half_width.filter(|half| half.is_finite());
        let verdict = match half_width {
            _ if direction == Direction::None => Verdict::Neutral,
            Some(half) if absolute.abs() > half => Verdict::clear(absolute, direction),
            _ => Verdict::Unclear,
        };
        Some(Self { absolute, relative: share(absolute, base), half_width, basis, verdict })
    }

    /// The same, of these two values; where both are written with the same digits no difference is shown.
    #[must_use]
    pub fn or_same(self, value: f64, baseline: f64, write: impl Fn(f64) -> String) -> Self {
        if write(value) == write(baseline) { Self { verdict: Verdict::Same, ..self } } else { self }
    }

    /// The verdict and what it rests on, for people; `write` gives a difference with its unit.
    pub fn words(&self, write: impl Fn(f64) -> String) -> String {
        let verdict = match self.verdict {
            Verdict::Better => "Better than the baseline.",
            Verdict::Worse => "Worse than the baseline.",
            Verdict::Unclear if self.half_width.is_some() => "Within the noise: neither better nor worse.",
            Verdict::Unclear => "Not called better or worse: nothing is known of the noise.",
            Verdict::Same => "The same in the digits that are shown.",
            Verdict::Neutral => "",
        };
        let difference = match self.half_width {
            Some(half) => format!("{} ± {}", write(self.absolute), write(half).trim_start_matches('+')),
            None => write(self.absolute),
        };
        let rests = match self.basis {
            Basis::Exact => return [&difference, ". ", verdict].concat().trim_end().to_owned(),
            Basis::Pairs(n) => format!("95 % interval of the mean difference over {n} pairs of the same seed"),
            Basis::Groups(base, own) => {
                format!("95 % interval of the difference of means of {own} and {base} runs with other seeds (Welch)")
            }
            Basis::OneOf(n) => format!("one run against the spread of {n}: 95 % interval of one more of them"),
            Basis::Evaluations => {
                "one run each: 95 % interval by the spread of their last evaluations. Other seeds may differ more; train \
                 several to know"
                    .to_owned()
            }
            Basis::Nothing => "one run each with too few evaluations to tell how much they vary".to_owned(),
        };
        [&difference, ", ", &rests, ". ", verdict].concat().trim_end().to_owned()
    }
}

/// Each of them once: a run that was repeated with its seed gives the same value, and tells nothing more of the noise.
pub(super) fn once(readings: &[Reading]) -> Vec<Reading> {
    let mut known: Vec<Reading> = Vec::with_capacity(readings.len());
    for reading in readings {
        let is_same = |other: &Reading| other.seed == reading.seed && other.value.to_bits() == reading.value.to_bits();
        if !known.iter().any(is_same) {
            known.push(*reading);
        }
    }
    known
}

/// Half the 95 % interval of a difference of means without pairs, and what it rests on.
fn unpaired(own: &[Reading], baseline: &[Reading], one: &Summary, other: &Summary) -> (Option<f64>, Basis) {
    match (one.n, other.n) {
        (1, 1) => {
            let noises = own.first().and_then(|own| own.noise).zip(baseline.first().and_then(|base| base.noise));
            match noises {
                Some((a, b)) => {
                    let half = student_t_95(a.freedom.min(b.freedom)) * a.sd.hypot(b.sd);
                    (Some(half), Basis::Evaluations)
                }
                None => (None, Basis::Nothing),
            }
        }
        (1, n) | (n, 1) => {
            let of = if one.n > 1 { one } else { other };
            let half = student_t_95(n - 1) * of.sd * (1.0 + 1.0 / n as f64).sqrt();
            (Some(half), Basis::OneOf(n))
        }
        (n, m) => {
            let (a, b) = (one.standard_error().powi(2), other.standard_error().powi(2));
            let freedom = (a + b).powi(2) / (a * a / (n - 1) as f64 + b * b / (m - 1) as f64);
            // Both without any spread.
            let freedom = if freedom.is_finite() { freedom.floor().max(1.0) as usize } else { n + m - 2 };
            (Some(student_t_95(freedom) * (a + b).sqrt()), Basis::Groups(m, n))
        }
    }
}

fn share(difference: f64, base: f64) -> Option<f64> {
    (base != 0.0).then(|| difference / base.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seed: u64, value: f64) -> Reading {
        Reading { seed, value, noise: None }
    }

    fn with_noise(value: f64, sd: f64) -> Reading {
        Reading { seed: 1, value, noise: Some(Noise { sd, freedom: 6 }) }
    }

    #[test]
    fn pairs_see_what_the_spread_of_seeds_hides() {
        // Seeds differ by 1, the variant by 0.1 at each: as groups nothing is seen.
        let base = [reading(1, 2.0), reading(2, 3.0), reading(3, 4.0)];
        let paired = [reading(1, 1.9), reading(2, 2.88), reading(3, 3.91)];
        let delta = Delta::measured(&paired, &base, Direction::Lower).unwrap();
        assert_eq!((delta.basis, delta.verdict), (Basis::Pairs(3), Verdict::Better));
        // Differences -0.10, -0.12, -0.09: mean -0.10333, sd 0.015275, t(0.975, 2) = 4.30265.
        assert!((delta.absolute + 0.103_333).abs() < 1e-5, "{delta:?}");
        assert!((delta.half_width.unwrap() - 4.302_65 * 0.015_275 / 3.0_f64.sqrt()).abs() < 1e-4, "{delta:?}");
        assert!((delta.relative.unwrap() + 0.103_333 / 3.0).abs() < 1e-5);
        let repeated = [paired[0], paired[1], paired[1], paired[2], paired[2]];
        let again = [base[0], base[0], base[1], base[2]];
        assert_eq!(Delta::measured(&repeated, &again, Direction::Lower), Some(delta), "repeats tell nothing new");
        let others = paired.map(|own| Reading { seed: own.seed + 10, ..own });
        let delta = Delta::measured(&others, &base, Direction::Lower).unwrap();
        assert_eq!((delta.basis, delta.verdict), (Basis::Groups(3, 3), Verdict::Unclear));
    }

    #[test]
    fn groups_without_common_seeds_follow_welch() {
        // Means 10 and 12, variances 1 and 4 of 3 and 4 runs: se² = 1/3 + 1 = 4/3, freedom = (4/3)² / (1/18 + 1/3) = 4.57.
        let base = [9.0, 10.0, 11.0].map(|value| reading(value as u64, value));
        let own: Vec<Reading> =
            [9.550_510, 11.183_503, 12.816_497, 14.449_490].map(|value| reading(100 + value as u64, value)).to_vec();
        let own_sd = Summary::of(&own.iter().map(|own| own.value).collect::<Vec<_>>()).unwrap().sd;
        let delta = Delta::measured(&own, &base, Direction::Higher).unwrap();
        let se2 = 1.0 / 3.0 + own_sd.powi(2) / 4.0;
        assert!((delta.absolute - 2.0).abs() < 1e-6);
        assert!((delta.half_width.unwrap() - 2.776_445 * se2.sqrt()).abs() < 1e-5, "t(0.975, 4): {delta:?}");
        assert_eq!(delta.basis, Basis::Groups(3, 4));
    }

    #[test]
    fn one_run_against_several_must_leave_their_spread() {
        let base = [reading(1, 1.0), reading(2, 2.0), reading(3, 3.0)];
        // Mean 2, sd 1, t(0.975, 2) = 4.30265 · sqrt(4/3) = 4.968.
        let verdict = |value: f64| {
            let delta = Delta::measured(&[reading(7, value)], &base, Direction::Lower).unwrap();
            assert_eq!(delta.basis, Basis::OneOf(3));
            delta.verdict
        };
        assert_eq!([verdict(7.1), verdict(6.9), verdict(-3.1)], [Verdict::Worse, Verdict::Unclear, Verdict::Better]);
    }

    #[test]
    fn one_run_each_is_judged_by_its_evaluations() {
        let of = |value: f64, sd: f64| {
            Delta::measured(&[with_noise(value, sd)], &[with_noise(2.0, 0.03)], Direction::Lower).unwrap()
        };
        // t(0.975, 6) = 2.4469 · hypot(0.03, 0.04) = 0.1223.
        assert!((of(2.5, 0.04).half_width.unwrap() - 0.122_345).abs() < 1e-5);
        assert_eq!(of(1.9, 0.04).verdict, Verdict::Unclear);
        assert_eq!(of(1.8, 0.04).verdict, Verdict::Better);
        let unknown = Delta::measured(&[reading(1, 1.0)], &[reading(1, 2.0)], Direction::Lower).unwrap();
        assert_eq!((unknown.basis, unknown.verdict, unknown.half_width), (Basis::Nothing, Verdict::Unclear, None));
    }

    #[test]
    fn noise_is_what_is_left_of_a_straight_line() {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let line: Vec<f64> = x.iter().map(|x| 5.0 - 0.1 * x).collect();
        assert!(Noise::of(&x, &line).unwrap().sd < 1e-12, "a straight course is no noise");
        let zigzag: Vec<f64> = x.iter().map(|x| 5.0 - 0.1 * x + if x % 2.0 == 0.0 { 0.01 } else { -0.01 }).collect();
        let noise = Noise::of(&x, &zigzag).unwrap();
        assert_eq!(noise.freedom, 6);
        assert!((0.009..0.012).contains(&noise.sd), "{noise:?}");
        // What a loss falls by at first is no noise.
        let falling: Vec<f64> = (0..8).map(|place| 4.0 + 2.0 * 0.5_f64.powi(place)).collect();
        assert!(Noise::of(&x[..8], &falling).unwrap().sd < 0.02, "{:?}", Noise::of(&x[..8], &falling));
        assert_eq!(Noise::of(&x[..3], &line[..3]), None);
        assert_eq!(Noise::of(&x[..4], &[1.0, f64::NAN, 1.0, 1.0]), None);
    }

    #[test]
    fn only_a_metric_with_a_direction_is_better_or_worse() {
        let verdict = |value, baseline, direction| Delta::exact(value, baseline, direction).map(|delta| delta.verdict);
        assert_eq!(verdict(1.0, 2.0, Direction::Lower), Some(Verdict::Better));
        assert_eq!(verdict(1.0, 2.0, Direction::Higher), Some(Verdict::Worse));
        assert_eq!(verdict(1.0, 2.0, Direction::None), Some(Verdict::Neutral));
        assert_eq!(verdict(2.0, 2.0, Direction::Lower), Some(Verdict::Neutral));
        assert_eq!(verdict(f64::NAN, 2.0, Direction::Lower), None);
        let measured = Delta::measured(&[with_noise(1.0, 0.1)], &[with_noise(9.0, 0.1)], Direction::None).unwrap();
        assert_eq!(measured.verdict, Verdict::Neutral);
    }

    #[test]
    fn the_share_is_of_the_baselines_size_whatever_its_sign() {
        let delta = Delta::exact(-1.0, -2.0, Direction::Higher).unwrap();
        assert_eq!((delta.absolute, delta.relative), (1.0, Some(0.5)));
        assert_eq!(Delta::exact(1.0, 0.0, Direction::Lower).unwrap().relative, None);
    }

    #[test]
    fn quartiles_that_overlap_tell_nothing() {
        let spread = |lower, median, upper| Spread { lower, median, upper };
        let base = spread(1.0, 1.1, 1.2);
        let verdict = |own: Spread| Verdict::of_spreads(&own, &base, Direction::Lower);
        assert_eq!(verdict(spread(1.15, 1.3, 1.4)), Verdict::Unclear);
        assert_eq!(verdict(spread(1.21, 1.3, 1.4)), Verdict::Worse);
        assert_eq!(verdict(spread(0.8, 0.9, 0.99)), Verdict::Better);
        assert_eq!(Verdict::of_spreads(&spread(2.0, 3.0, 4.0), &base, Direction::None), Verdict::Neutral);
    }

    #[test]
    fn values_that_are_written_alike_do_not_differ() {
        let verdict = |value: f64, baseline: f64| {
            let delta = Delta::exact(value, baseline, Direction::Lower).unwrap();
            delta.or_same(value, baseline, |value| format!("{value:.2}")).verdict
        };
        assert_eq!([verdict(1.001, 1.002), verdict(1.00, 1.01)], [Verdict::Same, Verdict::Better]);
    }

    #[test]
    fn words_say_what_a_verdict_rests_on() {
        let base = [reading(1, 2.0), reading(2, 3.0)];
        let words = |own: &[Reading]| {
            Delta::measured(own, &base, Direction::Lower).unwrap().words(|value| format!("{value:+.2}"))
        };
        let pairs = words(&[reading(1, 1.0), reading(2, 2.0)]);
        assert_eq!(
            pairs,
            "-1.00 ± 0.00, 95 % interval of the mean difference over 2 pairs of the same seed. Better than the baseline."
        );
        assert!(words(&[reading(1, 1.0)]).ends_with("Within the noise: neither better nor worse."));
        assert_eq!(Delta::exact(1.0, 2.0, Direction::None).unwrap().words(|value| format!("{value}")), "-1.");
    }

    #[test]
    fn whoever_is_the_baseline_the_interval_is_the_same() {
        // Readings of every number of seeds, some of them shared, at values that repeat in no simple way.
        let readings = |from: u64, count: u64, turn: f64| -> Vec<Reading> {
            let value = |seed: u64| 3.0 * (turn * seed as f64 + turn).sin();
            (from..from + count).map(|seed| Reading { seed, ..with_noise(value(seed), 0.5) }).collect()
        };
        for (count, others, shift) in (1..5).flat_map(|a| (1..5).flat_map(move |b| (0..5).map(move |c| (a, b, c)))) {
            let (one, other) = (readings(0, count, 1.7), readings(shift, others, 2.9));
            let there = Delta::measured(&one, &other, Direction::Lower).unwrap();
            let back = Delta::measured(&other, &one, Direction::Lower).unwrap();
            let turned = match there.verdict {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                other => other,
            };
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(close(there.absolute, -back.absolute), "{there:?} {back:?}");
            assert!(close(there.half_width.unwrap(), back.half_width.unwrap()), "{there:?} {back:?}");
            assert_eq!(turned, back.verdict);
        }
    }
}
