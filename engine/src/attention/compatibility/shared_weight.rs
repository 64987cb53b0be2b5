//! Shared-weight attention: one matrix for queries, keys and values, told apart by diagonals.
//!
//! `S = x W_s + b_s`; `Q = S D_q`, `K = S D_k`, `V = S D_v`; scores `Q Kᵀ / sqrt(d_k)`.
//! "Does self-attention need separate weights in Transformers?", equation 1.
//!
//! # Initial weights
//! With `W_s` of variance `s²` and diagonals of variance 1, `q_i·k_j = Σ_a D_q,a D_k,a S_ia S_ja` has mean zero and the
//! variance `d_k s⁴ (|x_i|² |x_j|² + 2 (x_i·x_j)²)`: standard attention's for inputs that are orthogonal, three times
//! as much for a token with itself. `D_q` and `D_k` are drawn rather than set to one: scores depend on their product
//! alone, so two equal diagonals would get equal gradients and stay equal for ever, and `Q Kᵀ` a Gram matrix. `D_v`
//! starts at one, which gives values of standard attention's variance.

use candle_core::{Result, Tensor};

use super::{
    Family, Initial, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, chosen},
};
use crate::{
    config::SharedWeight,
    ops::{Affine, HeadProjections, split_heads},
};

impl Family for SharedWeight {
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let (scoring, mixing) = (heads.scoring_width(), heads.mixing_width());
        let drawn = Initial::Normal { deviation: 1.0 };
        let mut pieces = vec![Piece::map("shared", heads.width(), mixing, true)];
        if scoring > 0 {
            pieces.extend([
                Piece::tensor("query_diagonal", &[scoring], drawn, false),
                Piece::tensor("key_diagonal", &[scoring], drawn, false),
            ]);
        }
        pieces.push(Piece::tensor("value_diagonal", &[mixing], Initial::Ones, false));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        Ok(HeadProjections::SharedWeight {
            shared: loaded.map("shared")?,
            scores: if heads.computed() > 0 {
                Some([loaded.tensor("query_diagonal")?, loaded.tensor("key_diagonal")?])
            } else {
                None
            },
            value: loaded.tensor("value_diagonal")?,
        })
    }
}

/// `(S_x D_q) (S_y D_k)ᵀ`.
pub(super) fn score(
    shared: &Affine,
    scores: Option<&[Tensor; 2]>,
    value: &Tensor,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let (c, h, d_k) = (heads.computed(), heads.attending(), heads.head_size);
    let of_y = split_heads(&shared.forward(y)?, h)?; // [b, h, m, d_k]
    let raw = match scores {
        Some([query, key]) => {
            let of_x = if x.id() == y.id() { of_y.clone() } else { split_heads(&shared.forward(x)?, h)? };
            let computing: Vec<usize> = heads.computing().collect();
            let scaled = |s: &Tensor, diagonal: &Tensor| {
                chosen(s, &computing)?.broadcast_mul(&diagonal.reshape((1, c, 1, d_k))?)
            };
            Some(coverage.products(&scaled(&of_x, query)?, &scaled(&of_y, key)?)?)
        }
        None => None,
    };
    Ok(Scored { raw, values: of_y.broadcast_mul(&value.reshape((1, h, 1, d_k))?)? })
}
