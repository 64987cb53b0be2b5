//! The four questions about a multi-head attention layer. Each is an enum with a struct payload per answer
//! (an empty payload too, so that stray fields are errors).

use serde::{Deserialize, Serialize};

/// `[attention]`: which heads score, how a pair is scored, how many pairs are scored, what is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
pub struct AttentionConfig {
    /// Which heads score at all.
    pub reuse: Reuse,
    /// How a head scores a pair.
    pub compatibility: Compatibility,
    /// How many pairs are scored.
    pub coverage: Coverage,
    /// What is kept while generating.
    pub cache: Cache,
}

/// Which heads score at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reuse {
    /// Every head computes its own map.
    None(NoReuse),
}

impl Default for Reuse {
    fn default() -> Self {
        Self::None(NoReuse {})
    }
}

/// Every head computes its own map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoReuse {}

/// How a head scores a pair of positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Compatibility {
    /// `Q K^T / sqrt(d_k)` with a query and a key projection per head.
    Standard(Standard),
}

impl Default for Compatibility {
    fn default() -> Self {
        Self::Standard(Standard {})
    }
}

/// `Q K^T / sqrt(d_k)` with biases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standard {}

/// How many pairs are scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Coverage {
    /// Every pair that the mask allows.
    Full(Full),
}

impl Default for Coverage {
    fn default() -> Self {
        Self::Full(Full {})
    }
}

/// Every pair that the mask allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Full {}

/// What is kept while generating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cache {
    /// Nothing: every step computes the whole prefix again.
    None(NoCache),
}

impl Default for Cache {
    fn default() -> Self {
        Self::None(NoCache {})
    }
}

/// Nothing is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoCache {}
