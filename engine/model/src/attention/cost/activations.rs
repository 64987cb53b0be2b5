//! Numbers (not bytes) that the operations of the model keep from forward until backward.

use super::{
    Workload,
    scoring::{Scoring, Streams},
};
use crate::{
    attention::{Cell, ModelPlan, OutputPlan, Positions, StackPlan},
    config::{Compatibility, Precision},
    ops::{FLASH_SIZES, HEAD_ROWS},
};

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
fn with_dropout(plan: &StackPlan, numbers: u64) -> u64 {
    if plan.dropout > 0.0 { numbers.saturating_mul(2) } else { numbers }
}

/// Numbers kept by layer `layer`.
pub(super) fn layer(plan: &StackPlan, layer: usize, streams: Streams, work: &Workload) -> LayerActivations {
    // Layers that leave scores out, and designs that single operations do not know, are composed of small operations.
    if work.in_blocks && plan.coverage.is_full() && plan.is_fusible() {
        block(plan, layer, streams, work)
    } else {
        composed(plan, layer, streams, work)
    }
}

/// A layer inside of one operation. Dropout is applied in place and drawn again in backward: it keeps nothing.
fn block(plan: &StackPlan, layer: usize, streams: Streams, work: &Workload) -> LayerActivations {
    let tokens = work.tokens();
    let stream = tokens.saturating_mul(plan.width as u64);
    let head = tokens.saturating_mul(plan.head_size as u64);
    let (computed, live) = (plan.head_plan.computed(layer) as u64, plan.head_plan.live(layer) as u64);
    let attends = u64::from(live > 0);
    let lent = lent(plan, layer);
    let map = tokens.saturating_mul(work.sequence as u64);
    // Two numbers a row where maps are computed again. A layer that lends keeps its maps, and the gradients of lent
    // ones while they come together.
    let maps = if work.map_memory.keeps(work.sequence) || lent > 0 {
        map.saturating_mul(computed)
    } else {
        tokens.saturating_mul(2).saturating_mul(computed)
    };
    LayerActivations {
        projections: tokens.saturating_mul(Scoring::of(plan, layer, streams).kept),
        scores: maps.saturating_add(map.saturating_mul(lent)),
        mix: head.saturating_mul(live),
        output: stream.saturating_mul(attends),
        // The slope of the activation and the activation, and the stream after.
        feed_forward: tokens.saturating_mul(plan.feed_forward as u64).saturating_mul(2).saturating_add(stream),
        // The input of each sub-layer, or the sum before its norm.
        norm: stream.saturating_mul(1 + attends),
    }
}

/// Heads of a layer whose maps others use.
fn lent(plan: &StackPlan, layer: usize) -> u64 {
    let mut lends = vec![false; plan.heads];
    for (_, cell) in plan.head_plan.iter() {
        if let Cell::Borrow { origin, .. } = cell
            && origin.layer == layer
        {
            lends[origin.head] = true;
        }
    }
    lends.into_iter().filter(|lends| *lends).count() as u64
}

/// Numbers that the backward pass of the largest sub-layer works with, and the gradient of the stream on both sides of
/// it.
pub(super) fn working(plan: &StackPlan, work: &Workload) -> u64 {
    let tokens = work.tokens();
    let (d, f) = (plan.width as u64, plan.feed_forward as u64);
    let attention = |layer: usize| {
        let scoring = Scoring::of(plan, layer, Streams::One);
        let mixed = plan.head_plan.live(layer) as u64 * plan.head_size as u64;
        // The gradients of projections and what was made of them, of the mixed values, and of the input.
        scoring.kept.saturating_add(2 * scoring.derived).saturating_add(mixed).saturating_add(d)
    };
    let widest = (0..plan.layers).map(attention).max().unwrap_or(0);
    // The gradient of the inner numbers, and of output and input.
    let feed_forward = f.saturating_add(2 * d);
    tokens.saturating_mul(widest.max(feed_forward).saturating_add(2 * d))
}

/// A layer composed of small operations.
fn composed(plan: &StackPlan, layer: usize, streams: Streams, work: &Workload) -> LayerActivations {
    let tokens = work.tokens();
    let stream = tokens.saturating_mul(plan.width as u64);
    let inner = tokens.saturating_mul(plan.feed_forward as u64);
    let head = tokens.saturating_mul(plan.head_size as u64);
    let map = tokens.saturating_mul(work.sequence as u64);
    let (computed, live) = (plan.head_plan.computed(layer) as u64, plan.head_plan.live(layer) as u64);
    let attends = u64::from(live > 0);
    let scoring = Scoring::of(plan, layer, streams);
    let is_joint = is_joint(plan, layer, work);
    // A fused matrix is cut into three, which are copies; where all three are one product, three are put together.
    let copies = if plan.joins_projections == is_joint { 0 } else { plan.width as u64 };
    LayerActivations {
        // Heads are views of what was projected.
        projections: tokens
            .saturating_mul(scoring.kept.saturating_add(scoring.derived))
            .saturating_add(copies.saturating_mul(scoring.kept)),
        scores: in_core(plan, layer, work).unwrap_or_else(|| {
            // Scores and maps; dropped maps where there is dropout.
            let dropped = if plan.dropout > 0.0 { map.saturating_mul(live) } else { 0 };
            map.saturating_mul(2 * computed).saturating_add(dropped)
        }),
        // Head by head, then side by side.
        mix: head.saturating_mul(if is_joint { live } else { 2 * live }),
        // The output and the residual sum.
        output: with_dropout(plan, stream).saturating_add(stream).saturating_mul(attends),
        feed_forward: inner
            .saturating_mul(if plan.design.is_gated { 4 } else { 2 })
            .saturating_add(with_dropout(plan, stream))
            .saturating_add(stream),
        // The normalised stream with the mean and the deviation of every row.
        norm: stream.saturating_add(tokens.saturating_mul(2)).saturating_mul(1 + attends),
    }
}

/// Whether a layer attends in tiles to queries, keys and values that are one product.
fn is_joint(plan: &StackPlan, layer: usize, work: &Workload) -> bool {
    let is_plain = matches!(plan.compatibility, Compatibility::Standard(_));
    let is_turned = matches!(plan.design.positions, Positions::Rotary(_));
    is_plain && !is_turned && in_tiles(plan, layer, work) && in_core(plan, layer, work).is_some()
}

/// Whether a GPU has kernels that attend to heads of this size in tiles.
fn in_tiles(plan: &StackPlan, layer: usize, work: &Workload) -> bool {
    let query = Scoring::of(plan, layer, Streams::One).query_size;
    work.precision != Precision::F64 && query == plan.head_size && FLASH_SIZES.contains(&query)
}

/// Numbers kept of the maps of a layer whose attention is a single operation; none where it is not one.
fn in_core(plan: &StackPlan, layer: usize, work: &Workload) -> Option<u64> {
    let (computed, live) = (plan.head_plan.computed(layer) as u64, plan.head_plan.live(layer) as u64);
    let has_bias = matches!(plan.design.positions, Positions::Relative { .. });
    if !work.in_core || has_bias || !plan.coverage.is_full() || computed != live || lent(plan, layer) > 0 {
        return None;
    }
    let tokens = work.tokens();
    let kept = match (in_tiles(plan, layer, work), work.map_memory.keeps(work.sequence)) {
        (false, true) => work.sequence as u64,
        // One or two numbers of 32 bits a row.
        (true, _) | (false, false) => 2,
    };
    Some(tokens.saturating_mul(kept).saturating_mul(computed))
}

/// Numbers kept by the embeddings, with their norm: one tensor for each table but the first, which is summed in place
/// of the sum, and the sums.
pub(super) fn embedding(plan: &ModelPlan, work: &Workload) -> u64 {
    let stream = work.tokens().saturating_mul(plan.stack.width as u64);
    if work.in_blocks {
        return stream;
    }
    let tables = if plan.token_types() > 0 { 3 } else { 2 };
    with_dropout(&plan.stack, stream).saturating_add(stream.saturating_mul(2 * tables - 2))
}

/// Numbers kept by one norm over the whole stream.
pub(super) fn norm(plan: &StackPlan, work: &Workload) -> u64 {
    work.tokens().saturating_mul(plan.width as u64 + 2)
}

/// Numbers kept by the head and the loss: gathered rows, a transform before them, logits and their gradient.
pub(super) fn head(plan: &ModelPlan, work: &Workload) -> u64 {
    let predicted = work.predicted as u64;
    let row = predicted.saturating_mul(plan.stack.width as u64);
    let logits = if work.in_blocks {
        // Some rows at a time; the gradients of the hidden states and of the table are computed with them.
        let rows = predicted.min(HEAD_ROWS as u64).saturating_add(plan.stack.width as u64);
        rows.saturating_mul(plan.vocabulary() as u64).saturating_add(row)
    } else {
        // On a GPU their gradient lies where they lay.
        predicted.saturating_mul(plan.vocabulary() as u64).saturating_mul(if work.in_core { 1 } else { 2 })
    };
    match plan.head {
        OutputPlan::Vocabulary(head) if head.transforms => logits.saturating_add(row.saturating_mul(4)),
        OutputPlan::States { .. } => 0,
        // Of one position of each example: the state, the pooled one, and outputs with their gradient.
        OutputPlan::Classes { classes, .. } => {
            let example = (plan.stack.width as u64).saturating_mul(3).saturating_add(2 * classes as u64);
            (work.batch as u64).saturating_mul(example)
        }
        OutputPlan::Vocabulary(_) | OutputPlan::Span | OutputPlan::Replaced => logits,
    }
}
