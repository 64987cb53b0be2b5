use serde::{Deserialize, Serialize};

use crate::config::{
    AttentionConfig, Compatibility, Coverage, Pairwise, SharedWeight, Symmetric, attention_words, counted,
};

/// What a model is to become.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Conversion {
    /// All heads share queries and keys. (Cordonnier et al., 2020, section 3.3)
    Collaborative(ToCollaborative),
    /// Heads borrow maps that are like their own. (Bhojanapalli et al., "Leveraging redundancy in attention with Reuse
    /// Transformers", 2021)
    Borrow(ToBorrow),
    /// Queries are keys too. (The family: Kowsher et al., "Does self-attention need separate weights in Transformers?", 2024,
    /// table 3)
    Symmetric(Symmetric),
    /// Queries are keys too, with a matrix between them. (The family: as before)
    Pairwise(Pairwise),
    /// Queries, keys and values have one matrix, told apart by diagonals. (The family: as before, equation 1)
    SharedWeight(SharedWeight),
    /// Several heads share keys and values. (Ainslie et al., "GQA", 2023, section 2.1)
    Grouped(ToGrouped),
    /// Not every pair is scored. (Bhojanapalli et al., "Eigen analysis of self-attention and its reconstruction from partial
    /// computation", 2021)
    Coverage(ToCoverage),
    /// Keys lose their biases, which add the same to all scores of a row: nothing is lost.
    WithoutKeyBiases(WithoutKeyBiases),
}

impl Conversion {
    /// The name of what the model becomes.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Collaborative(_) => "collaborative",
            Self::Borrow(_) => "borrow",
            Self::Symmetric(_) => OneMap::Symmetric.kind(),
            Self::Pairwise(_) => OneMap::Pairwise.kind(),
            Self::SharedWeight(_) => OneMap::SharedWeight.kind(),
            Self::Grouped(_) => "grouped",
            Self::Coverage(_) => "coverage",
            Self::WithoutKeyBiases(_) => "without_key_biases",
        }
    }

    /// In words, with its numbers: `collaborative, d_k 256, 1 random start, seed 1`.
    pub fn words(&self) -> String {
        match self {
            Self::Collaborative(to) => {
                let starts = if to.random_starts == 1 { "start" } else { "starts" };
                format!("collaborative, d_k {}, {} random {starts}, seed {}", to.d_k, to.random_starts, to.seed)
            }
            Self::Borrow(to) => {
                let merged =
                    if to.merges { ", queries and keys of lenders merged with those of their borrowers" } else { "" };
                format!("maps borrowed where they are at least {} alike{merged}", to.similarity)
            }
            Self::Symmetric(_) => "symmetric, queries that are keys too".to_owned(),
            Self::Pairwise(_) => "pairwise, queries that are keys too and a matrix between them".to_owned(),
            Self::SharedWeight(_) => "shared weight, one matrix for queries, keys and values".to_owned(),
            Self::Grouped(to) => {
                let heads = counted(to.kv_heads as u64, "head");
                format!("grouped, {heads} of keys and values, each the mean of its group")
            }
            Self::Coverage(to) => {
                attention_words(&AttentionConfig { coverage: to.coverage.clone(), ..AttentionConfig::default() })
            }
            Self::WithoutKeyBiases(_) => "without key biases".to_owned(),
        }
    }

    /// Whether it depends on what the model does with a text.
    pub const fn needs_text(&self) -> bool {
        match self {
            Self::Borrow(_) | Self::Coverage(_) => true,
            Self::Collaborative(_)
            | Self::Symmetric(_)
            | Self::Pairwise(_)
            | Self::SharedWeight(_)
            | Self::Grouped(_)
            | Self::WithoutKeyBiases(_) => false,
        }
    }
}

/// Attention whose queries and keys come from one map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneMap {
    /// `Q Qᵀ`
    Symmetric,
    /// `Q U Qᵀ`
    Pairwise,
    /// `S D_q D_k Sᵀ`, with values `S D_v`
    SharedWeight,
}

impl OneMap {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Symmetric, Self::Pairwise, Self::SharedWeight];

    /// As configs call it.
    pub fn kind(self) -> &'static str {
        self.compatibility().kind()
    }

    /// How a pair is scored then.
    pub const fn compatibility(self) -> Compatibility {
        match self {
            Self::Symmetric => Compatibility::Symmetric(Symmetric {}),
            Self::Pairwise => Compatibility::Pairwise(Pairwise {}),
            Self::SharedWeight => Compatibility::SharedWeight(SharedWeight {}),
        }
    }

    /// The conversion to it.
    pub const fn conversion(self) -> Conversion {
        match self {
            Self::Symmetric => Conversion::Symmetric(Symmetric {}),
            Self::Pairwise => Conversion::Pairwise(Pairwise {}),
            Self::SharedWeight => Conversion::SharedWeight(SharedWeight {}),
        }
    }
}

/// How standard attention becomes collaborative attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToCollaborative {
    /// Shared width D of queries and keys of all heads together, from 1 to the heads' number times their size, where nothing
    /// is lost.
    pub d_k: usize,
    /// Random beginnings of the search beside the one from singular vectors; the best is kept.
    pub random_starts: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// The most sweeps from each beginning.
    pub sweeps: usize,
    /// A search ends where ten sweeps make the error less by a smaller share than this.
    pub tolerance: f64,
}

impl Default for ToCollaborative {
    fn default() -> Self {
        Self { d_k: 64, random_starts: 1, seed: 1, sweeps: 1000, tolerance: 1e-4 }
    }
}

/// Which heads give up their own map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToBorrow {
    /// The least similarity (1 less the total-variation distance) of a borrowed map to the head's own, 0..=1.
    pub similarity: f64,
    /// Whether a lender gets the best single map for itself and its borrowers: the mean of their products `W_Q W_Kᵀ`, cut to
    /// the size of a head.
    pub merges: bool,
}

impl Default for ToBorrow {
    fn default() -> Self {
        Self { similarity: 0.9, merges: false }
    }
}

/// How many heads of keys and values there are to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToGrouped {
    /// Heads of keys and values; divides the heads.
    pub kv_heads: usize,
}

impl Default for ToGrouped {
    fn default() -> Self {
        Self { kv_heads: 1 }
    }
}

/// Which pairs are scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToCoverage {
    /// The answer; what it says about training has no meaning here.
    pub coverage: Coverage,
    /// Examples from whose scores pairs or directions are chosen.
    pub examples: usize,
}

/// Nothing is to be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutKeyBiases {}
