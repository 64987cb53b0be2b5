//! Pairwise attention: `Q U Qᵀ` with a matrix `U` for each head.
//!
//! "Does self-attention need separate weights in Transformers?", table 3. In cross-attention the keys are the same
//! map of the memory.
//!
//! # Initial weights
//! With `W` of variance `s²` and `U` of variance `u²`, `q_i U q_jᵀ` has mean zero and the variance
//! `u² s⁴ (d_k² |x_i|² |x_j|² + 2 d_k (x_i·x_j)²)`. With `u² = 1 / d_k` this is standard attention's for inputs that
//! are orthogonal, and at most `1 + 2 / d_k` times as much for others.

use super::{Family, LayerHeads};
use crate::{
    config::Pairwise,
    ops::{Derived, Initial, Piece, ScoreColumns, ScoringForm, Source},
};

impl Family for Pairwise {
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, size) = (heads.width(), heads.head_size);
        let initial = Initial::Normal { deviation: 1.0 / (size as f64).sqrt() };
        let mut form = ScoringForm::default();
        let of = form.add(Piece::map("query", d, heads.scoring_width(), true));
        let by = form.add(Piece::tensor("pairwise", &[heads.computed(), size, size], initial, true));
        let value = Source::Map(form.add(Piece::map("value", d, heads.mixing_width(), true)));
        let query = form.derive(Derived::Multiplied { of, by });
        let scores = |number, _| ScoreColumns::of(query.block(number, size), Source::Map(of).block(number, size));
        form.heads = heads.read(scores, |place| value.block(place, size));
        form
    }
}
