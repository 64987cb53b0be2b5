use std::collections::BTreeMap;

use serde::Deserialize;

/// The grammar as written in its TOML file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) limits: Limits,
    pub(super) document: DocumentShape,
    pub(super) rules: BTreeMap<String, Vec<String>>,
    pub(super) forms: BTreeMap<String, [String; 2]>,
    pub(super) pronouns: BTreeMap<String, String>,
    pub(super) determiners: Determiners,
    pub(super) words: BTreeMap<String, Vec<String>>,
    pub(super) names: Names,
    pub(super) topics: BTreeMap<String, Topic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) depth: u32,
    pub(super) nests: Vec<String>,
}

/// Probabilities and lengths of a document; the TOML file explains each.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentShape {
    pub(super) sentences: [u64; 2],
    pub(super) past: f64,
    pub(super) plural: f64,
    pub(super) animate: f64,
    pub(super) name: f64,
    pub(super) cast: f64,
    pub(super) topic: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Determiners {
    pub(super) singular: Vec<String>,
    pub(super) plural: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    pub(super) masculine: Vec<String>,
    pub(super) feminine: Vec<String>,
}

/// Words of a topic. Nouns are "singular plural", verbs "base third-person past".
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topic {
    pub(super) masculine: Vec<String>,
    pub(super) feminine: Vec<String>,
    pub(super) person: Vec<String>,
    pub(super) animal: Vec<String>,
    pub(super) thing: Vec<String>,
    pub(super) iverb: Vec<String>,
    pub(super) tverb: Vec<String>,
    pub(super) sverb: Vec<String>,
    pub(super) thingverb: Vec<String>,
    pub(super) adjective: Vec<String>,
}
