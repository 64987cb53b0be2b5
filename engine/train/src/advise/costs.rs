use serde::{Deserialize, Serialize};

use crate::{
    attention::{Cost, ModelFacts, ModelPlan, Workload},
    config::{Precision, Problem, RunConfig},
};

/// What a model costs by the cost model: in training as its config describes it, or, of a model that is converted, in
/// reading one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Trained numbers.
    pub parameters: u64,
    /// FLOPs of a forward pass for each example.
    pub forward_flops_per_example: u64,
    /// FLOPs of an optimiser step; of the forward pass alone where there is no training.
    pub flops_per_step: u64,
    /// Estimated bytes kept from forward until backward; alive at once in a forward pass where there is no training.
    pub activation_bytes: u64,
    /// Bytes of weights, and in training of gradients and moments.
    pub model_bytes: u64,
    /// Estimated bytes of all together at their largest.
    pub memory_bytes: u64,
}

impl Costs {
    /// Counts.
    ///
    /// # Errors
    /// Every problem of the config.
    pub fn of(config: &RunConfig, facts: &ModelFacts) -> Result<Self, Vec<Problem>> {
        Ok(Self::of_plan(&facts.plan(config)?, &Workload::training(config)))
    }

    /// Counts a plan for a workload.
    pub fn of_plan(plan: &ModelPlan, workload: &Workload) -> Self {
        let cost = Cost::of(plan, workload);
        let batch = (workload.batch as u64).max(1);
        let model_bytes = [cost.weights_bytes, cost.gradient_bytes, cost.optimiser_bytes];
        Self {
            parameters: cost.parameters,
            forward_flops_per_example: cost.forward_flops / batch,
            flops_per_step: cost.flops_per_step,
            activation_bytes: cost.activation_bytes,
            model_bytes: model_bytes.into_iter().fold(0, u64::saturating_add),
            memory_bytes: cost.memory_bytes,
        }
    }

    /// Counts a plan that reads one example of `tokens` tokens.
    pub(super) fn of_reading(plan: &ModelPlan, tokens: usize) -> Self {
        Self::of_plan(plan, &Workload::inference(1, tokens, Precision::F32))
    }
}
