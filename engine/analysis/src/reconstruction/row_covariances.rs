use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use rayon::prelude::*;

use super::{
    EigenProjection, RestorationMap,
    choice::{row_map, visible_block},
};
use crate::ops::part;

/// Second moments of every query's row of scores, `Q_i = E[row_i row_iᵀ]` (Eigen analysis, equation 5), as samples come.
/// A sample is the map of scores of one head for one example: scaled, before mask and softmax, no mean subtracted.
#[derive(Clone, Debug)]
pub struct RowCovariances {
    tokens: usize,
    causal: bool,
    samples: u64,
    /// Sums over samples. `[query, key, key]`
    sums: Vec<f64>,
}

impl RowCovariances {
    /// Bytes that the sums for `tokens` positions take: n³ numbers.
    pub fn bytes(tokens: usize) -> u64 {
        (tokens as u64).saturating_pow(3).saturating_mul(8)
    }

    /// No samples yet. `causal`: a query sees the keys up to its own position alone, and the scores of the others do not
    /// count.
    pub fn new(tokens: usize, causal: bool) -> Self {
        Self { tokens, causal, samples: 0, sums: vec![0.0; tokens * tokens * tokens] }
    }

    /// Positions n.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Keys that a query sees: the first so many.
    pub fn visible(&self, query: usize) -> usize {
        if self.causal { (query + 1).min(self.tokens) } else { self.tokens }
    }

    /// Adds samples. `scores` `[samples, n, n]`, row by row.
    ///
    /// # Panics
    /// If they are no whole number of maps.
    pub fn add(&mut self, scores: &[f64]) {
        let (n, causal) = (self.tokens, self.causal);
        if n == 0 {
            return;
        }
        assert!(scores.len().is_multiple_of(n * n), "{} numbers are no maps of {n} by {n}", scores.len());
        let samples = scores.len() / (n * n);
        self.sums.par_chunks_mut(n * n).enumerate().for_each(|(query, sum)| {
            let visible = if causal { query + 1 } else { n };
            let rows = scores.chunks_exact(n * n).map(|map| part(map, query * n, visible));
            let rows: Vec<f64> = rows.flatten().copied().collect();
            let rows = MatRef::from_row_major_slice(&rows, samples, visible);
            let sum = MatMut::from_row_major_slice_mut(sum, n, n).submatrix_mut(0, 0, visible, visible);
            matmul(sum, Accum::Add, rows.transpose(), rows, 1.0, Par::Seq);
        });
        self.samples += samples as u64;
    }

    /// `Q_i` of one query, zero for keys that it does not see. `[n, n]`
    pub fn row(&self, query: usize) -> Vec<f64> {
        let (n, count) = (self.tokens, self.samples.max(1) as f64);
        part(&self.sums, query * n * n, n * n).iter().map(|sum| sum / count).collect()
    }

    /// `Q_i` of the keys that a query sees alone. `[visible, visible]`
    pub fn visible_row(&self, query: usize) -> Vec<f64> {
        visible_block(&self.row(query), self.tokens, self.visible(query))
    }

    /// Adds the samples of others of the same size.
    ///
    /// # Panics
    /// If they are those of other sizes.
    pub fn absorb(&mut self, other: &Self) {
        assert_eq!((self.tokens, self.causal), (other.tokens, other.causal), "row covariances of other sizes");
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
        self.samples += other.samples;
    }

    /// The mean square of a query's scores, summed over its keys: `Tr Q_i`.
    pub fn trace(&self, query: usize) -> f64 {
        let n = self.tokens;
        let sums = part(&self.sums, query * n * n, n * n);
        sums.iter().step_by(n + 1).sum::<f64>() / self.samples.max(1) as f64
    }

    /// What of it is left after a projection on orthonormal directions, one a row: `Tr(V Q_i Vᵀ)`. `basis` `[k, n]`
    ///
    /// # Panics
    /// If the basis is no whole number of rows.
    pub fn kept(&self, query: usize, basis: &[f64]) -> f64 {
        let n = self.tokens.max(1);
        assert!(basis.len().is_multiple_of(n), "a basis of {} numbers has no rows of {n}", basis.len());
        let row = self.row(query);
        let energy = |vector: &[f64]| -> f64 {
            let products = row.chunks(n).map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>());
            products.zip(vector).map(|(a, b)| a * b).sum()
        };
        basis.chunks(n).map(energy).sum()
    }

    /// Whether every sum is finite.
    pub fn is_finite(&self) -> bool {
        self.sums.par_iter().all(|sum| sum.is_finite())
    }

    /// For every query, `k` keys to compute (all, where it sees fewer) and the best map to the others that it sees.
    pub fn maps(&self, k: usize) -> Vec<RestorationMap> {
        let map = |query| row_map(&self.row(query), self.tokens, self.visible(query), k);
        (0..self.tokens).into_par_iter().map(map).collect()
    }

    /// For every query the top `k` eigenvectors of its row, one a row, zeros where it sees fewer keys. `[n, k, n]`; none
    /// if a sum is not finite.
    pub fn bases(&self, k: usize) -> Option<Vec<f64>> {
        let n = self.tokens;
        let basis = |query: usize| {
            let visible = self.visible(query);
            let block = visible_block(&self.row(query), n, visible);
            let found = EigenProjection::new(&block, visible, k.min(visible))?;
            let mut basis = vec![0.0; k * n];
            for (to, from) in basis.chunks_mut(n).zip(found.basis.chunks(visible.max(1))) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
            Some(basis)
        };
        let bases: Option<Vec<Vec<f64>>> = (0..n).into_par_iter().map(basis).collect();
        bases.map(|bases| bases.concat())
    }
}
