//! Noise of the validation sample: how much a difference of metrics would vary on other examples of the same kind.
//!
//! An evaluation over N examples gives M = Σ xᵢ / Σ nᵢ: xᵢ is the sum of the losses of example i, or how many of its labels were
//! predicted correctly, nᵢ how many labels it has. M is a ratio; to first order its error is the mean of the residuals
//! (Cochran, Sampling Techniques, 1977, equation 6.9)
//!
//! rᵢ = (N / Σn) (xᵢ - M nᵢ),
//!
//! whose mean is 0. A metric g(M), such as exp(M), has the residuals g'(M) rᵢ (delta method). A difference of
//! averages over seeds is D = Σₖ wₖ Mₖ, with wₖ = 1/n for the runs of one side and -1/n for those of the other; its residuals are
//! dᵢ = Σₖ wₖ rₖᵢ. Where all runs have the same nᵢ, this is `(N / Σn) (ΔLᵢ - D nᵢ)`. What all runs find equally hard falls away,
//! since they read the same examples. The variance of dᵢ over the examples is v = Σ dᵢ² / (N - 1), and v/N the share of the
//! validation sample in the variance of D.
//!
//! Shares of correct labels are whole numbers over N: models that agree on all N examples would have v = 0, as if no example could
//! part them. So v counts two labels more that the models answer differently, one in favour of each:
//! 2 (N / Σn)² is added to Σ dᵢ². Where nothing differs, the half-width is 2.8/N, which is the rule of three (an event that was
//! not seen among N has a probability below 3/N at 95 %); of few examples that all favour one model six are needed for a verdict, as in
//! the exact sign test.
//!
//! Beyond 4,096 examples, neighbours are put together into as many blocks, whose sums take the place of single residuals: the
//! variance is as well known, and neighbours that are alike (windows of one document) are no longer counted as independent.

use std::sync::Arc;

use headroom_engine::objective::ExampleMetric;

/// Noise of the validation sample in a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingNoise {
    /// Variance that it gives to the difference, v/N.
    pub variance: f64,
    /// Degrees of freedom: examples, or blocks of them, less one.
    pub freedom: usize,
    /// Number of examples.
    pub examples: usize,
}

/// Largest distance of the metric that examples give from the recorded one, as a share of it: they are kept in single precision.
const TOLERANCE: f64 = 1e-3;

/// Most residuals that are kept of an evaluation.
const MOST_BLOCKS: usize = 4096;

/// Residuals of one evaluation of one run, from which the noise of the validation sample follows.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleNoise {
    /// Hash of the examples that were evaluated.
    evaluated: Arc<str>,
    /// Number of examples.
    examples: usize,
    /// Sums of the residuals of each block of examples; a block each where there are not too many.
    residuals: Arc<[f64]>,
    /// The metric of all examples together.
    value: f64,
    /// Amount by which one label more changes the residual of an example; 0 for losses.
    quantum: f64,
}

impl ExampleNoise {
    /// Residuals of a metric: `sums` are the losses or the correct labels of each example, `labels` how many labels each has,
    /// `evaluated` is the hash of the examples. None with fewer than two examples, where nothing was labelled, where lengths differ
    /// or a number is not finite.
    pub fn of(metric: ExampleMetric, sums: &[f64], labels: &[u32], evaluated: &str) -> Option<Self> {
        let total: f64 = labels.iter().map(|&labels| f64::from(labels)).sum();
        if sums.len() != labels.len() || sums.len() < 2 || total <= 0.0 {
            return None;
        }
        let mean = sums.iter().sum::<f64>() / total;
        let (value, slope) = match metric {
            ExampleMetric::Loss | ExampleMetric::Correct => (mean, 1.0),
            ExampleMetric::ExpOfLoss => (mean.exp(), mean.exp()),
        };
        if !value.is_finite() {
            return None;
        }
        let examples = sums.len();
        let scale = slope * examples as f64 / total;
        let mut residuals = vec![0.0; examples.min(MOST_BLOCKS)];
        for (place, (sum, labels)) in sums.iter().zip(labels).enumerate() {
            if let Some(block) = residuals.get_mut(place * examples.min(MOST_BLOCKS) / examples) {
                *block += scale * (sum - mean * f64::from(*labels));
            }
        }
        let quantum = if metric == ExampleMetric::Correct { scale } else { 0.0 };
        Some(Self { evaluated: evaluated.into(), examples, residuals: residuals.into(), value, quantum })
    }

    /// True if the examples give this value of the metric: else they are of another evaluation, or the metric weighs them in its own way.
    pub fn gives(&self, value: f64) -> bool {
        (self.value - value).abs() <= TOLERANCE * value.abs().max(TOLERANCE)
    }

    /// Noise of a sum of weighted runs; none where a run has no residuals or read other examples than the others.
    pub fn of_sum(weighted: &[(f64, Option<&Self>)]) -> Option<SamplingNoise> {
        let all = weighted.iter().map(|(weight, noise)| Some((*weight, (*noise)?))).collect::<Option<Vec<_>>>()?;
        let (_, first) = all.first()?;
        let is_other = |noise: &Self| (noise.examples, &noise.evaluated) != (first.examples, &first.evaluated);
        if all.iter().any(|(_, noise)| is_other(noise)) {
            return None;
        }
        let (examples, blocks) = (first.examples as f64, first.residuals.len());
        let mut sums = vec![0.0; blocks];
        for (weight, noise) in &all {
            for (sum, residual) in sums.iter_mut().zip(noise.residuals.iter()) {
                *sum += weight * residual;
            }
        }
        let quantum = all.iter().map(|(_, noise)| noise.quantum).fold(0.0, f64::max);
        let squares: f64 = sums.iter().map(|sum| sum * sum).sum::<f64>() + 2.0 * quantum * quantum;
        let variance = squares / examples.powi(2) * blocks as f64 / (blocks - 1) as f64;
        Some(SamplingNoise { variance, freedom: blocks - 1, examples: first.examples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::student_t_95;

    fn accuracy(correct: &[f64], evaluated: &str) -> ExampleNoise {
        ExampleNoise::of(ExampleMetric::Correct, correct, &vec![1; correct.len()], evaluated).unwrap()
    }

    fn difference(own: &ExampleNoise, base: &ExampleNoise) -> Option<SamplingNoise> {
        ExampleNoise::of_sum(&[(1.0, Some(own)), (-1.0, Some(base))])
    }

    #[test]
    fn the_residuals_of_a_ratio_are_those_of_the_difference() {
        let labels = [1_u32, 4, 2, 9, 5];
        let (base, own) = ([0.7, 4.1, 2.6, 8.8, 6.0], [0.5, 4.4, 2.0, 8.0, 5.1]);
        let total = 21.0;
        let mean = |sums: &[f64]| sums.iter().sum::<f64>() / total;
        let noise = |sums: &[f64]| ExampleNoise::of(ExampleMetric::Loss, sums, &labels, "text").unwrap();
        let SamplingNoise { variance: found, examples, freedom } = difference(&noise(&own), &noise(&base)).unwrap();
        // (N / Σn) (ΔLᵢ - D nᵢ), squared and summed over N (N - 1).
        let d = mean(&own) - mean(&base);
        let squares: f64 = (0..5).map(|i| (5.0 / total * (own[i] - base[i] - d * f64::from(labels[i]))).powi(2)).sum();
        assert!((found - squares / 20.0).abs() < 1e-15 && (examples, freedom) == (5, 4), "{found} {}", squares / 20.0);
        // To first order that is what leaving out one example after the other finds.
        let without = |i: usize| {
            let rest = |sums: &[f64]| (sums.iter().sum::<f64>() - sums[i]) / (total - f64::from(labels[i]));
            rest(&own) - rest(&base)
        };
        let jackknife: f64 = (0..5).map(|i| (without(i) - d).powi(2)).sum::<f64>() * 4.0 / 5.0;
        assert!((jackknife / found - 1.0).abs() < 0.5, "{jackknife} {found}");
    }

    #[test]
    fn an_exponential_has_the_noise_of_its_loss_times_its_slope() {
        let (labels, sums) = ([2_u32, 2, 2], [1.0, 2.0, 3.0]);
        let noise = |metric| ExampleNoise::of(metric, &sums, &labels, "text").unwrap();
        let (loss, exponential) = (noise(ExampleMetric::Loss), noise(ExampleMetric::ExpOfLoss));
        assert!(loss.gives(1.0) && exponential.gives(std::f64::consts::E));
        let of = |noise: &ExampleNoise| ExampleNoise::of_sum(&[(1.0, Some(noise))]).unwrap().variance;
        assert!((of(&exponential) / of(&loss) - std::f64::consts::E.powi(2)).abs() < 1e-12);
    }

    #[test]
    fn classifiers_that_agree_on_all_examples_are_not_known_to_a_width_of_nothing() {
        let right: Vec<f64> = (0..128).map(|i| f64::from(u8::from(i % 4 > 0))).collect();
        let one = accuracy(&right, "text");
        let half = |own: &ExampleNoise| {
            let found = difference(own, &one).unwrap();
            student_t_95(found.freedom) * found.variance.sqrt()
        };
        let same = half(&one);
        // The rule of three: 3/128 = 2.3 %.
        assert!((2.7 / 128.0..3.0 / 128.0).contains(&same), "{same}");
        // Five examples that all favour one model are no verdict, six are: McNemar's exact test finds 0.0625 and 0.031.
        for (discordant, is_clear) in [(1_u8, false), (4, false), (5, false), (6, true), (7, true)] {
            let mut more = right.clone();
            let missed = more.iter_mut().filter(|correct| **correct == 0.0);
            missed.take(usize::from(discordant)).for_each(|correct| *correct = 1.0);
            let difference = f64::from(discordant) / 128.0;
            assert_eq!(difference > half(&accuracy(&more, "text")), is_clear, "{discordant}");
        }
    }

    #[test]
    fn many_examples_are_put_together_into_blocks() {
        let mut state = 5_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from((state >> 40) as u32) / f64::from(1_u32 << 24)
        };
        let losses: Vec<f64> = (0..10_001).map(|_| draw()).collect();
        let (n, mean) = (losses.len() as f64, losses.iter().sum::<f64>() / losses.len() as f64);
        let noise = ExampleNoise::of(ExampleMetric::Loss, &losses, &vec![1; losses.len()], "text").unwrap();
        let found = ExampleNoise::of_sum(&[(1.0, Some(&noise))]).unwrap();
        let exact = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
        assert_eq!((found.examples, found.freedom), (10_001, MOST_BLOCKS - 1));
        assert!((found.variance / exact - 1.0).abs() < 0.08, "{} {exact}", found.variance);
    }

    #[test]
    fn examples_of_another_evaluation_have_no_part() {
        let (one, other) = (accuracy(&[1.0, 0.0, 1.0], "text"), accuracy(&[1.0, 0.0, 1.0], "other text"));
        assert!(difference(&one, &one).is_some() && difference(&one, &other).is_none());
        assert_eq!(difference(&one, &accuracy(&[1.0, 0.0], "text")), None);
        assert_eq!(ExampleNoise::of_sum(&[(1.0, Some(&one)), (-1.0, None)]), None);
        let of = |sums: &[f64], labels: &[u32]| ExampleNoise::of(ExampleMetric::Loss, sums, labels, "text");
        let known = of(&[1.0, 2.0], &[2, 2]).unwrap();
        assert!(known.gives(0.75) && known.gives(0.750_1) && !known.gives(0.8) && !known.gives(f64::NAN));
        assert_eq!(of(&[1.0, 2.0], &[4]), None);
        assert_eq!(of(&[1.0, 2.0], &[0, 0]), None);
        assert_eq!(of(&[1.0], &[2]), None);
        assert_eq!(of(&[1.0, f64::NAN], &[2, 2]), None);
    }
}
