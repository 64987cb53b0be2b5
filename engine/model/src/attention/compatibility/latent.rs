//! Latent attention: keys and values come from one narrow latent, `C = y W_c`, `K = C W_k`, `V = C W_v + b_v`.
//!
//! `DeepSeek-V2` (2024), section 2.1, without its rotary part and its low-rank queries. While generating, `W_k` can be
//! absorbed into the queries and `W_v` into the output map, so that the latent alone is kept.
//!
//! # Initial weights
//! With `W_c` of variance `s²` a number of `C` has the variance `s² |y|²`; with `W_k` of variance `1 / r` a key then has
//! it too, `r · (1 / r) · s² |y|²`, which is a standard key's. The same holds for values.

use super::{Family, LayerHeads};
use crate::{
    config::Latent,
    ops::{Derived, Initial, Piece, ScoreColumns, ScoringForm, Source},
};

impl Family for Latent {
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, scoring, size) = (heads.width(), heads.scoring_width(), heads.head_size);
        let from_latent = Initial::Normal { deviation: 1.0 / (self.rank as f64).sqrt() };
        let mut form = ScoringForm::default();
        let query = Source::Map(form.add(Piece::map("query", d, scoring, true)));
        let of = form.add(Piece::map("latent", d, self.rank, false));
        let key = form.add(Piece::map("key", self.rank, scoring, false).starting(from_latent));
        let value = form.add(Piece::map("value", self.rank, heads.mixing_width(), true).starting(from_latent));
        let key = form.derive(Derived::Mapped { of, map: key });
        let value = form.derive(Derived::Mapped { of, map: value });
        let scores = |number, _| ScoreColumns::of(query.block(number, size), key.block(number, size));
        form.heads = heads.read(scores, |place| value.block(place, size));
        form
    }
}
