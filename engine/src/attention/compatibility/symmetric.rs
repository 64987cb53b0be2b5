//! Symmetric attention: `Q Qᵀ`, a query is the key too.
//!
//! "Does self-attention need separate weights in Transformers?", table 3. In cross-attention the keys are the same
//! map of the memory.
//!
//! # Initial weights
//! `q_i·q_j` with one `W` of variance `s²` has the mean `d_k s² x_i·x_j` and the variance
//! `d_k s⁴ (|x_i|² |x_j|² + (x_i·x_j)²)`. For inputs that are orthogonal, as different tokens nearly are at the start,
//! this is standard attention's, with the same `s`. A token with itself has a score that is not zero on average,
//! `d_k s² |x|²`, and twice the variance: no choice of `s` avoids that.

use candle_core::{Result, Tensor};

use super::{
    Family, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, products},
};
use crate::{
    config::Symmetric,
    ops::{Affine, HeadProjections, split_heads},
};

impl Family for Symmetric {
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let (d, scoring) = (heads.width(), heads.scoring_width());
        let mut pieces = Vec::new();
        if scoring > 0 {
            pieces.push(Piece::map("query", d, scoring, true));
        }
        pieces.push(Piece::map("value", d, heads.mixing_width(), true));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        Ok(HeadProjections::Symmetric {
            query: if heads.computed() > 0 { Some(loaded.map("query")?) } else { None },
            value: loaded.map("value")?,
        })
    }
}

/// `Q Qᵀ`.
pub(super) fn score(
    query: Option<&Affine>,
    value: &Affine,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let raw = match query {
        Some(query) => {
            let q = query.forward(x)?;
            let k = if x.id() == y.id() { q.clone() } else { query.forward(y)? };
            Some(products(&q, &k, heads.computed(), coverage)?)
        }
        None => None,
    };
    Ok(Scored { raw, values: split_heads(&value.forward(y)?, heads.attending())? })
}
