//! Verdict on a difference: the one rule of the window and the command line.
//!
//! A difference is tested where both sides have two seeds or more. The metric of a run varies for two reasons, which are independent
//! of each other, so that their variances add:
//!
//! SE² = s²/n + v/N
//!
//! - s² is the variance over seeds: with another initialisation and order of the data the same config ends elsewhere. Where both sides
//!   have at least two seeds in common, it is the variance of the differences of these n pairs, and what both owe to the seed falls
//!   away. Else each side has its own s²/n (Welch).
//! - v is the variance over the N validation examples of the difference of the averages over seeds ([`super::sampling`]): on
//!   other examples of the same kind one config may be the better one. All seeds read the same examples, so that s² knows nothing of
//!   this. What examples and seeds do together (a seed that does well on some examples) is in both; the sum counts it twice, which
//!   makes the interval wider and never narrower.
//!
//! [`super::interval`] makes the 95 % interval of these sources. A difference is better or worse only where 0 lies outside. Where the
//! outcomes of single examples were not recorded (older runs, metrics that are no mean over examples, evaluations of other
//! examples), the interval is that of the seeds alone and says so.
//!
//! With one seed on a side nothing is tested: how far seeds differ is not known, and the spread of the evaluations of one run
//! ([`super::within_run`]) does not stand in for it.

use headroom_engine::{speed::Spread, store::Direction};

use super::{
    ExampleNoise, Summary, WithinRunSpread,
    interval::{NoiseSource, half_width},
    sampling::SamplingNoise,
};

/// Metric of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The run's seed: runs of the same seed are pairs.
    pub seed: u64,
    /// The value.
    pub value: f64,
    /// Spread of the run's own evaluations; none where there are too few.
    pub within_run: Option<WithinRunSpread>,
    /// Noise of the validation sample; none where it was not recorded.
    pub examples: Option<ExampleNoise>,
}

/// Basis of the interval of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Counted, not measured.
    Exact,
    /// So many pairs of the same seed.
    Pairs(usize),
    /// So many seeds of the baseline and of the other, which share at most one.
    Groups(usize, usize),
    /// None: so many seeds of the baseline and of the other, one of them a single one.
    Untested(usize, usize),
}

impl Basis {
    /// Seeds of the baseline and of the other; none of what is counted.
    pub fn seeds(self) -> Option<(usize, usize)> {
        match self {
            Self::Exact => None,
            Self::Pairs(n) => Some((n, n)),
            Self::Groups(base, own) | Self::Untested(base, own) => Some((base, own)),
        }
    }
}

/// Verdict on a [`Delta`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// In the good direction, and clear of the noise.
    Better,
    /// In the bad direction, and clear of the noise.
    Worse,
    /// Within the noise, or the seeds tell nothing of it.
    Unclear,
    /// Not tested: one side has a single seed.
    NotTested,
    /// Both are written with the same digits.
    Same,
    /// A metric without a direction.
    #[default]
    Neutral,
}

impl Verdict {
    /// Words for tables; empty where nothing is to be said.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Unclear => "unclear",
            Self::NotTested => "not tested",
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

/// Distance of a value, or of a mean over seeds, from the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Value less baseline; over pairs the mean of the differences.
    pub absolute: f64,
    /// The same over the size of the baseline; none when that is 0.
    pub relative: Option<f64>,
    /// Half the width of the 95 % interval of the difference; none where nothing was tested or is known of the noise.
    pub half_width: Option<f64>,
    /// Basis of the interval.
    pub basis: Basis,
    /// Validation examples whose noise is in the interval; none where it was not recorded.
    pub examples: Option<usize>,
    /// Within-run spread of a difference of two runs, a standard deviation; no verdict rests on it.
    pub within_run: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
}

/// Words behind an interval that holds the noise between seeds alone.
pub const SEEDS_ALONE: &str = "evaluation noise not recorded";

impl Delta {
    /// Of numbers without noise; none when either is not finite.
    pub fn exact(value: f64, baseline: f64, direction: Direction) -> Option<Self> {
        let absolute = value - baseline;
        let delta = Self {
            absolute,
            relative: share(absolute, baseline),
            half_width: None,
            basis: Basis::Exact,
            examples: None,
            within_run: None,
            verdict: Verdict::clear(absolute, direction),
        };
        absolute.is_finite().then_some(delta)
    }

    /// Of measured values, by the rule of this file; none where one side has none or a mean is not finite.
    pub fn measured(own: &[Reading], baseline: &[Reading], direction: Direction) -> Option<Self> {
        let (own, base) = (by_seed(own), by_seed(baseline));
        let pairs: Vec<(&SeedRuns<'_>, &SeedRuns<'_>)> =
            own.iter().filter_map(|own| Some((own, base.iter().find(|base| base.seed == own.seed)?))).collect();
        let within_run = within_run(&own).zip(within_run(&base)).map(|(own, base)| own.hypot(base));
        let (own_values, base_values) = (Summary::of(&values(&own))?, Summary::of(&values(&base))?);
        let is_tested = own.len() > 1 && base.len() > 1;
        let (absolute, mean, basis, mut sources, noise) = if is_tested && pairs.len() > 1 {
            let differences: Vec<f64> = pairs.iter().map(|(own, base)| own.value - base.value).collect();
            let found = Summary::of(&differences)?;
            let mean = pairs.iter().map(|(_, base)| base.value).sum::<f64>() / found.n as f64;
            let (own, base): (Vec<&SeedRuns<'_>>, Vec<&SeedRuns<'_>>) = pairs.into_iter().unzip();
            (found.mean, mean, Basis::Pairs(found.n), vec![over_seeds(&found)], sampling(&own, &base))
        } else {
            let basis = if is_tested { Basis::Groups } else { Basis::Untested };
            let sources = if is_tested { vec![over_seeds(&own_values), over_seeds(&base_values)] } else { Vec::new() };
            let noise = sampling(&own.iter().collect::<Vec<_>>(), &base.iter().collect::<Vec<_>>());
            let noise = noise.filter(|_| is_tested);
            (own_values.mean - base_values.mean, base_values.mean, basis(base.len(), own.len()), sources, noise)
        };
        if !absolute.is_finite() {
            return None;
        }
        sources.extend(noise.map(|noise| NoiseSource::new(noise.variance, noise.freedom)));
        let half_width = half_width(&sources);
        let verdict = match half_width {
            _ if direction == Direction::None => Verdict::Neutral,
            _ if !is_tested => Verdict::NotTested,
            Some(half) if absolute.abs() > half => Verdict::clear(absolute, direction),
            _ => Verdict::Unclear,
        };
        let examples = noise.map(|noise| noise.examples);
        Some(Self { absolute, relative: share(absolute, mean), half_width, basis, examples, within_run, verdict })
    }

    /// The same, of these two values; where both are written with the same digits no difference is shown.
    #[must_use]
    pub fn or_same(self, value: f64, baseline: f64, write: impl Fn(f64) -> String) -> Self {
        if write(value) == write(baseline) { Self { verdict: Verdict::Same, ..self } } else { self }
    }

    /// True if it was tested, or is a count that needs no test.
    pub fn is_tested(&self) -> bool {
        !matches!(self.basis, Basis::Untested(..))
    }

    /// Verdict and basis for people; `write` gives a difference with its unit.
    pub fn words(&self, write: impl Fn(f64) -> String) -> String {
        let width = |half: f64| write(half).trim_start_matches('+').to_owned();
        let verdict = match self.verdict {
            Verdict::Better => "Better than the baseline.",
            Verdict::Worse => "Worse than the baseline.",
            Verdict::Unclear if self.half_width.is_some() => "Within the noise: neither better nor worse.",
            Verdict::Unclear => {
                "Not called better or worse: all seeds came to the same, which tells nothing of the noise."
            }
            Verdict::Same => "The same in the digits that are shown.",
            Verdict::NotTested | Verdict::Neutral => "",
        };
        let difference = match self.half_width {
            Some(half) => format!("{} ± {}", write(self.absolute), width(half)),
            None => write(self.absolute),
        };
        let rests = match self.basis {
            Basis::Exact => return [&difference, ". ", verdict].concat().trim_end().to_owned(),
            Basis::Pairs(n) => format!("95 % interval of the mean difference over {n} pairs of the same seed"),
            Basis::Groups(base, own) => {
                format!("95 % interval of the difference of means of {own} and {base} runs with other seeds (Welch)")
            }
            Basis::Untested(base, own) => {
                let spread = self.within_run.map(|sd| {
                    format!(
                        " Within-run spread {}: the standard deviation of the last evaluations, not of seeds.",
                        width(sd)
                    )
                });
                let words =
                    [&difference, ", ", &untested_words(base, own), ".", &spread.unwrap_or_default(), " ", verdict];
                return words.concat().trim_end().to_owned();
            }
        };
        let sample = match self.examples {
            Some(n) => format!(" and {n} validation examples"),
            None => format!("; {SEEDS_ALONE}"),
        };
        [&difference, ", ", &rests, &sample, ". ", verdict].concat().trim_end().to_owned()
    }
}

/// Reason why a difference was not tested, by the numbers of seeds.
pub fn untested_words(base: usize, own: usize) -> String {
    let seeds = |n: usize| if n == 1 { "1 seed".to_owned() } else { format!("{n} seeds") };
    if (base, own) == (1, 1) {
        "1 seed each: not tested".to_owned()
    } else {
        format!("{} against {} of the baseline: not tested", seeds(own), seeds(base))
    }
}

/// Runs of one seed: their mean counts once, since a repetition tells nothing of other seeds.
struct SeedRuns<'a> {
    seed: u64,
    value: f64,
    runs: Vec<&'a Reading>,
}

fn by_seed(readings: &[Reading]) -> Vec<SeedRuns<'_>> {
    let mut seeds: Vec<SeedRuns<'_>> = Vec::with_capacity(readings.len());
    for reading in readings {
        match seeds.iter_mut().find(|known| known.seed == reading.seed) {
            Some(known) => known.runs.push(reading),
            None => seeds.push(SeedRuns { seed: reading.seed, value: reading.value, runs: vec![reading] }),
        }
    }
    for seed in &mut seeds {
        let values: Vec<f64> = seed.runs.iter().map(|run| run.value).collect();
        seed.value = Summary::of(&values).map_or(seed.value, |of| of.mean);
    }
    seeds
}

fn values(seeds: &[SeedRuns<'_>]) -> Vec<f64> {
    seeds.iter().map(|seed| seed.value).collect()
}

/// Noise of a mean over seeds.
fn over_seeds(summary: &Summary) -> NoiseSource {
    NoiseSource::new(summary.standard_error().powi(2), summary.n - 1)
}

/// Noise of the validation sample in the difference of two means over seeds.
fn sampling(own: &[&SeedRuns<'_>], base: &[&SeedRuns<'_>]) -> Option<SamplingNoise> {
    let mut weighted: Vec<(f64, Option<&ExampleNoise>)> = Vec::new();
    for (seeds, sign) in [(own, 1.0), (base, -1.0)] {
        for seed in seeds {
            let weight = sign / (seeds.len() * seed.runs.len()) as f64;
            weighted.extend(seed.runs.iter().map(|run| (weight, run.examples.as_ref())));
        }
    }
    ExampleNoise::of_sum(&weighted)
}

/// Within-run spread of these runs, the root of the mean of their variances; none where one has none.
fn within_run(seeds: &[SeedRuns<'_>]) -> Option<f64> {
    let runs = || seeds.iter().flat_map(|seed| &seed.runs);
    let squares = runs().map(|run| Some(run.within_run?.sd.powi(2))).sum::<Option<f64>>()?;
    Some((squares / runs().count() as f64).sqrt())
}

fn share(difference: f64, base: f64) -> Option<f64> {
    (base != 0.0).then(|| difference / base.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    use headroom_engine::objective::ExampleMetric;

    fn reading(seed: u64, value: f64) -> Reading {
        Reading { seed, value, within_run: None, examples: None }
    }

    fn with_spread(value: f64, sd: f64) -> Reading {
        Reading { within_run: Some(WithinRunSpread { sd }), ..reading(1, value) }
    }

    /// A run whose examples have these losses, a label each.
    fn with_examples(seed: u64, losses: &[f64]) -> Reading {
        let value = losses.iter().sum::<f64>() / losses.len() as f64;
        let examples = ExampleNoise::of(ExampleMetric::Loss, losses, &vec![1; losses.len()], "text");
        Reading { examples, ..reading(seed, value) }
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
        let take = |readings: &[Reading; 3], places: &[usize]| -> Vec<Reading> {
            places.iter().map(|&place| readings[place].clone()).collect()
        };
        let (repeated, again) = (take(&paired, &[0, 1, 1, 2, 2]), take(&base, &[0, 0, 1, 2]));
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
        // t(0.975, 4.57) is 2.645, between 2.776 of 4 and 2.571 of 5; the side of four alone needs t(0.975, 3) · 1.054 = 3.35.
        let alone = 3.182_446 * own_sd / 2.0;
        let half = delta.half_width.unwrap();
        assert!((half - alone.max(2.659 * se2.sqrt())).abs() < 2e-3, "{half} {alone} {}", se2.sqrt());
        assert_eq!(delta.basis, Basis::Groups(3, 4));
    }

    #[test]
    fn one_seed_on_a_side_is_not_tested_however_large_the_difference_is() {
        let several = [reading(1, 1.0), reading(2, 2.0), reading(3, 3.0)];
        let verdict = |own: &[Reading], base: &[Reading]| {
            let delta = Delta::measured(own, base, Direction::Lower).unwrap();
            assert_eq!((delta.half_width, delta.is_tested()), (None, false));
            assert_eq!(delta.verdict, Verdict::NotTested);
            delta.basis
        };
        for value in [-1e3, 1.9, 1e3] {
            assert_eq!(verdict(&[with_spread(value, 0.01)], &[with_spread(2.0, 0.03)]), Basis::Untested(1, 1));
            assert_eq!(verdict(&[reading(7, value)], &several), Basis::Untested(3, 1));
            assert_eq!(verdict(&several, &[reading(7, value)]), Basis::Untested(1, 3));
            // A run that was repeated with its seed, and came elsewhere, is no second seed.
            let repeated = [reading(1, value), reading(1, value + 0.1)];
            assert_eq!(verdict(&repeated, &several), Basis::Untested(3, 1));
        }
        let neutral = Delta::measured(&[reading(1, 1.0)], &several, Direction::None).unwrap();
        assert_eq!(neutral.verdict, Verdict::Neutral, "a metric without a direction");
    }

    #[test]
    fn the_spread_within_runs_is_told_and_no_interval() {
        let delta = Delta::measured(&[with_spread(1.9, 0.04)], &[with_spread(2.0, 0.03)], Direction::Lower).unwrap();
        assert!((delta.within_run.unwrap() - 0.05).abs() < 1e-12, "{delta:?}");
        assert_eq!(
            delta.words(|value| format!("{value:+.2}")),
            "-0.10, 1 seed each: not tested. Within-run spread 0.05: the standard deviation of the last evaluations, not of seeds."
        );
        let unknown = Delta::measured(&[reading(1, 1.0)], &[with_spread(2.0, 0.1)], Direction::Lower).unwrap();
        assert_eq!(unknown.within_run, None);
        assert_eq!(unknown.words(|value| format!("{value:+.1}")), "-1.0, 1 seed each: not tested.");
        assert_eq!(untested_words(3, 1), "1 seed against 3 seeds of the baseline: not tested");
    }

    #[test]
    fn the_noise_of_seeds_and_that_of_the_examples_add() {
        // Each seed of the one is lower by 0.1 on half of the examples and by 0.3 on the others: no noise between seeds to speak of.
        let base = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let own = |shift: f64| -> Vec<f64> {
            base.iter().zip([0.1, 0.3, 0.1, 0.3, 0.1, 0.3]).map(|(loss, less)| loss - less - shift).collect()
        };
        let (low, high) = (
            [with_examples(1, &own(0.0)), with_examples(2, &own(0.002))],
            [1, 2].map(|seed| with_examples(seed, &base)),
        );
        let delta = Delta::measured(&low, &high, Direction::Lower).unwrap();
        // s² = 0.000002, s²/n = 0.000001; dᵢ = ±0.1, v = 6 · 0.01 / 5 = 0.012, v/N = 0.002.
        let (seeds, sample) = (0.000_001_f64, 0.002_f64);
        let freedom = (seeds + sample).powi(2) / (seeds.powi(2) + sample.powi(2) / 5.0);
        let half = crate::compare::stats::student_t_95_between(freedom) * (seeds + sample).sqrt();
        assert!((delta.half_width.unwrap() - half).abs() < 1e-5, "{delta:?} {half}");
        assert_eq!((delta.examples, delta.basis), (Some(6), Basis::Pairs(2)));
        let words = delta.words(|value| format!("{value:+.2}"));
        assert!(words.contains("over 2 pairs of the same seed and 6 validation examples."), "{words}");
        // Where one of them was not recorded, or was of other examples, the seeds alone are left.
        let mut older = low.clone();
        older[1].examples = None;
        let delta = Delta::measured(&older, &high, Direction::Lower).unwrap();
        assert!((delta.half_width.unwrap() - 12.706_2 * 0.001).abs() < 1e-6 && delta.examples.is_none(), "{delta:?}");
        let words = delta.words(|value| format!("{value:+.2}"));
        assert!(words.contains("of the same seed; evaluation noise not recorded."), "{words}");
    }

    #[test]
    fn seeds_that_all_came_to_the_same_tell_nothing_of_their_noise() {
        // Two classifiers by 128 examples, of which the outcomes were not recorded: both seeds differ by one example.
        let base = [reading(1, 0.75), reading(2, 0.5)];
        let own = [reading(1, 0.75 + 1.0 / 128.0), reading(2, 0.5 + 1.0 / 128.0)];
        let delta = Delta::measured(&own, &base, Direction::Higher).unwrap();
        assert_eq!((delta.half_width, delta.verdict), (None, Verdict::Unclear));
        assert!(delta.words(|value| format!("{value:+.3}")).ends_with("which tells nothing of the noise."));
    }

    #[test]
    fn only_a_metric_with_a_direction_is_better_or_worse() {
        let verdict = |value, baseline, direction| Delta::exact(value, baseline, direction).map(|delta| delta.verdict);
        assert_eq!(verdict(1.0, 2.0, Direction::Lower), Some(Verdict::Better));
        assert_eq!(verdict(1.0, 2.0, Direction::Higher), Some(Verdict::Worse));
        assert_eq!(verdict(1.0, 2.0, Direction::None), Some(Verdict::Neutral));
        assert_eq!(verdict(2.0, 2.0, Direction::Lower), Some(Verdict::Neutral));
        assert_eq!(verdict(f64::NAN, 2.0, Direction::Lower), None);
        let measured = Delta::measured(&[with_spread(1.0, 0.1)], &[with_spread(9.0, 0.1)], Direction::None).unwrap();
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
        let pairs = words(&[reading(1, 1.0), reading(2, 1.99)]);
        assert_eq!(
            pairs,
            "-1.00 ± 0.06, 95 % interval of the mean difference over 2 pairs of the same seed; evaluation noise not recorded. \
             Better than the baseline."
        );
        assert!(words(&[reading(1, 1.0), reading(2, 4.0)]).ends_with("Within the noise: neither better nor worse."));
        assert!(
            words(&[reading(3, 1.0), reading(4, 2.0)]).contains("of means of 2 and 2 runs with other seeds (Welch);")
        );
        assert!(!words(&[reading(1, 1.0)]).contains("etter"), "{}", words(&[reading(1, 1.0)]));
        assert_eq!(Delta::exact(1.0, 2.0, Direction::None).unwrap().words(|value| format!("{value}")), "-1.");
    }

    #[test]
    fn whoever_is_the_baseline_the_interval_is_the_same() {
        // Readings of every number of seeds, some of them shared, at values that repeat in no simple way.
        let readings = |from: u64, count: u64, turn: f64| -> Vec<Reading> {
            let loss = |seed: u64, example: u32| 3.0 * (turn * seed as f64 + turn * f64::from(example)).sin();
            let losses = |seed: u64| (0..7).map(|example| loss(seed, example)).collect::<Vec<f64>>();
            (from..from + count).map(|seed| with_examples(seed, &losses(seed))).collect()
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
            assert_eq!(there.half_width.is_some(), count > 1 && others > 1, "{there:?}");
            let halves = there.half_width.zip(back.half_width);
            assert!(halves.is_none_or(|(there, back)| close(there, back)), "{there:?} {back:?}");
            assert_eq!(turned, back.verdict);
        }
    }
}
