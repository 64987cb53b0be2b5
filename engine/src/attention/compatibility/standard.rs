//! Scaled dot-product attention with several heads.
//!
//! `Q = x W_q + b_q`, `K = y W_k + b_k`, `V = y W_v + b_v`; a head's scores are `Q Kᵀ / sqrt(d_k)`.
//! Vaswani et al., "Attention is all you need", 2017, section 3.2.

use candle_core::{Result, Tensor};

use super::{
    Family, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, products},
};
use crate::{
    config::{Biases, Standard},
    ops::{Affine, HeadProjections, split_heads},
};

/// Queries, keys and values as one module.
const JOINED: &str = "query_key_value";

impl Standard {
    /// Only GPT-2's own layer is saved in GPT-2's way.
    fn is_joined(&self, heads: &LayerHeads, joins: bool) -> bool {
        joins && heads.computes_all() && self.biases == Biases::All
    }
}

impl Family for Standard {
    fn pieces(&self, heads: &LayerHeads, joins: bool) -> Vec<Piece> {
        let (d, scoring, mixing) = (heads.width(), heads.scoring_width(), heads.mixing_width());
        if self.is_joined(heads, joins) {
            return vec![Piece::map(JOINED, d, 3 * d, true)];
        }
        let (others, key) = match self.biases {
            Biases::All => (true, true),
            Biases::WithoutKey => (true, false),
            Biases::None => (false, false),
        };
        let mut pieces = Vec::new();
        if scoring > 0 {
            pieces.extend([Piece::map("query", d, scoring, others), Piece::map("key", d, scoring, key)]);
        }
        pieces.push(Piece::map("value", d, mixing, others));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        if let Ok(all) = loaded.map(JOINED) {
            return Ok(HeadProjections::Fused(all));
        }
        Ok(HeadProjections::Separate {
            scores: if heads.computed() > 0 { Some([loaded.map("query")?, loaded.map("key")?]) } else { None },
            value: loaded.map("value")?,
            groups: None,
        })
    }

    fn has_output_bias(&self) -> bool {
        self.biases != Biases::None
    }
}

/// `Q Kᵀ`.
pub(super) fn score(
    scores: Option<&[Affine; 2]>,
    value: &Affine,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let raw = match scores {
        Some([query, key]) => Some(products(&query.forward(x)?, &key.forward(y)?, heads.computed(), coverage)?),
        None => None,
    };
    Ok(Scored { raw, values: split_heads(&value.forward(y)?, heads.attending())? })
}

/// The same with one matrix for the three, whose outputs stand side by side: queries, keys, values.
pub(super) fn score_joined(
    all: &Affine,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    // Parts of the weights, not of the output: their gradients are put together over d rows, not b t.
    let d = all.sizes()?.1 / 3;
    score(Some(&[all.outputs(0, d)?, all.outputs(d, d)?]), &all.outputs(2 * d, d)?, heads, coverage, x, y)
}
