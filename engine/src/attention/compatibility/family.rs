use candle_core::{Result, Tensor};

use super::{
    LayerCoverage, LayerHeads, Loaded, Piece, collaborative, grouped, latent, pairwise, scored::Scored, shared_weight,
    standard, symmetric,
};
use crate::{config::Compatibility, ops::HeadProjections};

/// A way to score a pair, as far as a model is built of it.
pub trait Family {
    /// The modules that a layer with these heads has. Only heads that compute have queries and keys, only heads that
    /// attend have values. `joins`: queries, keys and values are one module where their shapes allow it (GPT-2).
    fn pieces(&self, heads: &LayerHeads, joins: bool) -> Vec<Piece>;

    /// Puts the modules of [`Family::pieces`] together.
    ///
    /// # Errors
    /// If one of them is missing.
    fn projections(&self, heads: &LayerHeads, loaded: &Loaded) -> Result<HeadProjections>;

    /// Whether the output map has a bias.
    fn has_output_bias(&self) -> bool {
        true
    }
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
    }
}

/// Scores the pairs of a position of `x` and one of `y` that `coverage` asks for, and makes the values of `y`.
///
/// # Shapes
/// `x` `[b, n, d]`, `y` `[b, m, d]`.
pub(super) fn score(
    projections: &HeadProjections,
    heads: &LayerHeads,
    coverage: &LayerCoverage,
    x: &Tensor,
    y: &Tensor,
) -> Result<Scored> {
    match projections {
        HeadProjections::Fused(all) => standard::score_joined(all, heads, coverage, x, y),
        HeadProjections::Separate { scores, value, groups: None } => {
            standard::score(scores.as_ref(), value, heads, coverage, x, y)
        }
        HeadProjections::Separate { scores, value, groups: Some(groups) } => {
            grouped::score(scores.as_ref(), value, groups, heads, coverage, x, y)
        }
        HeadProjections::Symmetric { query, value } => symmetric::score(query.as_ref(), value, heads, coverage, x, y),
        HeadProjections::Pairwise { query, value } => pairwise::score(query.as_ref(), value, heads, coverage, x, y),
        HeadProjections::SharedWeight { shared, scores, value } => {
            shared_weight::score(shared, scores.as_ref(), value, heads, coverage, x, y)
        }
        HeadProjections::Collaborative { scores, value } => {
            collaborative::score(scores.as_ref(), value, heads, coverage, x, y)
        }
        HeadProjections::Latent { scores, latent, value } => {
            latent::score(scores.as_ref(), [latent, value], heads, coverage, x, y)
        }
    }
}
