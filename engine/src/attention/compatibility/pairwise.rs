//! Pairwise attention: `Q U Qᵀ` with a matrix `U` for each head.
//!
//! "Does self-attention need separate weights in Transformers?", table 3. In cross-attention the keys are the same
//! map of the memory.
//!
//! # Initial weights
//! With `W` of variance `s²` and `U` of variance `u²`, `q_i U q_jᵀ` has mean zero and the variance
//! `u² s⁴ (d_k² |x_i|² |x_j|² + 2 d_k (x_i·x_j)²)`. With `u² = 1 / d_k` this is standard attention's for inputs that
//! are orthogonal, and at most `1 + 2 / d_k` times as much for others.

use candle_core::{Result, Tensor};

use super::{Family, Initial, LayerCoverage, LayerHeads, Loaded, Piece, scored::Scored};
use crate::{
    config::Pairwise,
    ops::{Affine, HeadProjections, attention_mix, split_heads},
};

impl Family for Pairwise {
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let (d, c, d_k) = (heads.width(), heads.computed(), heads.head_size);
        let mut pieces = Vec::new();
        if c > 0 {
            let initial = Initial::Normal { deviation: 1.0 / (d_k as f64).sqrt() };
            pieces.extend([
                Piece::map("query", d, c * d_k, true),
                Piece::tensor("pairwise", &[c, d_k, d_k], initial, true),
            ]);
        }
        pieces.push(Piece::map("value", d, heads.mixing_width(), true));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        Ok(HeadProjections::Pairwise {
            query: if heads.computed() > 0 { Some((loaded.map("query")?, loaded.tensor("pairwise")?)) } else { None },
            value: loaded.map("value")?,
        })
    }
}

/// `Q U Qᵀ`.
pub(super) fn score(
    query: Option<&(Affine, Tensor)>,
    value: &Affine,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let raw = match query {
        Some((query, u)) => {
            let c = heads.computed();
            let q = split_heads(&query.forward(x)?, c)?;
            let k = if x.id() == y.id() { q.clone() } else { split_heads(&query.forward(y)?, c)? };
            let (_, d_k, _) = u.dims3()?;
            let u = u.unsqueeze(0)?.broadcast_as((q.dim(0)?, c, d_k, d_k))?;
            Some(coverage.products(&attention_mix(&q, &u)?, &k)?)
        }
        None => None,
    };
    Ok(Scored { raw, values: split_heads(&value.forward(y)?, heads.attending())? })
}
