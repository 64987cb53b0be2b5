//! `DistilBERT` (Sanh et al., 2019): BERT without token types, in half as many layers.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, keys::activation_word};
use crate::{
    attention::{BERT, ModelPlan, Naming, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{ModelConfig, NormPlacement},
    model::{NameRow, NameTable},
    ops::Activation,
};

pub(super) struct DistilBert;

const NAMES: &[NameRow] = &[
    ("input.tokens", "distilbert.embeddings.word_embeddings"),
    ("encoder.positions", "distilbert.embeddings.position_embeddings"),
    ("encoder.embedding_norm", "distilbert.embeddings.LayerNorm"),
    ("encoder.{}.self.query", "distilbert.transformer.layer.{}.attention.q_lin"),
    ("encoder.{}.self.key", "distilbert.transformer.layer.{}.attention.k_lin"),
    ("encoder.{}.self.value", "distilbert.transformer.layer.{}.attention.v_lin"),
    ("encoder.{}.self.output", "distilbert.transformer.layer.{}.attention.out_lin"),
    ("encoder.{}.self.norm", "distilbert.transformer.layer.{}.sa_layer_norm"),
    ("encoder.{}.feed_forward.in", "distilbert.transformer.layer.{}.ffn.lin1"),
    ("encoder.{}.feed_forward.out", "distilbert.transformer.layer.{}.ffn.lin2"),
    ("encoder.{}.feed_forward.norm", "distilbert.transformer.layer.{}.output_layer_norm"),
    ("head.dense", "vocab_transform"),
    ("head.norm", "vocab_layer_norm"),
    ("head.bias", "vocab_projector.bias"),
    ("head.tokens", "vocab_projector"),
    ("head.pooler", "pre_classifier"),
    ("head.classes", "classifier"),
    ("head.span", "qa_outputs"),
];

const CLASSES: [&str; 4] = [
    "HeadroomDistilBertForMaskedLM",
    "HeadroomDistilBertForSequenceClassification",
    "HeadroomDistilBertForQuestionAnswering",
    "HeadroomDistilBertModel",
];

impl Family for DistilBert {
    fn model_types(&self) -> &'static [&'static str] {
        &["distilbert"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        let [tokens, classes, span, states] = CLASSES;
        match plan.head {
            OutputPlan::Vocabulary(_) => tokens,
            OutputPlan::Classes { .. } => classes,
            OutputPlan::Span => span,
            OutputPlan::Replaced | OutputPlan::States { .. } => states,
        }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "distilbert.",
            wrapper: None,
            words: "distilbert.embeddings.word_embeddings.weight",
            inputs: &[],
            head: "vocab_projector.weight",
            head_bias: None,
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        let class = match plan.head {
            OutputPlan::Vocabulary(_) => "DistilBertForMaskedLM",
            OutputPlan::Classes { .. } => "DistilBertForSequenceClassification",
            OutputPlan::Span => "DistilBertForQuestionAnswering",
            OutputPlan::States { .. } => "DistilBertModel",
            OutputPlan::Replaced => return Err("a DistilBERT that tells replaced tokens"),
        };
        match plan.stack.norm {
            NormPlacement::Post => Ok(("distilbert", class)),
            NormPlacement::Pre => Err("a DistilBERT with norm first"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let stack = &plan.stack;
        json!({
            "activation": activation_word(stack.activation),
            "attention_dropout": stack.dropout,
            "dim": stack.width,
            "dropout": stack.dropout,
            "hidden_dim": stack.feed_forward,
            "max_position_embeddings": stack.positions,
            "n_heads": stack.heads,
            "n_layers": stack.layers,
            "sinusoidal_pos_embds": false,
        })
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let norm = own.norm.unwrap_or(NormPlacement::Post);
        let mut preset = Preset { naming: Naming::DistilBert, norm, token_types: 0, ..BERT };
        preset.activation = keys.activation("activation", "gelu")?;
        let sizes = ModelConfig {
            layers: keys.count("n_layers")?,
            heads: keys.count("n_heads")?,
            width: keys.count("dim")?,
            feed_forward: keys.count("hidden_dim")?,
            dropout: keys.number("dropout", 0.1)?,
            positions: Some(keys.count("max_position_embeddings")?),
            ..ModelConfig::default()
        };
        let attention = keys.with_pruned(own, &sizes)?;
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &attention, own.length)?;
        let head = keys.encoder_head(&[], Activation::Relu, preset.vocabulary_head, &["vocab_"], &[])?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NameTable(&[NAMES])],
            base: "distilbert.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["vocab_", "pre_classifier.", "classifier.", "qa_outputs."],
            unused: match plan.head {
                OutputPlan::Vocabulary(_) => &[],
                OutputPlan::Classes { .. } | OutputPlan::Span | OutputPlan::Replaced | OutputPlan::States { .. } => {
                    &["vocab_"]
                }
            },
            unused_ends: &[],
        }
    }
}
