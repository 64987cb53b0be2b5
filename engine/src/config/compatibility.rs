use serde::{Deserialize, Serialize};

use super::{
    ModelConfig, Problem,
    range::{End, outside},
};

/// How a head scores a pair of positions. In all of them scores are divided by `sqrt(d / H)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Compatibility {
    /// `Q Kᵀ` with a query and a key projection of its own for each head.
    Standard(Standard),
    /// `Q Qᵀ`: queries are keys.
    Symmetric(Symmetric),
    /// `Q U Qᵀ` with a matrix `U` for each head.
    Pairwise(Pairwise),
    /// One matrix for queries, keys and values, told apart by diagonals.
    SharedWeight(SharedWeight),
    /// Queries and keys that all heads share, and a mixing row for each head.
    Collaborative(Collaborative),
    /// `Q Kᵀ` where several heads share keys and values (GQA; MQA with one).
    Grouped(Grouped),
    /// `Q Kᵀ` where keys and values come from one narrow latent (MLA).
    Latent(Latent),
}

impl Default for Compatibility {
    fn default() -> Self {
        Self::Standard(Standard::default())
    }
}

/// `Q Kᵀ`. (Vaswani et al., 2017)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Standard {
    /// Which of the four maps have a bias.
    pub biases: Biases,
}

/// Which maps of standard attention have a bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Biases {
    /// Queries, keys, values and the output.
    #[default]
    All,
    /// Queries, values and the output: a key bias adds the same to all scores of a row, which softmax ignores.
    WithoutKey,
    /// None of the four.
    None,
}

impl Biases {
    /// Every answer, for menus and conformance tests.
    pub const ALL: [Self; 3] = [Self::All, Self::WithoutKey, Self::None];
}

/// `Q Qᵀ`. Biases on queries, values and the output. (Shared-weight attention, table 3)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symmetric {}

/// `Q U Qᵀ`, U `[d_k, d_k]` for each head. Biases on queries, values and the output. (Shared-weight attention, table 3)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairwise {}

/// `S = x W_s + b_s`; `Q = S D_q`, `K = S D_k`, `V = S D_v` with diagonal matrices. Biases in S and on the output.
/// (Shared-weight attention, equation 1)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedWeight {}

/// `x W~_Q diag(m_i) W~_Kᵀ xᵀ + 1 (x v_i)ᵀ`. `W~_Q` and `W~_K` have no bias: the content bias v takes its place.
/// Biases on values and the output. (Cordonnier et al., 2020, equations 11 to 13)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Collaborative {
    /// Shared width `D_k` of queries and keys of all heads together, 1..=65,536; the model's width is as many as in
    /// standard attention.
    pub d_k: usize,
}

impl Default for Collaborative {
    fn default() -> Self {
        Self { d_k: 64 }
    }
}

/// Several heads share keys and values; head `h` belongs to group `h kv_heads / H`. Biases on all four maps.
/// (Ainslie et al., 2023; Shazeer, 2019)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grouped {
    /// Groups, each with a key and a value head; divides the number of heads.
    pub kv_heads: usize,
}

impl Default for Grouped {
    fn default() -> Self {
        Self { kv_heads: 1 }
    }
}

/// `C = x W_c`, `K = C W_k`, `V = C W_v + b_v`. Biases on queries, values and the output; one on C or K would change
/// nothing that `b_v` cannot. (`DeepSeek-V2`, 2024, without its rotary part)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Latent {
    /// Width of C, 1..=width.
    pub rank: usize,
}

impl Default for Latent {
    fn default() -> Self {
        Self { rank: 32 }
    }
}

impl Compatibility {
    /// The name in the file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Standard(_) => "standard",
            Self::Symmetric(_) => "symmetric",
            Self::Pairwise(_) => "pairwise",
            Self::SharedWeight(_) => "shared_weight",
            Self::Collaborative(_) => "collaborative",
            Self::Grouped(_) => "grouped",
            Self::Latent(_) => "latent",
        }
    }

    /// At least one of each kind, for menus and conformance tests; legal for a model of this size.
    pub fn examples(heads: usize, width: usize) -> Vec<Self> {
        let mut examples: Vec<Self> = Biases::ALL.map(|biases| Self::Standard(Standard { biases })).into();
        examples.extend([
            Self::Symmetric(Symmetric {}),
            Self::Pairwise(Pairwise {}),
            Self::SharedWeight(SharedWeight {}),
            Self::Collaborative(Collaborative { d_k: width.div_ceil(2) }),
            Self::Grouped(Grouped { kv_heads: 1 }),
        ]);
        let between = (2..heads).rev().find(|groups| heads.is_multiple_of(*groups));
        examples.extend(between.map(|kv_heads| Self::Grouped(Grouped { kv_heads })));
        examples.push(Self::Latent(Latent { rank: width.div_ceil(3) }));
        examples
    }

    /// Numbers outside of what the model allows.
    pub fn problems(&self, model: &ModelConfig) -> Vec<Problem> {
        let range = |field: &str, value: usize, most: usize| {
            let message = outside(value, End::At(1), End::At(most))?;
            Some(Problem::new(format!("attention.compatibility.{field}"), message))
        };
        match self {
            Self::Standard(_) | Self::Symmetric(_) | Self::Pairwise(_) | Self::SharedWeight(_) => None,
            Self::Collaborative(Collaborative { d_k }) => range("d_k", *d_k, 65_536),
            Self::Grouped(Grouped { kv_heads }) => range("kv_heads", *kv_heads, model.heads),
            Self::Latent(Latent { rank }) => range("rank", *rank, model.width),
        }
        .into_iter()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, from_toml, from_toml_with, to_toml};

    #[test]
    fn every_kind_is_written_and_read() {
        for compatibility in Compatibility::examples(4, 128) {
            let mut config = RunConfig::default();
            config.attention.compatibility = compatibility.clone();
            assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
            assert_eq!(config.validate(), vec![], "{compatibility:?}");
            let kind = format!("attention.compatibility.kind={}", compatibility.kind());
            let config = from_toml_with("format = 1", &[kind]).unwrap();
            assert_eq!(config.attention.compatibility.kind(), compatibility.kind());
        }
        let old = from_toml("format = 1\n[attention]\ncompatibility = { kind = \"standard\" }").unwrap();
        assert_eq!(old, RunConfig::default());
    }

    #[test]
    fn numbers_are_judged_against_the_model() {
        let model = ModelConfig { heads: 3, width: 15, ..ModelConfig::default() };
        for (compatibility, field) in [
            (Compatibility::Collaborative(Collaborative { d_k: 0 }), "d_k"),
            (Compatibility::Grouped(Grouped { kv_heads: 4 }), "kv_heads"),
            (Compatibility::Latent(Latent { rank: 16 }), "rank"),
        ] {
            let problems = compatibility.problems(&model);
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].field, format!("attention.compatibility.{field}"));
        }
    }
}
