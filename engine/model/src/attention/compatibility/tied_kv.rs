//! Shared keys and values: `Q Kᵀ` as in standard attention, and what a head mixes are the keys themselves.
//!
//! `Q = x W_q + b_q`, `K = V = y W_kv + b_kv`: one map fewer, and a cache keeps half as much of each token. With
//! `kv_heads` several heads share one `K = V`, as in grouped-query attention. The bias is there for the values: to scores
//! it adds the same number along a row, which softmax ignores.
//!
//! # Initial weights
//! Queries and keys are drawn apart, each with the `s²` of standard attention, so that scores have its mean and variance;
//! values are the keys and have a standard value's variance, `s² |y|²`. They are not independent of the scores: what a
//! head mixes for a query x leans towards x itself. For fixed x the mean over keys of `(q·k) k` is `s² |y|² q`, but `q` is
//! drawn apart from the output map, so that the mean of what reaches the stream stays zero.

use super::{Family, LayerHeads, grouped::Groups};
use crate::{
    config::TiedKv,
    ops::{Piece, ScoreColumns, ScoringForm, Source},
};

impl Family for TiedKv {
    /// Groups of which no head attends have neither keys nor values; one whose heads all borrow their maps has values.
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, size) = (heads.width(), heads.head_size);
        let groups = Groups::of(heads, 0..heads.attending(), self.kv_heads.unwrap_or(heads.heads));
        let mut form = ScoringForm::default();
        let query = Source::Map(form.add(Piece::map("query", d, heads.scoring_width(), true)));
        let both = Source::Map(form.add(Piece::map("key_value", d, groups.count * size, true)));
        let of_head = |place| both.block(groups.group(place), size);
        form.heads = heads.read(|number, place| ScoreColumns::of(query.block(number, size), of_head(place)), of_head);
        form
    }
}
