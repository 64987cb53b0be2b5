use candle_core::Tensor;

use crate::ops::Affine;

/// Where a head that attends has its map from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMap {
    /// It scores its own.
    Computed,
    /// It uses the map that another layer computed (Reuse Transformers, Algorithm 1), as it was before dropout.
    Borrowed {
        /// The layer that computed the map, from 0.
        layer: usize,
        /// Which of the heads that compute there, from 0.
        computed: usize,
    },
}

/// What makes queries, keys and values of the stream, a variant for each way to score a pair.
///
/// In all of them `c` heads of the layer compute a map and `h` attend (`c <= h`: the others borrow). Blocks of columns
/// stand in the order of the heads. Only what heads that compute need exists: without any, queries and keys are none.
/// `d_k` is the size of a head; scores are divided by its root in every variant.
#[derive(Clone, Debug)]
pub enum HeadProjections {
    /// `Q Kᵀ` where all heads compute, `[d, 3 h d_k]`: queries, keys and values side by side.
    Fused(Affine),
    /// `Q Kᵀ`; keys and values may be shared by heads (grouped-query attention, Ainslie et al., 2023).
    Separate {
        /// Queries `[d, c d_k]` and keys `[d, g d_k]`.
        scores: Option<[Affine; 2]>,
        /// Values `[d, g' d_k]`.
        value: Affine,
        /// Which heads share keys and values; none: no two.
        groups: Option<KeyValueGroups>,
    },
    /// `Q Qᵀ`.
    Symmetric {
        /// Queries, which are the keys too. `[d, c d_k]`
        query: Option<Affine>,
        /// Values `[d, h d_k]`.
        value: Affine,
    },
    /// `Q U Qᵀ`.
    Pairwise {
        /// Queries `[d, c d_k]`, and `U` of every head that computes `[c, d_k, d_k]`.
        query: Option<(Affine, Tensor)>,
        /// Values `[d, h d_k]`.
        value: Affine,
    },
    /// `S = x W_s + b_s` with `Q = S D_q`, `K = S D_k`, `V = S D_v`.
    SharedWeight {
        /// `W_s` and `b_s` `[d, h d_k]`.
        shared: Affine,
        /// `D_q` and `D_k` of the heads that compute. `[c d_k]`
        scores: Option<[Tensor; 2]>,
        /// `D_v` `[h d_k]`.
        value: Tensor,
    },
    /// `Q diag(m_i) Kᵀ + 1 (x v_i)ᵀ` with queries and keys that all heads share (Cordonnier et al., 2020).
    Collaborative {
        /// What scores a pair.
        scores: Option<CollaborativeScores>,
        /// Values `[d, h d_k]`.
        value: Affine,
    },
    /// `Q Kᵀ` where keys and values come from one narrow latent (`DeepSeek-V2`, 2024, without its rotary part).
    Latent {
        /// Queries `[d, c d_k]`, and from the latent to keys `[r, c d_k]`.
        scores: Option<[Affine; 2]>,
        /// The latent `[d, r]`.
        latent: Affine,
        /// From the latent to values `[r, h d_k]`.
        value: Affine,
    },
}

/// Which heads share keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValueGroups {
    /// For every head that computes: which block of keys.
    pub keys: Vec<usize>,
    /// For every head that attends: which block of values.
    pub values: Vec<usize>,
}

/// Shared queries and keys with a mixing row for every head.
#[derive(Clone, Debug)]
pub struct CollaborativeScores {
    /// `W~_Q` `[d, D_k]`, without a bias.
    pub query: Affine,
    /// `W~_K` `[d, D_k]`, without a bias.
    pub key: Affine,
    /// `M` `[c, D_k]`
    pub mixing: Tensor,
    /// The content biases `v_i`, a column each, without a bias: `[d, c]`.
    pub content: Affine,
}
