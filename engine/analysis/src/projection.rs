use serde::{Deserialize, Serialize};

use super::{AnalysisError, ScoreBatch, ScoreShape};
use crate::ops::{Matrix, MatrixMut, Real, parallel_product};

/// Shares of the energy of scores in a space that was found elsewhere: `Tr(Vᵀ C V) / Tr(C)` for V the first k directions,
/// k = 1, 2, ... (Eigen analysis, equation 4 and figure 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// Whose space it is, in words.
    pub onto: String,
    /// Of all layers and heads together.
    pub network: Vec<f64>,
    /// Of each layer; empty where no head scores.
    pub layers: Vec<Vec<f64>>,
}

/// Projections of scores on given directions, summed up example by example.
#[derive(Clone, Debug)]
pub struct ProjectionSum<T> {
    shape: ScoreShape,
    /// `[n², k]`
    basis: Vec<T>,
    directions: usize,
    /// For each layer, its energy and that in each direction.
    layers: Vec<(f64, Vec<f64>)>,
}

impl<T: Real> ProjectionSum<T> {
    /// Nothing yet. `basis` are maps of `n x n` of length 1, orthogonal to each other.
    ///
    /// # Errors
    /// If they are for other sequence lengths.
    pub fn new(shape: ScoreShape, basis: &[Vec<f32>]) -> Result<Self, AnalysisError> {
        let dimension = shape.tokens * shape.tokens;
        if basis.iter().any(|direction| direction.len() != dimension) {
            return Err(AnalysisError::Impossible(format!(
                "A space of maps of {} tokens says nothing of maps of {} tokens. Analyse both with the same number of \
                 tokens.",
                basis.first().map_or(0, |direction| direction.len().isqrt()),
                shape.tokens
            )));
        }
        let mut columns = vec![T::ZERO; dimension * basis.len()];
        for (k, direction) in basis.iter().enumerate() {
            for (place, value) in direction.iter().enumerate() {
                columns[place * basis.len() + k] = T::of(f64::from(*value));
            }
        }
        let layers = vec![(0.0, vec![0.0; basis.len()]); shape.computing.len()];
        Ok(Self { shape, basis: columns, directions: basis.len(), layers })
    }

    /// Adds examples.
    ///
    /// # Errors
    /// If the scores are not as many as they should be.
    pub fn add(&mut self, batch: &ScoreBatch<'_, T>) -> Result<(), AnalysisError> {
        batch.check(&self.shape)?;
        let n = self.shape.tokens;
        let (dimension, k) = (n * n, self.directions);
        for ((values, heads), layer) in batch.layers.iter().zip(&self.shape.computing).zip(&mut self.layers) {
            let rows = batch.examples * heads.len();
            let mut samples = values.to_vec();
            if self.shape.is_causal {
                for map in samples.chunks_exact_mut(dimension) {
                    for (query, row) in map.chunks_exact_mut(n).enumerate() {
                        row.iter_mut().skip(query + 1).for_each(|value| *value = T::ZERO);
                    }
                }
            }
            layer.0 += samples.iter().map(|value| value.as_f64().powi(2)).sum::<f64>();
            if rows == 0 || k == 0 {
                continue;
            }
            let mut projected = vec![T::ZERO; rows * k];
            let (maps, basis) =
                (Matrix::row_major(&samples, rows, dimension), Matrix::row_major(&self.basis, dimension, k));
            parallel_product(MatrixMut::new(&mut projected, rows, k), maps, basis, false);
            for row in projected.chunks_exact(k) {
                for (sum, value) in layer.1.iter_mut().zip(row) {
                    *sum += value.as_f64().powi(2);
                }
            }
        }
        Ok(())
    }

    /// The shares.
    pub fn finish(self, onto: String) -> Projection {
        let shares = |energy: f64, directions: &[f64]| -> Vec<f64> {
            if energy <= 0.0 {
                return Vec::new();
            }
            let running = directions.iter().scan(0.0, |sum, value| {
                *sum += value;
                Some(*sum / energy)
            });
            running.collect()
        };
        let mut all = (0.0, vec![0.0; self.directions]);
        for (energy, directions) in &self.layers {
            all.0 += energy;
            for (sum, value) in all.1.iter_mut().zip(directions) {
                *sum += value;
            }
        }
        let layers = self.layers.iter().map(|(energy, directions)| shares(*energy, directions)).collect();
        Projection { onto, network: shares(all.0, &all.1), layers }
    }
}
