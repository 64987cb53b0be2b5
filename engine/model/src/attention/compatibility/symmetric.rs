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

use super::{Family, LayerHeads};
use crate::{
    config::Symmetric,
    ops::{Piece, ScoreColumns, ScoringForm, Source},
};

impl Family for Symmetric {
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, size) = (heads.width(), heads.head_size);
        let mut form = ScoringForm::default();
        let query = Source::Map(form.add(Piece::map("query", d, heads.scoring_width(), true)));
        let value = Source::Map(form.add(Piece::map("value", d, heads.mixing_width(), true)));
        let scores = |number, _| ScoreColumns::of(query.block(number, size), query.block(number, size));
        form.heads = heads.read(scores, |place| value.block(place, size));
        form
    }
}
