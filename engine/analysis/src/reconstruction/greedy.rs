use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ops::part;

/// Residual variance below this share of the largest variance counts as none.
const NOTHING: f64 = 1e-12;

/// Entries of a vector in the order in which they are best computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Greedy {
    /// The entries, the most informative first.
    pub order: Vec<usize>,
    /// Mean squared error of the others, summed over them, after 0, 1, ... picks: one more than there are picks.
    pub residual: Vec<f64>,
}

/// Chooses up to `most` entries of a vector with covariance `c`, each the one that takes away the most variance of all
/// that are left (Eigen analysis, equation 9):
///
/// `argmax_i sum_j C_ij² / C_ii` over the residual covariance C, i itself included in the sum; then
/// `C -= C_·i C_i· / C_ii`. Ties go to the smallest index. Ends early when nothing is left to learn: entries whose
/// residual variance is at most 1e-12 of the largest original one are never chosen.
///
/// # Shapes
/// `c` `[n, n]`, symmetric, row by row; it becomes the residual covariance, zero in the rows and columns of the picks.
///
/// # Panics
/// If `c` is not square.
pub fn greedy(c: &mut [f64], n: usize, most: usize) -> Greedy {
    assert_eq!(c.len(), n * n, "a covariance of {n} entries has {} numbers", c.len());
    let diagonal = |c: &[f64]| c.iter().step_by(n + 1).copied().collect::<Vec<f64>>();
    let trace = |c: &[f64]| diagonal(c).into_iter().map(|variance| variance.max(0.0)).sum::<f64>();
    let mut found = Greedy { order: Vec::new(), residual: vec![if n == 0 { 0.0 } else { trace(c) }] };
    if n == 0 {
        return found;
    }
    let floor = NOTHING * diagonal(c).into_iter().fold(0.0, f64::max);
    let mut energies: Vec<f64> = c.par_chunks(n).map(sum_of_squares).collect();
    while found.order.len() < most.min(n) {
        let mut best: Option<(usize, f64)> = None;
        for (entry, (variance, energy)) in diagonal(c).into_iter().zip(&energies).enumerate() {
            // A picked entry has no variance left; neither NaN is ever chosen.
            if variance > floor && best.is_none_or(|(_, gain)| energy / variance > gain) {
                best = Some((entry, energy / variance));
            }
        }
        let Some((pick, _)) = best else { break };
        let pivot: Vec<f64> = part(c, pick * n, n).to_vec();
        let variance = pivot[pick];
        let rows = c.par_chunks_mut(n).zip(energies.par_iter_mut()).enumerate();
        rows.with_min_len(1 + 4096 / n).for_each(|(row, (values, energy))| {
            let factor = pivot[row] / variance;
            if row == pick {
                values.fill(0.0);
            } else {
                for (value, pivot) in values.iter_mut().zip(&pivot) {
                    *value -= factor * pivot;
                }
                values[pick] = 0.0;
            }
            *energy = sum_of_squares(values);
        });
        found.order.push(pick);
        found.residual.push(trace(c));
    }
    found
}

/// In four lanes, so that it is fast and the same on every run.
fn sum_of_squares(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let blocks = values.chunks_exact(4);
    let rest: f64 = blocks.remainder().iter().map(|value| value * value).sum();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += value * value;
        }
    }
    lanes.iter().sum::<f64>() + rest
}
