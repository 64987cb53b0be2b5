use super::LayerHeads;
use crate::{config::Compatibility, ops::ScoringForm};

/// A way to score a pair.
pub trait Family {
    /// What a layer with these heads is made of. Only heads that compute have queries and keys, only heads that attend
    /// have values. `joins`: queries, keys and values are one module where their shapes allow it (GPT-2).
    fn form(&self, heads: &LayerHeads, joins: bool) -> ScoringForm;
}

/// The way to score that a config names.
pub fn family(compatibility: &Compatibility) -> &dyn Family {
    match compatibility {
        Compatibility::Standard(family) => family,
        Compatibility::Symmetric(family) => family,
        Compatibility::Pairwise(family) => family,
        Compatibility::SharedWeight(family) => family,
        Compatibility::Collaborative(family) => family,
        Compatibility::Grouped(family) => family,
        Compatibility::Latent(family) => family,
        Compatibility::TiedKv(family) => family,
    }
}
