use serde::{Deserialize, Serialize};

use super::{ErrorCurve, Scope, ScopeReconstruction, reliable_pairs};

/// How well maps of scores are restored from some of their pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reconstruction {
    /// Positions n.
    pub tokens: usize,
    /// Whether a query sees the keys up to its own position alone.
    pub is_causal: bool,
    /// Examples that pairs, maps and directions were chosen from: the first, the third and so on.
    pub examples: u64,
    /// Examples that errors were measured on besides: those between.
    pub held_out_examples: u64,
    /// By rows: each query has pairs of its own. The network first.
    pub scopes: Vec<ScopeReconstruction>,
    /// Pairs chosen among those of the whole map, where it is small enough.
    pub whole: Option<WholeCurves>,
    /// FLOPs of scores with k = 0, 1, ..., n pairs of each query computed and the others restored, relative to those of
    /// all pairs, in the layers that would leave pairs out (all but the last). Empty where there is no such layer.
    pub score_flops: Vec<f64>,
    /// The same of the whole forward pass.
    pub forward_flops: Vec<f64>,
}

/// Reconstruction of the whole map at once, over the number of computed pairs 0, 1, ...
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeCurves {
    /// Pairs that there are: n², or those that causal queries see.
    pub pairs: usize,
    /// Maps that pairs were chosen from.
    pub samples: u64,
    /// Maps that errors were measured on.
    pub held_out_samples: u64,
    /// The pairs that say most.
    pub greedy: ErrorCurve,
    /// As many eigenvectors.
    pub eigen: ErrorCurve,
    /// Pairs by chance.
    pub random: ErrorCurve,
    /// FLOPs of scores relative to those of all pairs; above 1, nothing is saved.
    pub flops: Vec<f64>,
    /// When each pair is computed, from 0; -1 where a query does not see a key. `[n, n]`
    pub ranks: Vec<f32>,
}

impl WholeCurves {
    /// The most pairs of the map whose errors on other text say something of the model; see [`reliable_pairs`].
    pub fn reliable_pairs(&self) -> usize {
        reliable_pairs(self.samples, self.pairs)
    }
}

impl Reconstruction {
    /// One of the scopes.
    pub fn scope(&self, scope: Scope) -> Option<&ScopeReconstruction> {
        self.scopes.iter().find(|found| found.scope == scope)
    }

    /// Without what restores maps, which only the engine needs.
    #[must_use]
    pub fn light(mut self) -> Self {
        for scope in &mut self.scopes {
            scope.factors = Vec::new();
        }
        self
    }
}
