use serde::{Deserialize, Serialize};

use super::{
    Cell, HeadPlan,
    compatibility::{LayerHeads, family},
};
use crate::{
    config::{Cache, Compatibility, Coverage, NormPlacement, PartialCoverage, Restore},
    ops::{Activation, Orientation, PieceForm, Rotation, ScoringForm, restored_pairs},
};

/// What a stack is called in names of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackPlan {
    /// What it is called in names of parameters.
    pub name: StackName,
    /// The mask: whether a position sees only itself and what stands before it.
    pub is_causal: bool,
    /// Number of layers L.
    pub layers: usize,
    /// Attention heads H of each layer.
    pub heads: usize,
    /// Size of a head `d_k`: `d / H`, but in T5 and some models like Llama.
    pub head_size: usize,
    /// Width d of the residual stream.
    pub width: usize,
    /// Inner width of the feed-forward block.
    pub feed_forward: usize,
    /// What stands between its two maps.
    pub activation: Activation,
    /// Dropout probability after embeddings, on attention maps and on each sub-layer's output.
    pub dropout: f64,
    /// Where layer norm stands. First: a norm follows the last layer. Last: one follows the embeddings.
    pub norm: NormPlacement,
    /// Added to the variance in layer norm.
    pub norm_epsilon: f64,
    /// The longest sequence; learned positions where positions are learned.
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
    /// What sets it apart from the stacks of BERT and GPT-2.
    pub design: StackDesign,
    /// Attention to the last states of the encoder, between self-attention and the feed-forward block of each layer.
    pub cross: Option<CrossPlan>,
}

/// What sets a stack apart from those of BERT and GPT-2, whose design is the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackDesign {
    /// How positions are told apart.
    pub positions: Positions,
    /// What is before or after each sub-layer.
    pub norm: NormKind,
    /// Whether the feed-forward block is `out(activation(gate(x)) in(x))` instead of `out(activation(in(x)))`.
    pub is_gated: bool,
    /// Which linear maps of its layers have biases, as far as the compatibility has them.
    pub biases: LinearBiases,
    /// Whether scores are divided by the root of the head size.
    pub scales_scores: bool,
    /// Its embeddings.
    pub embedding: EmbeddingDesign,
    /// Whether all layers are the first one again (ALBERT).
    pub shares_layers: bool,
}

impl Default for StackDesign {
    fn default() -> Self {
        Self {
            positions: Positions::Learned,
            norm: NormKind::Layer,
            is_gated: false,
            biases: LinearBiases::All,
            scales_scores: true,
            embedding: EmbeddingDesign::default(),
            shares_layers: false,
        }
    }
}

/// How a stack tells positions apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// A learned row for each is added to the embeddings.
    #[default]
    Learned,
    /// A fixed row of waves is added to them ([`sinusoids`](crate::ops::sinusoids)).
    Sinusoidal,
    /// Queries and keys are turned by their positions ([`rotate`](crate::ops::rotate)).
    Rotary(Rotation),
    /// Scores of pairs have a bias for their distance, the same in all layers ([`RelativeBias`](crate::ops::RelativeBias)).
    Relative {
        /// Groups of distances.
        buckets: usize,
        /// From this distance on all are one group.
        farthest: usize,
    },
}

/// How the stream is normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// By mean and variance, with gain and bias.
    #[default]
    Layer,
    /// By the mean square, with a gain ([`rms_norm`](crate::ops::rms_norm)).
    Rms,
}

/// Which linear maps of layers have biases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinearBiases {
    /// All of them.
    #[default]
    All,
    /// Those that make queries, keys and values (Qwen2).
    Projections,
    /// None of them.
    None,
}

/// What sets embeddings apart from those of BERT and GPT-2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddingDesign {
    /// Width of the tables, from which a map leads to the stream (ALBERT); none where they are as wide as the stream.
    pub width: Option<usize>,
    /// Whether rows of the token table are multiplied by the root of their width.
    pub is_scaled: bool,
    /// Whether no norm follows the embeddings where norms come last.
    pub lacks_norm: bool,
}

/// The answers of a stack's cross-attention, which scores every pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossPlan {
    /// Which heads score at all.
    pub head_plan: HeadPlan,
    /// How a head scores a pair.
    pub compatibility: Compatibility,
}

impl StackPlan {
    /// Width of the rows of its tables.
    pub fn embedding_width(&self) -> usize {
        self.design.embedding.width.unwrap_or(self.width)
    }

    /// Rows of the table of positions; 0 where positions are not learned.
    pub fn position_rows(&self) -> usize {
        if self.design.positions == Positions::Learned { self.first_position + self.positions } else { 0 }
    }

    /// Whether a norm follows the embeddings.
    pub fn norms_embeddings(&self) -> bool {
        self.norm == NormPlacement::Post && !self.design.embedding.lacks_norm
    }

    /// Whether a norm follows the last layer.
    pub fn norms_last(&self) -> bool {
        self.norm == NormPlacement::Pre
    }

    /// Whether its layers can be a single operation; otherwise they are composed of small ones.
    pub fn is_fusible(&self) -> bool {
        let StackDesign { positions, norm, is_gated, biases, scales_scores, embedding: _, shares_layers } = self.design;
        matches!(positions, Positions::Learned | Positions::Sinusoidal)
            && norm == NormKind::Layer
            && biases == LinearBiases::All
            && scales_scores
            && !is_gated
            && !shares_layers
            && self.activation.gelu().is_some()
    }

    /// Whether its embeddings can be a single operation.
    pub fn has_plain_embeddings(&self) -> bool {
        let EmbeddingDesign { width, is_scaled, lacks_norm: _ } = self.design.embedding;
        self.design.positions == Positions::Learned
            && width.is_none()
            && !is_scaled
            && (self.design.norm == NormKind::Layer || !self.norms_embeddings())
    }

    /// The layer whose parameters layer `layer` has.
    pub fn parameters_of(&self, layer: usize) -> usize {
        if self.design.shares_layers { 0 } else { layer }
    }

    /// The heads of a layer, by a head plan of this stack's size.
    pub fn heads_of(&self, head_plan: &HeadPlan, layer: usize) -> LayerHeads {
        LayerHeads { width: self.width, ..LayerHeads::of(head_plan, layer, self.head_size) }
    }

    /// The same without a look at who borrows from the layer.
    pub fn heads_alone(&self, head_plan: &HeadPlan, layer: usize) -> LayerHeads {
        LayerHeads { width: self.width, ..LayerHeads::alone(head_plan, layer, self.head_size) }
    }

    /// What an attention of its layers is made of. `joins`: see [`StackPlan::joins_projections`].
    pub fn form(&self, compatibility: &Compatibility, heads: &LayerHeads, joins: bool) -> ScoringForm {
        let mut form = family(compatibility).form(heads, joins);
        if self.design.biases != LinearBiases::All {
            form.lacks_output_bias = true;
        }
        if self.design.biases == LinearBiases::None {
            for piece in &mut form.pieces {
                if let PieceForm::Map { bias, .. } = &mut piece.form {
                    *bias = false;
                }
            }
        }
        form
    }

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

    /// Why a cache has no meaning for it, and which has, as part of a sentence; none where it can be used.
    pub fn why_not_kept(&self, cache: &Cache) -> Option<&'static str> {
        let tells_pairs = matches!(self.design.positions, Positions::Rotary(_) | Positions::Relative { .. });
        match cache {
            Cache::KeyValue(_) | Cache::Hidden(_) if !self.coverage.is_full() => Some(
                "scores that follow from others need whole rows of pairs, so that nothing can be kept between tokens; \
                 generate with the cache \"none\"",
            ),
            Cache::Hidden(_) if tells_pairs => Some(
                "its positions are told to pairs of tokens, so that hidden states cannot stand for keys; generate with \
                 the cache \"key_value\" or \"none\"",
            ),
            Cache::None(_) | Cache::KeyValue(_) | Cache::Hidden(_) => None,
        }
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

/// The way from states to the token table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VocabularyHead {
    /// Whether `norm(activation(x W + b))` comes first, as in BERT.
    pub transforms: bool,
    /// Whether a bias over the vocabulary is added.
    pub has_bias: bool,
    /// Which table the states are compared with.
    pub table: HeadTable,
    /// The activation of the transform where it is another than that of the stack (`RoBERTa`, ELECTRA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
}

/// The table of a vocabulary head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadTable {
    /// The token table of the embeddings.
    #[default]
    Tied,
    /// The same, after states were divided by the root of their width (T5).
    TiedScaled,
    /// One of its own.
    Own,
    /// The same, after states were divided by the root of their width (T5 whose files hold another head).
    OwnScaled,
}

impl HeadTable {
    /// True if the head has another table than the embeddings.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::OwnScaled)
    }

    /// True if states are divided by the root of their width before they are compared.
    pub fn is_scaled(self) -> bool {
        matches!(self, Self::TiedScaled | Self::OwnScaled)
    }
}
