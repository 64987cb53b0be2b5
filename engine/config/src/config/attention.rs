//! The four questions about a multi-head attention layer. Each is an enum with a struct payload per answer
//! (an empty payload too, so that stray fields are errors).

use serde::{Deserialize, Serialize};

use super::{Compatibility, Coverage, Reuse};

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
    /// Other answers for the encoder of an encoder-decoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<OtherAnswers>,
    /// Other answers for the attention of its decoder to its encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross: Option<OtherAnswers>,
    /// Adds layers until the model has about as many parameters as this one; when absent, none are added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_parameters: Option<Baseline>,
}

/// `[attention.encoder]` and `[attention.cross]`: what is answered otherwise there. What is absent is answered as in
/// `[attention]`, whose own answers are those of the decoder's attention to itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OtherAnswers {
    /// Which heads score at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// How a head scores a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<Compatibility>,
}

/// The model that another one is compared with, of the same config otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// Standard attention in which every head computes every pair.
    Standard,
    /// The same way to score a pair, and as many pairs, in which every head computes.
    WithoutReuse,
}

impl Baseline {
    /// Every baseline, for menus and conformance tests.
    pub const ALL: [Self; 2] = [Self::Standard, Self::WithoutReuse];
}

impl AttentionConfig {
    /// The answers of a baseline.
    #[must_use]
    pub fn baseline(&self, baseline: Baseline) -> Self {
        let compatibility = match baseline {
            Baseline::Standard => Compatibility::default(),
            Baseline::WithoutReuse => self.compatibility.clone(),
        };
        let coverage = match baseline {
            Baseline::Standard => Coverage::default(),
            Baseline::WithoutReuse => self.coverage.clone(),
        };
        let others = |others: &Option<OtherAnswers>| match baseline {
            Baseline::Standard => None,
            Baseline::WithoutReuse => others
                .as_ref()
                .and_then(|others| others.compatibility.clone())
                .map(|other| OtherAnswers { reuse: None, compatibility: Some(other) }),
        };
        let (encoder, cross) = (others(&self.encoder), others(&self.cross));
        Self {
            reuse: Reuse::default(),
            compatibility,
            coverage,
            encoder,
            cross,
            match_parameters: None,
            ..self.clone()
        }
    }

    /// The answers of the encoder of an encoder-decoder.
    #[must_use]
    pub fn of_encoder(&self) -> Self {
        self.with(self.encoder.as_ref())
    }

    /// The answers of the attention of a decoder to its encoder, which scores every pair.
    #[must_use]
    pub fn of_cross(&self) -> Self {
        Self { coverage: Coverage::default(), ..self.with(self.cross.as_ref()) }
    }

    fn with(&self, others: Option<&OtherAnswers>) -> Self {
        let others = others.cloned().unwrap_or_default();
        Self {
            reuse: others.reuse.unwrap_or_else(|| self.reuse.clone()),
            compatibility: others.compatibility.unwrap_or_else(|| self.compatibility.clone()),
            encoder: None,
            cross: None,
            ..self.clone()
        }
    }
}

/// What is kept while generating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cache {
    /// Nothing: every step computes the whole prefix again.
    None(NoCache),
    /// Keys and values, or what they are made of, of every position: what `ops::ScoringForm::memory` says.
    KeyValue(KeyValueCache),
    /// The hidden states of what all rows of a source attend to, a prompt or what an encoder read, in place of their keys and
    /// values (EL-attention, Yan et al., 2021); of tokens that were written, keys and values.
    Hidden(HiddenCache),
}

impl Cache {
    /// Every answer, for menus and conformance tests.
    pub const ALL: [Self; 3] = [Self::None(NoCache {}), Self::KeyValue(KeyValueCache {}), Self::Hidden(HiddenCache {})];

    /// The word for it in configs and on the command line.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None(_) => "none",
            Self::KeyValue(_) => "key_value",
            Self::Hidden(_) => "hidden",
        }
    }

    /// The words for it where people choose.
    pub fn label(&self) -> &'static str {
        match self {
            Self::None(_) => "No cache",
            Self::KeyValue(_) => "Key/value cache",
            Self::Hidden(_) => "Hidden states (EL)",
        }
    }

    /// Whether nothing is kept.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::None(NoCache {})
    }
}

impl std::str::FromStr for Cache {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|cache| cache.word()).join(", ");
        Self::ALL
            .into_iter()
            .find(|cache| cache.word() == text)
            .ok_or_else(|| format!("\"{text}\" is no cache. Use one of these: {}.", known()))
    }
}

/// Nothing is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoCache {}

/// Keys and values are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyValueCache {}

/// Hidden states are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HiddenCache {}
