use super::{Cell, HeadPlan};
use crate::{
    config::{Compatibility, Coverage, NormPlacement, PartialCoverage, Restore},
    ops::{Gelu, Orientation, restored_pairs},
};

/// What a stack is called in names of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackName {
    /// Reads all of its input at once: BERT, `ViT`, the first half of BART.
    Encoder,
    /// Goes on with what it wrote: GPT-2, the second half of BART.
    Decoder,
}

impl StackName {
    /// The word itself.
    pub fn word(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
        }
    }
}

/// A stack of layers: what it takes to build one and to count its costs.
#[derive(Clone, Debug, PartialEq)]
pub struct StackPlan {
    /// What it is called in names of parameters.
    pub name: StackName,
    /// The mask: whether a position sees only itself and what stands before it.
    pub is_causal: bool,
    /// Number of layers L.
    pub layers: usize,
    /// Attention heads H of each layer.
    pub heads: usize,
    /// Size of a head, `d_k = d / H`.
    pub head_size: usize,
    /// Width d of the residual stream.
    pub width: usize,
    /// Inner width of the feed-forward block.
    pub feed_forward: usize,
    /// What stands between its two maps.
    pub activation: Gelu,
    /// Dropout probability after embeddings, on attention maps and on each sub-layer's output.
    pub dropout: f64,
    /// Where layer norm stands. First: a norm follows the last layer. Last: one follows the embeddings.
    pub norm: NormPlacement,
    /// Added to the variance in layer norm.
    pub norm_epsilon: f64,
    /// Learned positions: the longest sequence.
    pub positions: usize,
    /// Rows of the table of positions before that of the first position: 2 in BART.
    pub first_position: usize,
    /// How its matrices lie in memory and in files.
    pub matrices: Orientation,
    /// Whether queries, keys and values are one matrix where their shapes allow it (GPT-2).
    pub joins_projections: bool,
    /// Whether maps onto the residual stream start smaller the more layers there are (GPT-2).
    pub shrinks_outputs: bool,
    /// Which heads score at all.
    pub head_plan: HeadPlan,
    /// How a head scores a pair.
    pub compatibility: Compatibility,
    /// How many pairs are scored, as far as the model depends on it.
    pub coverage: Coverage,
    /// Length of the sequences that pairs are chosen for, where not every pair is scored and it is less than `positions`.
    pub coverage_tokens: Option<usize>,
    /// Attention to the last states of the encoder, between self-attention and the feed-forward block of each layer.
    pub cross: Option<CrossPlan>,
}

/// The answers of a stack's cross-attention, which scores every pair.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossPlan {
    /// Which heads score at all.
    pub head_plan: HeadPlan,
    /// How a head scores a pair.
    pub compatibility: Compatibility,
}

impl StackPlan {
    /// Whether layer `layer` does not use all of its scores: every layer but the last, where a head computes.
    pub fn approximates(&self, layer: usize) -> bool {
        !self.coverage.is_full()
            && layer + 1 < self.layers
            && self.head_plan.row(layer).iter().any(|cell| matches!(cell, Cell::Compute))
    }

    /// The same stack with every pair scored in every layer.
    #[must_use]
    pub fn exact(&self) -> Self {
        Self { coverage: Coverage::default(), coverage_tokens: None, ..self.clone() }
    }

    /// The longest sequence that it reads: as many tokens as it has positions; where not every pair is scored, as many as
    /// the pairs were chosen for.
    pub fn longest(&self) -> usize {
        if self.coverage.is_full() { self.positions } else { self.coverage_tokens.unwrap_or(self.positions) }
    }

    /// Numbers of one map from computed to restored scores, R; 0 where none are restored.
    pub fn restore_numbers(&self) -> u64 {
        match &self.coverage {
            Coverage::Partial(PartialCoverage { k, .. }) => {
                (restored_pairs(self.longest(), *k, self.is_causal) as u64).saturating_mul(*k as u64)
            }
            Coverage::Full(_) | Coverage::Eigen(_) => 0,
        }
    }

    /// Whether a map from computed to restored scores is trained, and if so whether it is that of all layers.
    pub fn trained_restore(&self) -> Option<Restore> {
        match &self.coverage {
            Coverage::Partial(PartialCoverage { restore, .. }) => Some(*restore).filter(|r| *r != Restore::Fixed),
            Coverage::Full(_) | Coverage::Eigen(_) => None,
        }
    }
}
