//! What families of models fix beside their sizes, as data.

use serde::{Deserialize, Serialize};

use super::{
    EmbeddingDesign, HeadPlan, HeadTable, LinearBiases, NormKind, Positions, StackDesign, StackName, StackPlan,
    VocabularyHead, supported::supported_answers,
};
use crate::{
    config::{AttentionConfig, ModelConfig, ModelKind, NormPlacement, Problem},
    ops::{Activation, Gelu, Orientation},
};

/// Whose names the parameters of a model have in files, and by whose they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// BERT, and with norms first `MegatronBERT`.
    Bert,
    /// GPT-2.
    Gpt2,
    /// BART.
    Bart,
    /// `ViT`.
    Vit,
    /// `RoBERTa`.
    Roberta,
    /// `DistilBERT`.
    DistilBert,
    /// ELECTRA.
    Electra,
    /// ALBERT.
    Albert,
    /// `DeiT`.
    Deit,
    /// Marian.
    Marian,
    /// Llama, Mistral and Qwen2.
    Llama,
    /// T5.
    T5,
}

impl Naming {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Bert,
        Self::Gpt2,
        Self::Bart,
        Self::Vit,
        Self::Roberta,
        Self::DistilBert,
        Self::Electra,
        Self::Albert,
        Self::Deit,
        Self::Marian,
        Self::Llama,
        Self::T5,
    ];
}

/// Everything of a family's plans but their sizes and their answers about attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Whose names its parameters have.
    pub naming: Naming,
    /// The stack whose states its head reads. A decoder is causal.
    pub stack: StackName,
    /// Where layer norm stands.
    pub norm: NormPlacement,
    /// Added to the variance in layer norm.
    pub norm_epsilon: f64,
    /// What stands between the two maps of the feed-forward block.
    pub activation: Activation,
    /// How matrices lie.
    pub matrices: Orientation,
    /// See [`StackPlan::joins_projections`].
    pub joins_projections: bool,
    /// See [`StackPlan::shrinks_outputs`].
    pub shrinks_outputs: bool,
    /// See [`StackPlan::first_position`].
    pub first_position: usize,
    /// Token types; 0: none.
    pub token_types: usize,
    /// See [`StackPlan::design`].
    pub design: StackDesign,
    /// The way from states to the vocabulary.
    pub vocabulary_head: VocabularyHead,
}

/// The design of BERT and GPT-2.
const USUAL: StackDesign = StackDesign {
    positions: Positions::Learned,
    norm: NormKind::Layer,
    is_gated: false,
    biases: LinearBiases::All,
    scales_scores: true,
    embedding: EmbeddingDesign { width: None, is_scaled: false, lacks_norm: false },
    shares_layers: false,
};

/// BERT (Devlin et al., 2019), and with [`NormPlacement::Pre`] `MegatronBERT` (Shoeybi et al., 2019).
pub const BERT: Preset = Preset {
    naming: Naming::Bert,
    stack: StackName::Encoder,
    norm: NormPlacement::Post,
    norm_epsilon: 1e-12,
    activation: Activation::Gelu(Gelu::Exact),
    matrices: Orientation::OutputsFirst,
    joins_projections: false,
    shrinks_outputs: false,
    first_position: 0,
    token_types: 2,
    design: USUAL,
    vocabulary_head: VocabularyHead { transforms: true, has_bias: true, table: HeadTable::Tied, activation: None },
};

/// GPT-2 (Radford et al., 2019).
pub const GPT2: Preset = Preset {
    naming: Naming::Gpt2,
    stack: StackName::Decoder,
    norm: NormPlacement::Pre,
    norm_epsilon: 1e-5,
    activation: Activation::Gelu(Gelu::Tanh),
    matrices: Orientation::InputsFirst,
    joins_projections: true,
    shrinks_outputs: true,
    first_position: 0,
    token_types: 0,
    design: USUAL,
    vocabulary_head: VocabularyHead { transforms: false, has_bias: false, table: HeadTable::Tied, activation: None },
};

/// BART (Lewis et al., 2020): the half that writes; its encoder is one more stack.
pub const BART: Preset = Preset {
    naming: Naming::Bart,
    stack: StackName::Decoder,
    norm_epsilon: 1e-5,
    first_position: 2,
    token_types: 0,
    vocabulary_head: VocabularyHead { transforms: false, has_bias: true, table: HeadTable::Tied, activation: None },
    ..BERT
};

/// `ViT` (Dosovitskiy et al., 2021).
pub const VIT: Preset = Preset { naming: Naming::Vit, norm: NormPlacement::Pre, token_types: 0, ..BERT };

impl Preset {
    /// What a config asks for by its `model.kind` and `model.norm`.
    pub fn of(model: &ModelConfig) -> Self {
        let family = match model.kind {
            ModelKind::Encoder => BERT,
            ModelKind::Decoder => GPT2,
            ModelKind::EncoderDecoder => BART,
        };
        Self { norm: model.norm, ..family }
    }

    /// [`Self::stack`] of sizes and answers that nobody has checked yet.
    ///
    /// # Errors
    /// Every problem at once, by the field that it would have in a config.
    pub fn checked_stack(
        &self,
        name: StackName,
        model: &ModelConfig,
        attention: &AttentionConfig,
        length: usize,
    ) -> Result<StackPlan, Vec<Problem>> {
        let mut problems = model.problems(attention, length);
        let fields: Vec<String> = problems.iter().map(|problem| problem.field.clone()).collect();
        problems.extend(supported_answers(model, attention).into_iter().filter(|found| !fields.contains(&found.field)));
        if problems.is_empty() { self.stack(name, model, attention, length) } else { Err(problems) }
    }

    /// A stack with the sizes of `model` and the answers of `attention`, for sequences of `length` tokens. Nothing is
    /// checked but that there is such a head plan; `model` says neither the family nor where norms stand.
    ///
    /// # Errors
    /// If the schedule does not fit the sizes.
    pub fn stack(
        &self,
        name: StackName,
        model: &ModelConfig,
        attention: &AttentionConfig,
        length: usize,
    ) -> Result<StackPlan, Vec<Problem>> {
        let positions = model.positions.unwrap_or(length);
        Ok(StackPlan {
            name,
            is_causal: name == StackName::Decoder,
            layers: model.layers,
            heads: model.heads,
            head_size: model.head_size(),
            width: model.width,
            feed_forward: model.feed_forward,
            activation: self.activation,
            dropout: model.dropout,
            norm: self.norm,
            norm_epsilon: self.norm_epsilon,
            positions,
            first_position: self.first_position,
            matrices: self.matrices,
            joins_projections: self.joins_projections,
            shrinks_outputs: self.shrinks_outputs,
            head_plan: HeadPlan::derive(attention, model.layers, model.heads)?,
            compatibility: attention.compatibility.clone(),
            coverage: attention.coverage.of_model(),
            coverage_tokens: (!attention.coverage.is_full() && length < positions).then_some(length),
            design: self.design,
            cross: None,
        })
    }
}
