//! Grouped-query attention: `Q Kᵀ`, where several heads share keys and values; with one group, multi-query attention.
//!
//! Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head checkpoints", 2023;
//! Shazeer, "Fast transformer decoding: one write-head is all you need", 2019.
//!
//! # Initial weights
//! As in standard attention: sharing keys changes no head's own variance.

use super::{Family, LayerHeads};
use crate::{
    config::Grouped,
    ops::{Piece, ScoreColumns, ScoringForm, Source},
};

/// The groups that some heads belong to: how many there are, and which of them, in their order, is each head's.
pub(super) struct Groups {
    /// How many have a head.
    pub count: usize,
    /// For each head, the number of its group among these.
    pub of_heads: Vec<usize>,
}

impl Groups {
    /// Of the heads of a layer that stand in these places among those that attend, in order. Head `h` of the layer's
    /// `H` belongs to group `h groups / H`; groups without any of the heads do not count.
    pub fn of(heads: &LayerHeads, places: impl Iterator<Item = usize>, groups: usize) -> Self {
        let group = |place| heads.attending[place] * groups / heads.heads.max(1);
        let (mut of_heads, mut last, mut count) = (Vec::new(), None, 0);
        for group in places.map(group) {
            count += usize::from(last != Some(group));
            last = Some(group);
            of_heads.push(count - 1);
        }
        Self { count, of_heads }
    }

    /// The group of a head.
    pub fn group(&self, head: usize) -> usize {
        self.of_heads[head]
    }
}

impl Family for Grouped {
    /// Groups of which no head computes have no keys, those of which no head attends no values.
    fn form(&self, heads: &LayerHeads, _: bool) -> ScoringForm {
        let (d, size) = (heads.width(), heads.head_size);
        let keys = Groups::of(heads, heads.computing(), self.kv_heads);
        let values = Groups::of(heads, 0..heads.attending(), self.kv_heads);
        let mut form = ScoringForm::default();
        let query = Source::Map(form.add(Piece::map("query", d, heads.scoring_width(), true)));
        let key = Source::Map(form.add(Piece::map("key", d, keys.count * size, true)));
        let value = Source::Map(form.add(Piece::map("value", d, values.count * size, true)));
        let scores = |number, _| ScoreColumns::of(query.block(number, size), key.block(keys.group(number), size));
        form.heads = heads.read(scores, |place| value.block(values.group(place), size));
        form
    }
}
