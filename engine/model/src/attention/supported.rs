//! The combinations of answers that can be built: the one place that judges them.

use super::{Cell, HeadPlan, Positions, StackDesign, StackPlan};
use crate::config::{
    AttentionConfig, Cache, Compatibility, Coverage, DEFAULT_STEPS, ModelConfig, NormPlacement, PartialCoverage,
    Problem, Reuse, RunConfig,
};

/// Most layers and heads of a model; the fields are judged by [`RunConfig::validate`].
const MOST_LAYERS: usize = 256;
const MOST_HEADS: usize = 1024;

/// Judges the combination of a config's answers: the one place that does. Empty when it can be built.
///
/// Single fields are judged by [`RunConfig::validate`].
pub fn supported(config: &RunConfig) -> Vec<Problem> {
    let mut problems = supported_answers(&config.model, &config.attention);
    if let Coverage::Partial(partial) = &config.attention.coverage {
        problems.extend(check_warm_up(config, partial));
    }
    if matches!(config.attention.coverage, Coverage::Eigen(_)) {
        let message = "projecting scores on eigenvectors needs every score first, so that it saves nothing in training; \
                       train with full or partial coverage, then measure the model with `headroom eval RUN --coverage \
                       eigen:k=16`";
        problems.push(Problem::new("attention.coverage.kind", message));
    }
    problems
}

/// Judges the design of a stack together with its answers: what has no meaning, or none yet. Empty when it can be built.
pub fn supported_design(stack: &StackPlan) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |field: &str, message: &'static str| problems.push(Problem::new(field, message));
    let StackDesign { positions, shares_layers, .. } = stack.design;
    let is_plain = stack.head_plan.is_plain() && stack.coverage.is_full();
    match positions {
        Positions::Learned | Positions::Sinusoidal => {}
        Positions::Rotary(rotation) => {
            if !rotation.is_sound() {
                refuse(
                    "model.positions",
                    "the angles of its rotary positions (rope_theta, rope_parameters) are out of range",
                );
            }
            if !stack.head_size.is_multiple_of(2) {
                refuse("model.heads", "queries and keys are turned in halves, so that heads have an even size");
            }
            let turns = matches!(
                stack.compatibility,
                Compatibility::Standard(_) | Compatibility::Grouped(_) | Compatibility::TiedKv(_)
            );
            if !turns || stack.cross.is_some() {
                refuse(
                    "attention.compatibility.kind",
                    "queries and keys are turned by their positions, which needs a query and a key of its own for each \
                     head; choose \"standard\", \"grouped\" or \"tied_kv\"",
                );
            }
        }
        Positions::Relative { buckets, farthest } => {
            if buckets < 4 || farthest <= buckets {
                refuse("model.positions", "distances are grouped into four groups or more, up to a greater distance");
            }
            if !stack.coverage.is_full() {
                refuse(
                    "attention.coverage.kind",
                    "scores with a bias for the distance of a pair are not restored from others; choose full coverage",
                );
            }
        }
    }
    if shares_layers && !is_plain {
        refuse(
            "attention.reuse.kind",
            "all layers have the same parameters, so that none can borrow or leave out; choose no reuse and full coverage",
        );
    }
    problems
}

/// Judges the answers about attention of a model of these sizes, however it is trained.
pub(super) fn supported_answers(model: &ModelConfig, attention: &AttentionConfig) -> Vec<Problem> {
    let AttentionConfig { reuse, compatibility, coverage, cache, encoder, cross, match_parameters } = attention;
    let (layers, heads) = (model.layers, model.heads);
    let mut problems = Vec::new();
    // A table of absurd size is refused by its fields, before it is built.
    if (1..=MOST_LAYERS).contains(&layers) && (1..=MOST_HEADS).contains(&heads) {
        problems.extend(HeadPlan::derive(attention, layers, heads).err().unwrap_or_default());
    }
    if let (Some(_), Reuse::Custom(_)) = (match_parameters, reuse) {
        problems.push(Problem::new(
            "attention.match_parameters",
            "a custom table has as many layers as it has rows; choose another schedule, or leave match_parameters out",
        ));
    }
    if let Some(encoder_layers) = model.encoder_depth() {
        let others = [
            ("encoder", encoder.is_some() || encoder_layers != layers, attention.of_encoder(), encoder_layers),
            ("cross", cross.is_some(), attention.of_cross(), layers),
        ];
        for (table, is_other, answers, layers) in others {
            if is_other && (1..=MOST_LAYERS).contains(&layers) && (1..=MOST_HEADS).contains(&heads) {
                let mut found = HeadPlan::derive(&answers, layers, heads).err().unwrap_or_default();
                found.extend(answers.compatibility.conflicts(model));
                problems.extend(found.into_iter().map(|problem| problem.within(table)));
            }
        }
        problems.extend(check_cross_norm(model, &attention.of_cross()));
        if !coverage.is_full() {
            let message = "pairs are left out by their places in sequences of one length, and a text and its translation \
                           have lengths of their own; choose full coverage";
            problems.push(Problem::new("attention.coverage.kind", message));
            return problems;
        }
    }
    // An answer added to one of the questions must be judged here before this compiles.
    problems.extend(compatibility.conflicts(model));
    if !model.kind.generates() && !cache.is_none() {
        let message = "an encoder writes no text, so that nothing is kept while it does; keep nothing";
        problems.push(Problem::new("attention.cache.kind", message));
    }
    match (coverage, cache) {
        // A model may be converted to score on eigenvectors; none is trained so.
        (Coverage::Full(_), Cache::None(_) | Cache::KeyValue(_) | Cache::Hidden(_))
        | (Coverage::Eigen(_), Cache::None(_)) => {}
        (Coverage::Partial(_) | Coverage::Eigen(_), Cache::KeyValue(_) | Cache::Hidden(_)) => {
            let message = "scores that follow from others need whole rows of pairs, so that nothing can be kept between \
                           tokens; keep nothing, or score every pair";
            problems.push(Problem::new("attention.cache.kind", message));
        }
        (Coverage::Partial(_), Cache::None(_)) => problems.extend(check_partial(model, attention)),
    }
    problems
}

/// A norm that nothing reads: before an attention to the encoder in which no head makes a query.
fn check_cross_norm(model: &ModelConfig, cross: &AttentionConfig) -> Option<Problem> {
    let (layers, heads) = (model.layers, model.heads);
    if model.norm != NormPlacement::Pre || !(1..=MOST_LAYERS).contains(&layers) || !(1..=MOST_HEADS).contains(&heads) {
        return None;
    }
    let plan = HeadPlan::derive(cross, layers, heads).ok()?;
    let layer = (0..layers).find(|layer| plan.live(*layer) > 0 && plan.computed(*layer) == 0)?;
    let message = format!(
        "in layer {layer} all heads of the attention to the encoder borrow, so that nothing reads the norm before it; let a \
         head compute there, or set model.norm to \"post\""
    );
    Some(Problem::new("attention.cross.reuse.kind", message))
}

/// What stands in the way of scoring some pairs alone: a model in which no layer would do so. Pairs are
/// chosen for sequences of `data.sequence_length` tokens, however many positions there are.
///
/// Every way to score a pair is a product of two vectors, so that each can be left out for some pairs; and every
/// schedule of reuse that leaves a head computing before the last layer: borrowers use the restored maps.
fn check_partial(model: &ModelConfig, attention: &AttentionConfig) -> Option<Problem> {
    let (layers, heads) = (model.layers, model.heads);
    if (1..=MOST_LAYERS).contains(&layers)
        && (1..=MOST_HEADS).contains(&heads)
        && let Ok(plan) = HeadPlan::derive(attention, layers, heads)
    {
        let computes = |layer: usize| plan.row(layer).iter().any(|cell| matches!(cell, Cell::Compute));
        if layers == 1 {
            let message = "the last layer scores all pairs, and this model has no other; use two layers or more";
            return Some(Problem::new("model.layers", message));
        } else if !(0..layers - 1).any(computes) {
            let message = "no head before the last layer computes a map, so that there is nothing to leave out; let \
                           one compute, or choose full coverage";
            return Some(Problem::new("attention.coverage.kind", message));
        }
    }
    None
}

/// A warm-up that never ends.
fn check_warm_up(config: &RunConfig, PartialCoverage { from, warmup_steps, .. }: &PartialCoverage) -> Option<Problem> {
    let steps = config.train.steps.unwrap_or(if config.train.epochs.is_some() { u64::MAX } else { DEFAULT_STEPS });
    (from.is_none() && *warmup_steps >= steps).then(|| {
        Problem::new(
            "attention.coverage.warmup_steps",
            format!("{warmup_steps} steps of warm-up leave nothing of {steps} steps; train longer, or warm up less"),
        )
    })
}
