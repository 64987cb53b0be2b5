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

use super::{Family, LayerHeads};
use crate::{
    config::SharedWeight,
    ops::{Derived, Initial, Piece, ScoreColumns, ScoringForm},
};

impl Family for SharedWeight {
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (scoring, mixing, size) = (heads.scoring_width(), heads.mixing_width(), heads.head_size);
        let drawn = Initial::Normal { deviation: 1.0 };
        let mut form = ScoringForm::default();
        let of = form.add(Piece::map("shared", heads.width(), mixing, true));
        let query = form.add(Piece::tensor("query_diagonal", &[scoring], drawn, false));
        let key = form.add(Piece::tensor("key_diagonal", &[scoring], drawn, false));
        let value = form.add(Piece::tensor("value_diagonal", &[mixing], Initial::Ones, false));
        let computing: Vec<usize> = heads.computing().collect();
        let query = form.derive(Derived::Scaled { of, by: query, blocks: computing.clone() });
        let key = form.derive(Derived::Scaled { of, by: key, blocks: computing });
        let value = form.derive(Derived::Scaled { of, by: value, blocks: (0..heads.attending()).collect() });
        let scores = |number, _| ScoreColumns::of(query.block(number, size), key.block(number, size));
        form.heads = heads.read(scores, |place| value.block(place, size));
        form
    }
}
