use candle_core::{Result, Tensor};

use super::LayerCoverage;
use crate::ops::split_heads;

/// What a way to score gives for one layer.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// Scores of the heads that compute, neither scaled nor masked; none when no head does. `[b, c, n, m]`
    pub raw: Option<Tensor>,
    /// Values of the heads that attend. `[b, h, m, d_k]`
    pub values: Tensor,
}

/// `q kᵀ` of `heads` heads that stand side by side in the columns.
pub(super) fn products(q: &Tensor, k: &Tensor, heads: usize, coverage: &LayerCoverage) -> Result<Tensor> {
    coverage.products(&split_heads(q, heads)?, &split_heads(k, heads)?)
}

/// Some of the heads of `x`, which may be named more than once. `[b, h, n, d_k]` to `[b, places, n, d_k]`
pub(super) fn chosen(x: &Tensor, places: &[usize]) -> Result<Tensor> {
    let is_all = places.iter().copied().eq(0..x.dim(1)?);
    if is_all {
        return Ok(x.clone());
    }
    let heads = places.iter().map(|&place| x.narrow(1, place, 1)).collect::<Result<Vec<_>>>()?;
    Tensor::cat(&heads, 1)
}
