use super::{RestorationMap, greedy};
use crate::ops::part;

/// Keys to compute for a query that sees the first `visible` of `n`, whose scores have covariance `c`: `k` of them, or
/// all that it sees. Where the greedy choice ends early the first keys not chosen yet follow, which then say nothing new.
pub(super) fn row_map(c: &[f64], n: usize, visible: usize, k: usize) -> RestorationMap {
    let mut residual = visible_block(c, n, visible);
    let mut chosen = greedy(&mut residual, visible, k).order;
    let rest: Vec<usize> = (0..visible).filter(|key| !chosen.contains(key)).collect();
    chosen.extend(rest.into_iter().take(k.min(visible).saturating_sub(chosen.len())));
    RestorationMap::optimal(c, n, visible, &chosen)
}

/// The covariance of the first `visible` entries alone.
///
/// # Panics
/// If `c` is not square or has fewer entries.
pub(super) fn visible_block(c: &[f64], n: usize, visible: usize) -> Vec<f64> {
    assert_eq!(c.len(), n * n, "a covariance of {n} entries has {} numbers", c.len());
    (0..visible).flat_map(|row| part(c, row * n, visible)).copied().collect()
}
