//! Numbers (not bytes) that the operations of the model keep from forward until backward.

use super::Workload;
use crate::{attention::ModelPlan, config::Architecture};

/// What each part of a layer keeps.
pub(super) struct LayerActivations {
    pub projections: u64,
    pub scores: u64,
    pub mix: u64,
    pub output: u64,
    pub feed_forward: u64,
    pub norm: u64,
}

/// What dropout adds to a tensor: its own output. The pattern itself is drawn again in backward.
fn with_dropout(plan: &ModelPlan, numbers: u64) -> u64 {
    if plan.dropout > 0.0 { numbers.saturating_mul(2) } else { numbers }
}

/// Numbers kept by layer `layer`.
pub(super) fn layer(plan: &ModelPlan, layer: usize, work: &Workload) -> LayerActivations {
    let tokens = work.tokens();
    let stream = tokens.saturating_mul(plan.width as u64);
    let inner = tokens.saturating_mul(plan.feed_forward as u64);
    let head = tokens.saturating_mul(plan.head_size as u64);
    let map = tokens.saturating_mul(work.sequence as u64);
    let (computed, live) = (plan.head_plan.computed(layer) as u64, plan.head_plan.live(layer) as u64);
    let attends = u64::from(live > 0);
    // A decoder's fused matrix is cut into three, which are copies.
    let copies = match plan.architecture {
        Architecture::Encoder => 0,
        Architecture::Decoder => plan.width as u64,
    };
    LayerActivations {
        // Heads are views of what was projected.
        projections: head
            .saturating_add(copies.saturating_mul(plan.head_size as u64))
            .saturating_mul(2 * computed + live),
        // Scores and maps; dropped maps where there is dropout.
        scores: map.saturating_mul(2 * computed).saturating_add(if plan.dropout > 0.0 {
            map.saturating_mul(live)
        } else {
            0
        }),
        // Head by head, then side by side.
        mix: head.saturating_mul(2 * live),
        // The output and the residual sum.
        output: with_dropout(plan, stream).saturating_add(stream).saturating_mul(attends),
        feed_forward: inner.saturating_mul(2).saturating_add(with_dropout(plan, stream)).saturating_add(stream),
        // The normalised stream with the mean and the deviation of every row.
        norm: stream.saturating_add(tokens.saturating_mul(2)).saturating_mul(1 + attends),
    }
}

/// Numbers kept by the embeddings, with their norm: one tensor for each table but the first, which is summed in place
/// of the sum, and the sums.
pub(super) fn embedding(plan: &ModelPlan, work: &Workload) -> u64 {
    let stream = work.tokens().saturating_mul(plan.width as u64);
    let tables = if plan.token_types > 0 { 3 } else { 2 };
    with_dropout(plan, stream).saturating_add(stream.saturating_mul(2 * tables - 2))
}

/// Numbers kept by one norm over the whole stream.
pub(super) fn norm(plan: &ModelPlan, work: &Workload) -> u64 {
    work.tokens().saturating_mul(plan.width as u64 + 2)
}

/// Numbers kept by the head and the loss: gathered rows, the encoder's transform, logits and their gradient.
pub(super) fn head(plan: &ModelPlan, work: &Workload) -> u64 {
    let predicted = work.predicted as u64;
    let row = predicted.saturating_mul(plan.width as u64);
    let logits = predicted.saturating_mul(plan.vocabulary as u64).saturating_mul(2);
    match plan.architecture {
        Architecture::Encoder => logits.saturating_add(row.saturating_mul(4)),
        Architecture::Decoder => logits,
    }
}
