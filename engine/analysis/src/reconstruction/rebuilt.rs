use serde::{Deserialize, Serialize};

use super::Reconstruction;
use crate::ops::{part, part_mut};

/// A map of one head on one example beside itself put together from k pairs of each query. Everything `[n, n]`, NaN where
/// a query does not see a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RebuiltMap {
    /// Positions n.
    pub tokens: usize,
    /// Pairs of each query, at most.
    pub k: usize,
    /// The scores, scaled, before the softmax.
    #[serde(with = "crate::text::floats")]
    pub scores: Vec<f32>,
    /// The softmax of each row of them.
    #[serde(with = "crate::text::floats")]
    pub map: Vec<f32>,
    /// The scores as they are restored.
    #[serde(with = "crate::text::floats")]
    pub rebuilt_scores: Vec<f32>,
    /// The softmax of these.
    #[serde(with = "crate::text::floats")]
    pub rebuilt_map: Vec<f32>,
    /// Squared error of the scores of this map as a share of their squares.
    pub score_error: f64,
    /// Total variation between the two probabilities of a query, `½ Σ_j |p_j - p̂_j|`, mean over queries: 0 = the same map.
    pub map_distance: f64,
    /// The largest of them.
    pub largest_distance: f64,
}

impl Reconstruction {
    /// Puts a map together from the first `k` pairs of each query, in the order of one of the scopes.
    ///
    /// `scores` `[m, m]` are those of a text of m tokens, as many as pairs were chosen for; fewer where queries are causal.
    ///
    /// # Errors
    /// In words: of another length, not finite, or nothing was kept to restore them.
    pub fn rebuild(&self, scope: usize, scores: &[f32], k: usize) -> Result<RebuiltMap, String> {
        let found = self.scopes.get(scope).ok_or("It has no such part.")?;
        let (n, m) = (self.tokens, scores.len().isqrt());
        if m * m != scores.len() || m > n || (m < n && !self.is_causal) {
            let most = if self.is_causal { "at most " } else { "" };
            return Err(format!("Its pairs were chosen for {most}{n} tokens, this text has {m}."));
        }
        if found.factors.is_empty() {
            return Err(
                "What restores maps was not kept: there was too much of it. Analyse shorter examples.".to_owned()
            );
        }
        // What was read from a store may not fit together.
        let misfit = || "What restores maps does not fit the model.".to_owned();
        if found.ranks.len() != n * n {
            return Err(misfit());
        }
        let mut rebuilt = RebuiltMap { tokens: m, k, ..RebuiltMap::default() };
        for field in [&mut rebuilt.scores, &mut rebuilt.map, &mut rebuilt.rebuilt_scores, &mut rebuilt.rebuilt_map] {
            *field = vec![f32::NAN; m * m];
        }
        let (mut squares, mut error, mut start) = (0.0, 0.0, 0);
        for query in 0..m {
            let order = found.order(query, n);
            let visible = order.len();
            let factor = found.factors.get(start..start + visible * (visible + 1) / 2);
            start += visible * (visible + 1) / 2;
            let row = query * m..query * m + visible;
            let (Some(factor), Some(truth)) = (factor, scores.get(row.clone())) else { return Err(misfit()) };
            if order.iter().any(|key| *key >= visible) {
                return Err(misfit());
            }
            if truth.iter().any(|score| !score.is_finite()) {
                return Err("Its scores are not finite. Choose an earlier checkpoint.".to_owned());
            }
            let restored = restore(factor, &order, truth, k);
            let (p, q) = (softmax(truth), softmax(&restored));
            let differences = truth.iter().zip(&restored).map(|(a, b)| f64::from(a - b).powi(2));
            error += differences.sum::<f64>();
            squares += truth.iter().map(|score| f64::from(*score).powi(2)).sum::<f64>();
            let distance = p.iter().zip(&q).map(|(p, q)| f64::from((p - q).abs())).sum::<f64>() / 2.0;
            rebuilt.map_distance += distance / m as f64;
            rebuilt.largest_distance = rebuilt.largest_distance.max(distance);
            for (field, values) in [
                (&mut rebuilt.scores, truth),
                (&mut rebuilt.map, &p),
                (&mut rebuilt.rebuilt_scores, &restored),
                (&mut rebuilt.rebuilt_map, &q),
            ] {
                part_mut(field, row.start, visible).copy_from_slice(values);
            }
        }
        rebuilt.score_error = if squares > 0.0 { error / squares } else { 0.0 };
        Ok(rebuilt)
    }
}

/// `â = L_P̄ (L_P⁻¹ a_P)`, which is `R a_P` with the R of equation 7, for P the first `k` of the order. `lower` is the
/// triangle of all of it, of which a column of zeros says nothing, and `row` has a number for every key.
fn restore(lower: &[f32], order: &[usize], row: &[f32], k: usize) -> Vec<f32> {
    let k = k.min(order.len());
    let line = |at: usize| part(lower, at * (at + 1) / 2, at + 1);
    let known = |line: &[f32], y: &[f64]| line.iter().zip(y).map(|(l, y)| f64::from(*l) * y).sum::<f64>();
    let mut y: Vec<f64> = Vec::with_capacity(k);
    let mut whole = row.to_vec();
    for (at, &key) in order.iter().enumerate() {
        let line = line(at);
        if at < k {
            let own = f64::from(line[at]);
            let rest = f64::from(row[key]) - known(line, &y);
            y.push(if own > 0.0 { rest / own } else { 0.0 });
        } else {
            whole[key] = known(line, &y) as f32;
        }
    }
    whole
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = row.iter().map(|score| f64::from(score - largest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}
