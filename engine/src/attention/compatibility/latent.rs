//! Latent attention: keys and values come from one narrow latent, `C = y W_c`, `K = C W_k`, `V = C W_v + b_v`.
//!
//! `DeepSeek-V2` (2024), section 2.1, without its rotary part and its low-rank queries. While generating, `W_k` can be
//! absorbed into the queries and `W_v` into the output map, so that the latent alone is kept.
//!
//! # Initial weights
//! With `W_c` of variance `s²` a number of `C` has the variance `s² |y|²`; with `W_k` of variance `1 / r` a key then has
//! it too, `r · (1 / r) · s² |y|²`, which is a standard key's. The same holds for values.

use candle_core::{Result, Tensor};

use super::{
    Family, Initial, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, products},
};
use crate::{
    config::Latent,
    ops::{Affine, HeadProjections, split_heads},
};

impl Family for Latent {
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let (d, scoring, mixing) = (heads.width(), heads.scoring_width(), heads.mixing_width());
        let from_latent = Initial::Normal { deviation: 1.0 / (self.rank as f64).sqrt() };
        let mut pieces = Vec::new();
        if scoring > 0 {
            pieces.push(Piece::map("query", d, scoring, true));
        }
        pieces.push(Piece::map("latent", d, self.rank, false));
        if scoring > 0 {
            pieces.push(Piece::map("key", self.rank, scoring, false).starting(from_latent));
        }
        pieces.push(Piece::map("value", self.rank, mixing, true).starting(from_latent));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        Ok(HeadProjections::Latent {
            scores: if heads.computed() > 0 { Some([loaded.map("query")?, loaded.map("key")?]) } else { None },
            latent: loaded.map("latent")?,
            value: loaded.map("value")?,
        })
    }
}

/// `Q (C W_k)ᵀ`.
pub(super) fn score(
    scores: Option<&[Affine; 2]>,
    [latent, value]: [&Affine; 2],
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let c = latent.forward(y)?; // [b, m, r]
    let raw = match scores {
        Some([query, key]) => Some(products(&query.forward(x)?, &key.forward(&c)?, heads.computed(), coverage)?),
        None => None,
    };
    Ok(Scored { raw, values: split_heads(&value.forward(&c)?, heads.attending())? })
}
