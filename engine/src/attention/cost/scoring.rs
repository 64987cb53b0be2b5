//! What a layer needs from the stream to scores and values, for every way to score a pair.

use crate::{
    attention::{Cell, StackPlan},
    config::{Biases, Collaborative, Compatibility, Grouped, Latent, Standard},
};

/// Counts of one layer, for each token where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scoring {
    /// Trainable numbers of everything up to scores and values.
    pub parameters: u64,
    /// Multiply-accumulates of matrix products up to scores and values.
    pub projection_macs: u64,
    /// Multiply-accumulates of scores for each pair of positions, all heads together.
    pub score_macs: u64,
    /// The same where scores are restored from some: what else each computed one takes.
    pub partial_score_macs: u64,
    /// Numbers that single operations keep for the backward pass.
    pub kept: u64,
    /// Numbers that small operations keep besides: what is made of the projections.
    pub derived: u64,
    /// What the papers count differently: multiplications by diagonals count, those by content biases do not.
    pub published_macs: u64,
    /// Whether the output map has a bias.
    pub has_output_bias: bool,
}

/// Blocks of keys and of values that exist, for heads in groups.
fn groups(plan: &StackPlan, layer: usize, kv_heads: usize) -> [u64; 2] {
    let (mut keys, mut values) = (vec![false; kv_heads], vec![false; kv_heads]);
    for (head, cell) in plan.head_plan.row(layer).iter().enumerate() {
        let group = head * kv_heads / plan.heads.max(1);
        if let (Some(key), Some(value)) = (keys.get_mut(group), values.get_mut(group)) {
            *key |= matches!(cell, Cell::Compute);
            *value |= !matches!(cell, Cell::Skip);
        }
    }
    [keys, values].map(|blocks| blocks.into_iter().filter(|exists| *exists).count() as u64)
}

impl Scoring {
    /// Counts layer `layer`. Queries and keys exist for heads that compute, values for those that have a map.
    pub fn of(plan: &StackPlan, layer: usize) -> Self {
        let (d, size) = (plan.width as u64, plan.head_size as u64);
        let (c, h) = (plan.head_plan.computed(layer) as u64, plan.head_plan.live(layer) as u64);
        let computes = u64::from(c > 0);
        // Columns of scores and of values.
        let (cs, hs) = (c.saturating_mul(size), h.saturating_mul(size));
        let times = |a: u64, b: u64| a.saturating_mul(b);
        let from = |inputs: u64, outputs: u64, biases: u64| times(inputs, outputs).saturating_add(biases);
        if h == 0 {
            return Self::default();
        }
        let plain = |key_columns: u64, value_columns: u64, biases: u64| Self {
            parameters: from(d, cs + key_columns + value_columns, biases),
            projection_macs: times(d, cs + key_columns + value_columns),
            score_macs: cs,
            kept: cs + key_columns + value_columns,
            has_output_bias: true,
            ..Self::default()
        };
        match &plan.compatibility {
            Compatibility::Standard(Standard { biases }) => {
                let count = match biases {
                    Biases::All => 2 * cs + hs,
                    Biases::WithoutKey => cs + hs,
                    Biases::None => 0,
                };
                Self { has_output_bias: *biases != Biases::None, ..plain(cs, hs, count) }
            }
            Compatibility::Grouped(Grouped { kv_heads }) => {
                let [keys, values] = groups(plan, layer, *kv_heads).map(|blocks| times(blocks, size));
                plain(keys, values, cs + keys + values)
            }
            Compatibility::Symmetric(_) => plain(0, hs, cs + hs),
            Compatibility::Pairwise(_) => {
                let plain = plain(0, hs, cs + hs);
                Self {
                    parameters: plain.parameters.saturating_add(times(cs, size)),
                    projection_macs: plain.projection_macs.saturating_add(times(cs, size)),
                    kept: plain.kept + cs,
                    ..plain
                }
            }
            Compatibility::SharedWeight(_) => Self {
                parameters: from(d, hs, hs + 2 * cs + hs),
                projection_macs: times(d, hs),
                score_macs: cs,
                kept: hs,
                derived: 2 * cs + hs,
                published_macs: times(d, hs).saturating_add(2 * cs + hs),
                has_output_bias: true,
                ..Self::default()
            },
            Compatibility::Collaborative(Collaborative { d_k }) => {
                let shared = times(*d_k as u64, computes);
                let (mixing, content) = (times(c, shared), times(d, c));
                let macs = times(d, 2 * shared + hs);
                Self {
                    parameters: from(d, 2 * shared + hs, hs).saturating_add(mixing).saturating_add(content),
                    projection_macs: macs.saturating_add(content),
                    score_macs: mixing,
                    // The content bias is a column more.
                    partial_score_macs: c,
                    kept: 2 * shared + c + hs,
                    derived: mixing,
                    published_macs: macs.saturating_add(times(2, mixing)),
                    has_output_bias: true,
                }
            }
            Compatibility::Latent(Latent { rank }) => {
                let rank = *rank as u64;
                let (stream, up) = (cs + rank, cs + hs);
                Self {
                    parameters: from(d, stream, cs).saturating_add(from(rank, up, hs)),
                    projection_macs: times(d, stream).saturating_add(times(rank, up)),
                    score_macs: cs,
                    kept: stream + up,
                    has_output_bias: true,
                    ..Self::default()
                }
            }
        }
    }

    /// Multiply-accumulates up to scores and values as the papers count them, for each token.
    pub fn published(&self) -> u64 {
        if self.published_macs > 0 { self.published_macs } else { self.projection_macs }
    }
}
