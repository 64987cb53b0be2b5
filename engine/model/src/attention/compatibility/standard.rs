//! Scaled dot-product attention with several heads.
//!
//! `Q = x W_q + b_q`, `K = y W_k + b_k`, `V = y W_v + b_v`; a head's scores are `Q Kᵀ / sqrt(d_k)`.
//! Vaswani et al., "Attention is all you need", 2017, section 3.2.

use super::{Family, LayerHeads};
use crate::{
    config::{Biases, Standard},
    ops::{Piece, ScoreColumns, ScoringForm, Source},
};

/// Queries, keys and values as one module.
const JOINED: &str = "query_key_value";

impl Family for Standard {
    fn form(&self, heads: &LayerHeads, joins: bool) -> ScoringForm {
        let (d, size, c, h) = (heads.width(), heads.head_size, heads.computed(), heads.attending());
        let (others, key) = match self.biases {
            Biases::All => (true, true),
            Biases::WithoutKey => (true, false),
            Biases::None => (false, false),
        };
        let mut form = ScoringForm { lacks_output_bias: self.biases == Biases::None, ..ScoringForm::default() };
        // Only GPT-2's own layer is saved in GPT-2's way.
        let [query, key, value] = if joins && heads.computes_all() && self.biases == Biases::All {
            let all = Source::Map(form.add(Piece::map(JOINED, d, 3 * d, true)));
            [(all, 0), (all, h), (all, 2 * h)]
        } else {
            let scoring = c * size;
            let query = form.add(Piece::map("query", d, scoring, others));
            let key = form.add(Piece::map("key", d, scoring, key));
            let value = form.add(Piece::map("value", d, h * size, others));
            [query, key, value].map(|map| (Source::Map(map), 0))
        };
        let block = |(of, first): (Source, usize), index| of.block(first + index, size);
        let scores = |number, _| ScoreColumns::of(block(query, number), block(key, number));
        form.heads = heads.read(scores, |place| block(value, place));
        form
    }
}
