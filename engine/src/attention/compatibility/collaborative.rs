//! Collaborative attention: all heads share queries and keys, and each weighs their columns its own way.
//!
//! Scores of head i: `(x W~_Q diag(m_i) W~_Kᵀ yᵀ + 1 (y v_i)ᵀ) / sqrt(d_k)`; values as in standard attention.
//! Cordonnier, Loukas, Jaggi, "Multi-head attention: collaborate instead of concatenate", 2020, equations 11 to 13.
//! The scale is that of the original heads, whatever the shared width `D`.
//!
//! # Initial weights
//! With `W~_Q` and `W~_K` of variance `s²` and `M` of variance `μ²`, a score has mean zero and the variance
//! `D μ² s⁴ |x|² |y|²`: standard attention's for `μ² = d_k / D`. (The mixing matrix that makes this layer standard
//! attention, a row of ones in the columns of its own head, has that mean square too.) The content biases start at
//! zero, as the query biases do that they stand for.

use candle_core::{Result, Tensor};

use super::{
    Family, Initial, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, Scores},
};
use crate::{
    config::Collaborative,
    ops::{Affine, CollaborativeScores, HeadProjections, split_heads},
};

impl Family for Collaborative {
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let (d, c) = (heads.width(), heads.computed());
        let mut pieces = Vec::new();
        if c > 0 {
            let initial = Initial::Normal { deviation: (heads.head_size as f64 / self.d_k as f64).sqrt() };
            pieces.extend([
                Piece::map("query", d, self.d_k, false),
                Piece::map("key", d, self.d_k, false),
                Piece::tensor("mixing", &[c, self.d_k], initial, true),
                Piece::map("content", d, c, false).starting(Initial::Zeros),
            ]);
        }
        pieces.push(Piece::map("value", d, heads.mixing_width(), true));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        let scores = if heads.computed() > 0 {
            Some(CollaborativeScores {
                query: loaded.map("query")?,
                key: loaded.map("key")?,
                mixing: loaded.tensor("mixing")?,
                content: loaded.map("content")?,
            })
        } else {
            None
        };
        Ok(HeadProjections::Collaborative { scores, value: loaded.map("value")? })
    }
}

/// `Q diag(m_i) Kᵀ + 1 (y v_i)ᵀ`.
pub(super) fn score(
    scores: Option<&CollaborativeScores>,
    value: &Affine,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let raw = match scores {
        Some(CollaborativeScores { query, key, mixing, content }) => {
            let (c, width) = mixing.dims2()?;
            let q = query.forward(x)?.unsqueeze(1)?; // [b, 1, n, D]
            let q = q.broadcast_mul(&mixing.reshape((1, c, 1, width))?)?; // [b, c, n, D]
            let k = key.forward(y)?.unsqueeze(1)?; // [b, 1, m, D]
            let (b, _, m, _) = k.dims4()?;
            let k = k.broadcast_as((b, c, m, width))?;
            let content = content.forward(y)?.transpose(1, 2)?; // [b, c, m]
            let scores = Scores::Products { q, k, content: Some(content) };
            // Restored scores come from whole ones: the content is a column more.
            match if coverage.is_partial() { scores.clone().factors()? } else { None } {
                Some([q, k]) => Some(coverage.products(&q, &k)?),
                None => Some(scores),
            }
        }
        None => None,
    };
    Ok(Scored { raw, values: split_heads(&value.forward(y)?, heads.attending())? })
}
