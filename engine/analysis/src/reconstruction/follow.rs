use rayon::prelude::*;

use super::curve::Errors;

/// Residual variance below this share of the largest variance counts as none, as in [`super::greedy()`].
const NOTHING: f64 = 1e-12;

/// Residual variance below this share of an entry's own variance is what rounding left: divided by, it makes any number.
const ROUNDING: f64 = 1e-10;

/// What comes of computing entries one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) errors: Errors,
    /// `C = L Lᵀ` of the entries in their order, the lower triangle row by row; columns of zeros for entries that follow
    /// from those before them.
    pub(super) lower: Vec<f32>,
}

/// Computes the entries of a vector in the order `order`, the others being restored from them by the map that is best for
/// covariance `c`, and measures the squared error after each: on `c` itself, and on the second moments `held_out` of
/// other samples, which the map was not made for. What is left of entry i is `e_i = a_i - R_i a_P`; one more entry p takes
/// `g e_p` from each, with `g = C_·p / C_pp` of the residual covariance, so that both moments change by outer products.
///
/// # Shapes
/// `c` and `held_out` `[n, n]`; `order` is a permutation of 0..n.
///
/// # Panics
/// If they are not.
pub(super) fn follow(c: &[f64], held_out: Option<&[f64]>, n: usize, order: &[usize], keeps_factor: bool) -> Followed {
    assert_eq!((c.len(), order.len()), (n * n, n), "covariance and order of {n} entries");
    assert!(held_out.is_none_or(|held_out| held_out.len() == n * n), "held-out moments of {n} entries");
    let mut c = c.to_vec();
    let mut h = held_out.map(<[f64]>::to_vec);
    let mut lower = if keeps_factor { vec![0.0_f32; n * (n + 1) / 2] } else { Vec::new() };
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(at, &entry)| place[entry] = at);
    let least = NOTHING * diagonal(&c, n).fold(0.0, f64::max);
    let floors: Vec<f64> = diagonal(&c, n).map(|variance| least.max(ROUNDING * variance)).collect();
    let mut errors = Errors { fitted: vec![trace(&c, n)], held_out: h.iter().map(|h| trace(h, n)).collect() };
    for (step, &pick) in order.iter().enumerate() {
        let pivot: Vec<f64> = c[pick * n..(pick + 1) * n].to_vec();
        let variance = pivot[pick];
        let says = variance > floors[pick];
        let gains: Vec<f64> = if says { pivot.iter().map(|value| value / variance).collect() } else { vec![0.0; n] };
        if keeps_factor && says {
            let root = variance.sqrt();
            for (entry, gain) in gains.iter().enumerate().filter(|(entry, _)| place[*entry] >= step) {
                let row = place[entry];
                lower[row * (row + 1) / 2 + step] = (gain * root) as f32;
            }
        }
        let still = |row: usize| place[row] > step;
        let rows = c.par_chunks_mut(n.max(1)).enumerate().with_min_len(1 + 4096 / n.max(1));
        rows.for_each(|(row, values)| {
            if still(row) {
                values.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= gains[row] * pivot);
                values[pick] = 0.0;
            } else {
                values.fill(0.0);
            }
        });
        errors.fitted.push(trace(&c, n));
        if let Some(h) = &mut h {
            let own: Vec<f64> = h[pick * n..(pick + 1) * n].to_vec();
            let energy = own[pick];
            let rest: Vec<f64> = own.iter().zip(&gains).map(|(own, gain)| own - energy * gain).collect();
            let rows = h.par_chunks_mut(n.max(1)).enumerate().with_min_len(1 + 4096 / n.max(1));
            rows.for_each(|(row, values)| {
                if still(row) {
                    let (gain, mine) = (gains[row], own[row]);
                    let both = rest.iter().zip(&gains);
                    values.iter_mut().zip(both).for_each(|(value, (rest, other))| *value -= gain * rest + mine * other);
                    values[pick] = 0.0;
                } else {
                    values.fill(0.0);
                }
            });
            errors.held_out.push(trace(h, n));
        }
    }
    Followed { errors, lower }
}

fn diagonal(c: &[f64], n: usize) -> impl Iterator<Item = f64> {
    c.iter().step_by(n + 1).copied()
}

fn trace(c: &[f64], n: usize) -> f64 {
    if n == 0 { 0.0 } else { diagonal(c, n).map(|variance| variance.max(0.0)).sum() }
}
