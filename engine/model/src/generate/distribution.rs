use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use super::GenerateError;
use crate::{model::ModelError, ops::random::Stream};

/// A token with the probability that the model gives it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The token's id.
    pub token: u32,
    /// Its probability, 0..=1.
    pub probability: f64,
}

/// The distribution over tokens at one position.
pub(super) struct Distribution {
    logits: Vec<f64>,
}

impl Distribution {
    /// One distribution for each row of `logits` `[n, v]`.
    pub fn rows(logits: &Tensor) -> Result<Vec<Self>, GenerateError> {
        let rows = logits.to_dtype(DType::F64).and_then(|logits| logits.to_vec2()).map_err(ModelError::from)?;
        if rows.iter().flatten().any(|logit: &f64| !logit.is_finite()) {
            return Err(GenerateError::NotFinite);
        }
        Ok(rows.into_iter().map(|logits| Self { logits }).collect())
    }

    /// The `count` most probable tokens, most probable first; the smaller id where two are equal.
    pub fn best(&self, count: usize) -> Vec<Prediction> {
        let probabilities = softmax(&self.logits, 1.0);
        let mut all: Vec<Prediction> =
            (0..).zip(probabilities).map(|(token, probability)| Prediction { token, probability }).collect();
        all.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.token.cmp(&b.token)));
        all.truncate(count);
        all
    }

    /// Draws a token at a temperature from the `top_k` most probable ones; the most probable one at temperature 0.
    /// The probability that is given back is the model's own, at temperature 1 among all tokens.
    pub fn draw(&self, temperature: f64, top_k: Option<usize>, stream: &mut Stream) -> Option<Prediction> {
        let candidates = self.best(match top_k {
            _ if temperature == 0.0 => 1,
            Some(k) => k,
            None => self.logits.len(),
        });
        if temperature == 0.0 {
            return candidates.first().copied();
        }
        let logits: Vec<f64> = candidates.iter().map(|candidate| self.logits[candidate.token as usize]).collect();
        let mut left = stream.uniform();
        for (candidate, probability) in candidates.iter().zip(softmax(&logits, temperature)) {
            left -= probability;
            if left < 0.0 {
                return Some(*candidate);
            }
        }
        // Rounding left a little over.
        candidates.last().copied()
    }
}

/// `exp(x / temperature)`, scaled to sum to 1.
fn softmax(logits: &[f64], temperature: f64) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| ((logit - largest) / temperature).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::ops::random::Purpose;

    fn distribution(probabilities: &[f64]) -> Distribution {
        let logits: Vec<f64> = probabilities.iter().map(|p| p.ln() + 3.0).collect();
        let n = logits.len();
        Distribution::rows(&Tensor::from_vec(logits, (1, n), &Device::Cpu).unwrap()).unwrap().remove(0)
    }

    #[test]
    fn the_best_come_first_and_add_up() {
        let best = distribution(&[0.1, 0.4, 0.1, 0.4]).best(9);
        assert_eq!(best.iter().map(|p| p.token).collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert!((best.iter().map(|p| p.probability).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((best[0].probability - 0.4).abs() < 1e-12);
    }

    #[test]
    fn draws_follow_temperature_and_top_k() {
        let distribution = distribution(&[0.5, 0.2, 0.3]);
        let mut stream = Stream::new(1, Purpose::Test, 0);
        let mut shares = |temperature: f64, top_k| {
            let mut counts = [0.0; 3];
            for _ in 0..20_000 {
                counts[distribution.draw(temperature, top_k, &mut stream).unwrap().token as usize] += 1.0 / 20_000.0;
            }
            counts
        };
        // Four deviations of a share measured on 20,000 draws.
        let near = |measured: [f64; 3], expected: [f64; 3]| {
            measured.iter().zip(expected).for_each(|(m, e)| assert!((m - e).abs() < 0.015, "{measured:?}"));
        };
        near(shares(1.0, None), [0.5, 0.2, 0.3]);
        near(shares(1.0, Some(2)), [0.625, 0.0, 0.375]);
        near(shares(0.5, None), [0.25 / 0.38, 0.04 / 0.38, 0.09 / 0.38]);
        near(shares(0.0, None), [1.0, 0.0, 0.0]);
        near(shares(1.0, Some(1)), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        let logits = Tensor::new(&[[0.0, f64::NAN]], &Device::Cpu).unwrap();
        assert_eq!(Distribution::rows(&logits).err(), Some(GenerateError::NotFinite));
    }
}
