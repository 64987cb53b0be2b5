//! Grouped-query attention: `Q Kᵀ`, where several heads share keys and values; with one group, multi-query attention.
//!
//! Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head checkpoints", 2023;
//! Shazeer, "Fast transformer decoding: one write-head is all you need", 2019.
//!
//! # Initial weights
//! As in standard attention: sharing keys changes no head's own variance.

use candle_core::{Result, Tensor};

use super::{
    Family, LayerCoverage, LayerHeads, Loaded, Piece,
    scored::{Scored, chosen},
};
use crate::{
    config::Grouped,
    ops::{Affine, HeadProjections, KeyValueGroups, split_heads},
};

impl Grouped {
    /// The groups in use: for keys by heads that compute, for values by heads that attend.
    fn used(&self, heads: &LayerHeads) -> [Vec<usize>; 2] {
        let group = |place: usize| heads.attending.get(place).map_or(0, |head| head * self.kv_heads / heads.heads);
        [heads.computing().map(group).collect(), (0..heads.attending()).map(group).collect()]
    }
}

/// How many different groups there are, and which of them, in their order, each head uses.
fn blocks(used: &[usize]) -> (usize, Vec<usize>) {
    let mut distinct = used.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let block = |group: &usize| distinct.binary_search(group).unwrap_or_default();
    (distinct.len(), used.iter().map(block).collect())
}

impl Family for Grouped {
    /// Groups of which no head computes have no keys, those of which no head attends no values.
    fn pieces(&self, heads: &LayerHeads, _: bool) -> Vec<Piece> {
        let d = heads.width();
        let [keys, values] = self.used(heads).map(|used| blocks(&used).0 * heads.head_size);
        let mut pieces = Vec::new();
        if keys > 0 {
            pieces.extend([Piece::map("query", d, heads.scoring_width(), true), Piece::map("key", d, keys, true)]);
        }
        pieces.push(Piece::map("value", d, values, true));
        pieces
    }

    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections> {
        let [keys, values] = self.used(heads).map(|used| blocks(&used).1);
        Ok(HeadProjections::Separate {
            scores: if keys.is_empty() { None } else { Some([loaded.map("query")?, loaded.map("key")?]) },
            value: loaded.map("value")?,
            groups: Some(KeyValueGroups { keys, values }),
        })
    }
}

/// `Q Kᵀ` with the keys of each head's group.
pub(super) fn score(
    scores: Option<&[Affine; 2]>,
    value: &Affine,
    groups: &KeyValueGroups,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    let of_group = |map: &Affine, groups: &[usize]| {
        chosen(&split_heads(&map.forward(y)?, map.sizes()?.1 / heads.head_size)?, groups)
    };
    let raw = match scores {
        Some([query, key]) => {
            let q = split_heads(&query.forward(x)?, heads.computed())?;
            Some(coverage.products(&q, &of_group(key, &groups.keys)?)?)
        }
        None => None,
    };
    Ok(Scored { raw, values: of_group(value, &groups.values)? })
}
