use serde::{Deserialize, Serialize};

use super::{
    About, ModelConfig, Number, NumberValue, Problem,
    field_spec::{Choice, FieldSpec},
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
    /// `Q Kᵀ` where keys are values too.
    TiedKv(TiedKv),
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

/// `Q Kᵀ` with `V = K`. Biases on queries, on keys, which are the values, and on the output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TiedKv {
    /// Groups, each with one head of keys and values, as in [`Grouped`]; none: as many as heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<usize>,
}

impl Compatibility {
    /// Names of the kinds.
    const NAMES: [Choice; 8] = [
        Self::Standard(Standard { biases: Biases::All }).about().choice(),
        Self::Symmetric(Symmetric {}).about().choice(),
        Self::Pairwise(Pairwise {}).about().choice(),
        Self::SharedWeight(SharedWeight {}).about().choice(),
        Self::Collaborative(Collaborative { d_k: 1 }).about().choice(),
        Self::Grouped(Grouped { kv_heads: 1 }).about().choice(),
        Self::Latent(Latent { rank: 1 }).about().choice(),
        Self::TiedKv(TiedKv { kv_heads: None }).about().choice(),
    ];

    /// Its fields in a config.
    pub(super) const FIELDS: [FieldSpec; 6] = [
        FieldSpec::new(
            "attention.compatibility.kind",
            "How a pair is scored",
            "How a head scores a pair of positions.",
        )
        .names(&Self::NAMES),
        BIASES,
        D_K,
        GROUPS,
        TIED_GROUPS,
        RANK,
    ];

    /// What people read of it.
    pub const fn about(&self) -> About {
        let (kind, name, title, formula, note) = match self {
            Self::Standard(_) => (
                "standard",
                "Standard",
                "Standard: query · key",
                "How a head scores a pair of positions.\nS = Q Kᵀ / √d with Q = x W_Q, K = x W_K in each head.",
                "Query · key / √d, with projections of its own for each head.",
            ),
            Self::Symmetric(_) => (
                "symmetric",
                "Symmetric",
                "Symmetric: query · query",
                "S = Q Qᵀ / √d: the key projection is the query's. (Shared-weight attention, table 3)",
                "Query · query / √d: a query is the key too.",
            ),
            Self::Pairwise(_) => (
                "pairwise",
                "Pairwise",
                "Pairwise: query · U · query",
                "S = Q U Qᵀ / √d with a d × d matrix U in each head. (Shared-weight attention, table 3)",
                "Query · U · query / √d, with a matrix U for each head.",
            ),
            Self::SharedWeight(_) => (
                "shared_weight",
                "Shared weight",
                "Shared weight: one matrix, three diagonals",
                "Q = (x W) D_q, K = (x W) D_k, V = (x W) D_v with one matrix W and three diagonal ones. (Shared-weight \
                 attention, equation 1)",
                "Query · key / √d of one matrix, told apart by diagonals.",
            ),
            Self::Collaborative(_) => (
                "collaborative",
                "Collaborative",
                "Collaborative: shared queries and keys",
                "S = x W̃_Q diag(m) W̃_Kᵀ xᵀ / √d with W̃_Q and W̃_K of all heads together, a mixing row m and a content \
                 bias in each. (Collaborative attention, equations 11 to 13)",
                "All heads share queries and keys; each mixes their dimensions its own way.",
            ),
            Self::Grouped(_) => (
                "grouped",
                "Grouped",
                "Grouped: heads share keys and values",
                "S = Q Kᵀ / √d where a group of heads has one K and one V. One group is multi-query attention.",
                "Query · key / √d, where several heads share keys and values.",
            ),
            Self::Latent(_) => (
                "latent",
                "Latent",
                "Latent: keys and values from a narrow stream",
                "C = x W_c of width r; K = C W_k, V = C W_v. As in multi-head latent attention, without its rotary part.",
                "Query · key / √d, where keys and values come from one narrow vector.",
            ),
            Self::TiedKv(_) => (
                "tied_kv",
                "Shared key and value",
                "Shared key and value (tied_kv)",
                "S = Q Kᵀ / √d with V = K: one projection for keys and values, in each head or in each group of heads.",
                "Query · key / √d, where a key is the value too.",
            ),
        };
        About { kind, name, title, formula, note }
    }

    /// The name in the file.
    pub const fn kind(&self) -> &'static str {
        self.about().kind
    }

    /// Its numbers, for a model of this size.
    pub fn numbers(&mut self, model: &ModelConfig) -> Vec<Number<'_>> {
        let (heads, width) = (model.heads, model.width);
        let number = |field, symbol, most, value, divides_heads| {
            vec![Number { field, symbol, least: 1, most, limit: "", divides_heads, value }]
        };
        let groups = |field, value| number(field, "kv_heads", heads, value, true);
        match self {
            Self::Standard(_) | Self::Symmetric(_) | Self::Pairwise(_) | Self::SharedWeight(_) => Vec::new(),
            Self::Collaborative(Collaborative { d_k }) => number(D_K, "d_k", 65_536, NumberValue::Always(d_k), false),
            Self::Grouped(Grouped { kv_heads }) => groups(GROUPS, NumberValue::Always(kv_heads)),
            Self::Latent(Latent { rank }) => number(RANK, "rank", width, NumberValue::Always(rank), false),
            Self::TiedKv(TiedKv { kv_heads }) => groups(TIED_GROUPS, NumberValue::Optional(kv_heads)),
        }
    }

    /// One of each kind, with numbers that fit the model and save something.
    pub fn usual(model: &ModelConfig) -> Vec<Self> {
        let half = model.heads / 2;
        let kv_heads = if half > 0 && model.heads.is_multiple_of(half) { half } else { 1 };
        vec![
            Self::default(),
            Self::Symmetric(Symmetric {}),
            Self::Pairwise(Pairwise {}),
            Self::SharedWeight(SharedWeight {}),
            Self::Collaborative(Collaborative { d_k: (model.width / 2).clamp(1, 65_536) }),
            Self::Grouped(Grouped { kv_heads }),
            Self::Latent(Latent { rank: (model.width / 4).max(1) }),
            Self::TiedKv(TiedKv::default()),
        ]
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
        let grouped = between.unwrap_or(1);
        examples.extend([None, Some(grouped)].map(|kv_heads| Self::TiedKv(TiedKv { kv_heads })));
        examples
    }

    /// In words with its numbers: "latent rank 32", "standard, no biases".
    pub fn words(&self) -> String {
        let mut words = self.about().name.to_lowercase();
        if let Self::Standard(Standard { biases }) = self {
            words += match biases {
                Biases::All => "",
                Biases::WithoutKey => ", no key bias",
                Biases::None => ", no biases",
            };
        }
        let mut own = self.clone();
        let numbers = own.numbers(&ModelConfig::default());
        let numbers = numbers.iter().filter_map(Number::words);
        [words].into_iter().chain(numbers).collect::<Vec<_>>().join(" ")
    }

    /// Numbers outside of what the model allows.
    pub fn problems(&self, model: &ModelConfig) -> Vec<Problem> {
        self.clone().numbers(model).iter().filter_map(Number::problem).collect()
    }

    /// Numbers that do not fit together with the model, though each is allowed.
    pub fn conflicts(&self, model: &ModelConfig) -> Vec<Problem> {
        let heads = model.heads;
        let conflict = |number: Number<'_>| {
            let groups = number.get().filter(|groups| number.divides_heads && *groups > 0 && heads > 0)?;
            if heads.is_multiple_of(groups) {
                return None;
            }
            let divisors: Vec<String> =
                (1..=heads).filter(|n| heads.is_multiple_of(*n)).map(|n| n.to_string()).collect();
            let message = format!("{groups} groups do not divide {heads} heads; these do: {}", divisors.join(", "));
            Some(Problem::new(number.field.path, message))
        };
        self.clone().numbers(model).into_iter().filter_map(conflict).collect()
    }
}

const BIASES: FieldSpec = FieldSpec::new(
    "attention.compatibility.biases",
    "Biases",
    "Which maps of the layer have a bias. A key bias adds the same to all scores of a row, which softmax ignores.",
)
.names(&[("all", "On all maps"), ("without_key", "On all maps but the key's"), ("none", "On none")])
.of(&["standard"]);
const D_K: FieldSpec = FieldSpec::new(
    "attention.compatibility.d_k",
    "Shared width",
    "Width D_k of the queries and keys that all heads share; the model's width is as many as in standard attention.",
)
.whole(1, 65_536)
.step(16)
.of(&["collaborative"]);
const GROUPS: FieldSpec = FieldSpec::new(
    "attention.compatibility.kv_heads",
    "Key and value heads",
    "Groups of heads that share keys and values; must divide the heads.",
)
.count()
.of(&["grouped"]);
const TIED_GROUPS: FieldSpec = GROUPS
    .explained(
        "Groups of heads that share one K = V; must divide the heads. Each head has its own where this is empty.",
    )
    .empty("as many as heads")
    .of(&["tied_kv"]);
const RANK: FieldSpec =
    FieldSpec::new("attention.compatibility.rank", "Latent width", "Width r of what keys and values come from.")
        .count()
        .step(16)
        .of(&["latent"]);

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
    fn every_kind_has_usual_numbers_that_fit_and_an_example() {
        for (heads, width) in [(1, 1), (3, 15), (4, 64), (12, 768)] {
            let model = ModelConfig { heads, width, ..ModelConfig::default() };
            let usual = Compatibility::usual(&model);
            let mut kinds: Vec<&str> = Compatibility::examples(heads, width).iter().map(Compatibility::kind).collect();
            kinds.dedup();
            assert_eq!(usual.iter().map(Compatibility::kind).collect::<Vec<_>>(), kinds);
            for usual in usual {
                assert_eq!((usual.problems(&model), usual.conflicts(&model)), (vec![], vec![]), "{usual:?}");
            }
        }
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
