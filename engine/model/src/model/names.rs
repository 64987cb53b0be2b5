//! Our names of parameters, the same for every family of models.
//!
//! | name | what it is |
//! |---|---|
//! | `input.tokens` | the token table, which is the matrix of a vocabulary head too |
//! | `input.types` | the table of token types |
//! | `input.patches`, `input.class_token` | the map from the numbers of an image's patch to the stream, and what stands before the patches |
//! | `input.projection` | the map from tables narrower than the stream to it |
//! | `input.distillation_token` | what follows the class token in a model that a teacher taught |
//! | `STACK.positions` | the table of positions, where they are learned |
//! | `STACK.relative` | biases of scores for the distance of a pair, `[groups, heads]` |
//! | `STACK.embedding_norm`, `STACK.final_norm` | the norm after the embeddings where norms come last, after the last layer where they come first |
//! | `STACK.N.self.norm`, `STACK.N.self.output` | the norm of the attention of layer N, and the map from its heads back to the stream |
//! | `STACK.N.self.MODULE` | what makes its queries, keys and values: the modules of the way to score (`attention::compatibility`) |
//! | `STACK.N.cross.…` | the same of a decoder's attention to the encoder |
//! | `STACK.N.feed_forward.norm`, `.in`, `.gate`, `.out` | the feed-forward block, with a gate where it has one |
//! | `head.dense`, `head.norm`, `head.bias` | a vocabulary head's transform, and its bias over the vocabulary |
//! | `head.tokens` | the table of a vocabulary head that does not share that of the embeddings |
//! | `head.pooler`, `head.classes`, `head.distilled`, `head.span`, `head.replaced` | heads of classes, of spans, and of replaced tokens |
//!
//! `STACK` is `encoder` or `decoder`; the last part is `weight` or `bias`. Models that do not score every pair have these
//! besides; n is the length of the sequences that they are for, and pairs that are restored stand query by query, keys
//! ascending:
//!
//! | coverage | tensors |
//! |---|---|
//! | partial | `STACK.coverage.pairs` `u32` `[n, k]`, the keys that each query scores, n where it sees fewer than k |
//! | partial, R fixed or common | `STACK.restore.weight` `[restored pairs, k]`, R for all layers |
//! | partial, R per layer | `STACK.N.self.restore.weight` of every layer but the last in which a head computes |
//! | eigen, in memory alone | `STACK.coverage.basis` `[n, k, n]`, directions of each query |
//!
//! What files call them, `checkpoint` knows.

use crate::attention::{AttentionKind, StackPlan};

/// Modules of the feed-forward block of a layer.
pub(super) struct FeedForwardNames {
    pub inner: String,
    pub gate: String,
    pub outer: String,
    pub norm: String,
}

impl FeedForwardNames {
    pub fn new(stack: &StackPlan, layer: usize) -> Self {
        let at = |module: &str| of_stack(stack, &format!("{layer}.feed_forward.{module}"));
        Self { inner: at("in"), gate: at("gate"), outer: at("out"), norm: at("norm") }
    }
}

/// Modules of one attention of a layer.
pub(super) struct AttentionNames {
    all: String,
    pub output: String,
    pub norm: String,
}

impl AttentionNames {
    pub fn new(stack: &StackPlan, layer: usize, kind: AttentionKind) -> Self {
        let word = match kind {
            AttentionKind::Own => "self",
            AttentionKind::Cross => "cross",
        };
        let all = of_stack(stack, &format!("{layer}.{word}"));
        Self { output: format!("{all}.output"), norm: format!("{all}.norm"), all }
    }

    /// A module of the way to score.
    pub fn module(&self, module: &str) -> String {
        format!("{}.{module}", self.all)
    }
}

/// What the names of the parameters of an attention begin with, as in `encoder.3.self`.
pub fn attention_name(stack: &StackPlan, layer: usize, kind: AttentionKind) -> String {
    AttentionNames::new(stack, layer, kind).all
}

/// The layer, from 0, that a parameter belongs to; none outside of layers.
pub fn layer_of(name: &str) -> Option<usize> {
    name.split('.').nth(1)?.parse().ok()
}

/// The part of a model of one stack that a parameter belongs to, its depth among L layers from 0: 0 of the embeddings, N + 1 of layer N,
/// L + 1 of the head and of what stands between it and the last layer.
pub fn depth_of(name: &str, layers: usize) -> usize {
    if let Some(layer) = layer_of(name) {
        return layer + 1;
    }
    let of_embeddings = ["positions", "embedding_norm"].iter().any(|part| name.split('.').nth(1) == Some(part));
    if name.starts_with("input.") || of_embeddings { 0 } else { layers + 1 }
}

/// The token table, which is the matrix of the head too.
pub(super) const WORDS: &str = "input.tokens";

/// The table of token types, where the stack has types.
pub(super) const TOKEN_TYPES: &str = "input.types";

/// The map from narrower tables to the stream.
pub(super) const PROJECTION: &str = "input.projection";

/// The map from the numbers of a patch to the stream.
pub(super) const PATCHES: &str = "input.patches";

/// What stands before the patches of an image.
pub(super) const CLASS_TOKEN: &str = "input.class_token";

/// What stands between it and the patches, for a teacher's answer.
pub(super) const DISTILLATION_TOKEN: &str = "input.distillation_token";

/// Whether a tensor is of the head.
pub fn is_of_head(name: &str) -> bool {
    name.starts_with("head.")
}

/// Whether a tensor is of the map that comes first in a head of classes.
pub fn is_of_pooler(name: &str) -> bool {
    name.strip_prefix(HEAD_POOLER).is_some_and(|rest| rest.starts_with('.'))
}

/// The map that a head of classes begins with, where it has one.
pub(super) const HEAD_POOLER: &str = "head.pooler";

/// From the first position to classes.
pub(super) const HEAD_CLASSES: &str = "head.classes";

/// From the second position to classes, as a teacher sees them.
pub(super) const HEAD_DISTILLED: &str = "head.distilled";

/// From each position to whether its token was replaced.
pub(super) const HEAD_REPLACED: &str = "head.replaced";

/// The table of a head that does not share that of the embeddings.
pub(super) const HEAD_TABLE: &str = "head.tokens";

/// From each position to whether an answer begins and ends there.
pub(super) const HEAD_SPAN: &str = "head.span";

/// The head's linear map from width to width.
pub(super) const HEAD_DENSE: &str = "head.dense";

/// The head's norm.
pub(super) const HEAD_NORM: &str = "head.norm";

/// The head's bias over the vocabulary.
pub(super) const HEAD_BIAS: &str = "head.bias";

fn of_stack(stack: &StackPlan, name: &str) -> String {
    format!("{}.{name}", stack.name.word())
}

/// The table of positions.
pub(super) fn positions(stack: &StackPlan) -> String {
    of_stack(stack, "positions")
}

/// The biases for the distances of pairs.
pub(super) fn relative(stack: &StackPlan) -> String {
    of_stack(stack, "relative")
}

/// The norm after the embeddings.
pub(super) fn embedding_norm(stack: &StackPlan) -> String {
    of_stack(stack, "embedding_norm")
}

/// The norm after the last layer.
pub(super) fn final_norm(stack: &StackPlan) -> String {
    of_stack(stack, "final_norm")
}

/// The keys that each query scores.
pub(super) fn pairs(stack: &StackPlan) -> String {
    of_stack(stack, "coverage.pairs")
}

/// The directions that each query's scores are projected on.
pub(super) fn basis(stack: &StackPlan) -> String {
    of_stack(stack, "coverage.basis")
}

/// The map from computed to restored scores of all layers.
pub(super) fn restore(stack: &StackPlan) -> String {
    of_stack(stack, "restore.weight")
}

/// That of one layer.
pub(super) fn layer_restore(stack: &StackPlan, layer: usize) -> String {
    AttentionNames::new(stack, layer, AttentionKind::Own).module("restore.weight")
}
