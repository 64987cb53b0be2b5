use crate::{
    attention::{Cost, ModelPlan, Part, Workload},
    config::{Coverage, PartialCoverage, Precision},
};

/// FLOPs with k = 0, 1, ..., n pairs of each query computed, relative to those of all pairs, as the cost model counts them:
/// `k m + k (n - k)` multiply-accumulates a query and head instead of `n m`, where a score takes m.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RelativeFlops {
    /// Of scores, in layers that leave pairs out.
    pub(super) scores: Vec<f64>,
    /// Of the forward pass.
    pub(super) forward: Vec<f64>,
    /// Multiply-accumulates of a score, m; 0 where no layer leaves pairs out.
    pub(super) score_macs: f64,
}

impl RelativeFlops {
    /// Of a model that reads `tokens` tokens; nothing where no layer before the last computes scores.
    pub(super) fn of(plan: &ModelPlan, tokens: usize) -> Self {
        let exact = plan.exact();
        let partial = |k: usize| {
            let coverage = Coverage::Partial(PartialCoverage { k, ..PartialCoverage::default() });
            exact.with_coverage(coverage)
        };
        let goal = partial(1);
        let layers: Vec<usize> = (0..plan.stack.layers).filter(|layer| goal.stack.approximates(*layer)).collect();
        if layers.is_empty() || tokens == 0 {
            return Self::default();
        }
        let workload = Workload::inference(1, tokens, Precision::F32);
        let counts = |plan: &ModelPlan| -> (f64, f64) {
            let cost = Cost::of(plan, &workload);
            let macs = |layer: &usize| cost.layers.get(*layer).and_then(|layer| layer.part(Part::Scores));
            let scores: u64 = layers.iter().filter_map(macs).map(|part| part.macs).sum();
            (scores as f64, cost.forward_flops as f64)
        };
        let (all, forward) = counts(&exact);
        let ratios = (0..=tokens).map(|k| {
            let (own, own_forward) = match k {
                0 => (0.0, forward - 2.0 * all),
                k if k == tokens => (all, forward),
                k => counts(&partial(k)),
            };
            (own / all.max(1.0), own_forward / forward.max(1.0))
        });
        let (scores, forward) = ratios.unzip();
        let heads: usize = layers.iter().map(|layer| plan.stack.head_plan.computed(*layer)).sum();
        let score_macs = all / (tokens * tokens * heads).max(1) as f64;
        Self { scores, forward, score_macs }
    }

    /// The same for k = 0, 1, ..., `pairs` pairs of the whole map of `tokens` positions, each of the others being restored
    /// from all of them.
    pub(super) fn whole(&self, tokens: usize, pairs: usize) -> Vec<f64> {
        let all = (tokens * tokens) as f64 * self.score_macs;
        let ratio = |k: usize| if k == pairs { 1.0 } else { k as f64 * (self.score_macs + (pairs - k) as f64) / all };
        if all > 0.0 { (0..=pairs).map(ratio).collect() } else { Vec::new() }
    }
}
