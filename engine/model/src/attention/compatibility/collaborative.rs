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

use super::{Family, LayerHeads};
use crate::{
    config::Collaborative,
    ops::{Derived, Initial, Piece, ScoreColumns, ScoringForm, Source},
};

impl Family for Collaborative {
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, c, size) = (heads.width(), heads.computed(), heads.head_size);
        let shared = if c > 0 { self.d_k } else { 0 };
        let initial = Initial::Normal { deviation: (size as f64 / self.d_k as f64).sqrt() };
        let mut form = ScoringForm::default();
        let of = form.add(Piece::map("query", d, shared, false));
        let key = Source::Map(form.add(Piece::map("key", d, shared, false)));
        let by = form.add(Piece::tensor("mixing", &[c, shared], initial, true));
        let content = Source::Map(form.add(Piece::map("content", d, c, false).starting(Initial::Zeros)));
        let value = Source::Map(form.add(Piece::map("value", d, heads.mixing_width(), true)));
        let query = form.derive(Derived::Mixed { of, by });
        let scores = |number, _| ScoreColumns {
            query: query.block(number, shared),
            key: key.block(0, shared),
            content: Some(content.block(number, 1)),
        };
        form.heads = heads.read(scores, |place| value.block(place, size));
        form
    }
}
