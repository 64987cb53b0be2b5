use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use super::{WholeCurves, curve::ErrorSum, vector::VectorErrors};
use crate::AnalysisError;

/// The longest sequences whose whole maps are chosen from: the work grows with the sixth power of the tokens.
const MOST_TOKENS: usize = 48;

/// Matrices of all pairs by all pairs that are in memory at once.
const MATRICES: u64 = 8;

/// Second moments of whole maps as examples come, hidden pairs left out.
#[derive(Clone, Debug)]
pub(super) struct WholeSum {
    tokens: usize,
    /// Places of the pairs in a map.
    pairs: Vec<usize>,
    samples: [u64; 2],
    /// `[pairs, pairs]` of those that pairs are chosen from, and of those held out.
    sums: [Vec<f64>; 2],
}

impl WholeSum {
    /// Nothing yet, or in words why whole maps of this size are not analysed.
    pub(super) fn new(tokens: usize, is_causal: bool, free: Option<u64>) -> Result<Self, String> {
        let visible = |query: usize| if is_causal { query + 1 } else { tokens };
        let count: usize = (0..tokens).map(visible).sum();
        let needed = (count as u64).saturating_pow(2).saturating_mul(8 * MATRICES);
        let is_too_much = free.is_some_and(|free| needed > free);
        if tokens > MOST_TOKENS || is_too_much {
            return Err(format!(
                "Pairs are not chosen among those of whole maps: {tokens} tokens have {count} pairs, which needs {} MiB and \
                 steps in the cube of the pairs. It is done for up to {MOST_TOKENS} tokens where memory allows; by rows, for \
                 every length.",
                (needed >> 20).max(1)
            ));
        }
        let pairs: Vec<usize> =
            (0..tokens).flat_map(|query| (0..visible(query)).map(move |key| query * tokens + key)).collect();
        let nothing = vec![0.0; count * count];
        Ok(Self { tokens, pairs, samples: [0; 2], sums: [nothing.clone(), nothing] })
    }

    /// Pairs that there are.
    pub(super) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Adds maps. `[samples, n, n]`
    pub(super) fn add(&mut self, maps: &[f64], is_held_out: bool) {
        let (size, count) = (self.tokens * self.tokens, self.pairs.len());
        if count == 0 {
            return;
        }
        let seen: Vec<f64> = maps.chunks_exact(size).flat_map(|map| self.pairs.iter().map(|&pair| map[pair])).collect();
        let samples = seen.len() / count;
        let rows = MatRef::from_row_major_slice(&seen, samples, count);
        let half = usize::from(is_held_out);
        let sum = MatMut::from_row_major_slice_mut(&mut self.sums[half], count, count);
        matmul(sum, Accum::Add, rows.transpose(), rows, 1.0, Par::rayon(0));
        self.samples[half] += samples as u64;
    }

    /// What was found.
    pub(super) fn finish(self, flops: Vec<f64>, should_stop: &dyn Fn() -> bool) -> Result<WholeCurves, AnalysisError> {
        if should_stop() {
            return Err(AnalysisError::Stopped);
        }
        let (size, count) = (self.tokens * self.tokens, self.pairs.len());
        let [samples, held_out_samples] = self.samples;
        let [mut fitted, mut held_out] = self.sums;
        for (sums, samples) in [(&mut fitted, samples), (&mut held_out, held_out_samples)] {
            for sum in sums {
                *sum /= samples.max(1) as f64;
            }
        }
        let has_held_out = held_out_samples > 0;
        let other = has_held_out.then_some(held_out.as_slice());
        let errors = VectorErrors::new(&fitted, other, count, 0, false).ok_or(AnalysisError::Eigenvalues)?;
        let curve = |errors| {
            let mut sum = ErrorSum::new(count, has_held_out);
            sum.add(errors);
            sum.shares(samples)
        };
        let mut ranks = vec![-1.0; size];
        for (rank, entry) in errors.order.iter().enumerate() {
            ranks[self.pairs[*entry]] = rank as f32;
        }
        Ok(WholeCurves {
            pairs: count,
            samples,
            held_out_samples,
            greedy: curve(&errors.greedy),
            eigen: curve(&errors.eigen),
            random: curve(&errors.random),
            flops,
            ranks,
        })
    }
}
