//! ALBERT (Lan et al., 2020): a BERT whose layers are one and the same, and whose tables are narrower than its stream.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes, keys::activation_word};
use crate::{
    attention::{BERT, ModelPlan, Naming, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, NameTable},
    ops::Activation,
};

pub(super) struct Albert;

/// The parameters of its layers are those of our first one.
const NAMES: &[NameRow] = &[
    ("input.tokens", "albert.embeddings.word_embeddings"),
    ("input.types", "albert.embeddings.token_type_embeddings"),
    ("encoder.positions", "albert.embeddings.position_embeddings"),
    ("encoder.embedding_norm", "albert.embeddings.LayerNorm"),
    ("input.projection", "albert.encoder.embedding_hidden_mapping_in"),
    ("encoder.0.self.norm", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm"),
    ("encoder.0.self.output", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense"),
    ("encoder.0.self", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention"),
    ("encoder.0.feed_forward.norm", "albert.encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm"),
    ("encoder.0.feed_forward.in", "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn"),
    ("encoder.0.feed_forward.out", "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output"),
    ("head.tokens", "predictions.decoder"),
    ("head.dense", "predictions.dense"),
    ("head.norm", "predictions.LayerNorm"),
    ("head.bias", "predictions.bias"),
    ("head.pooler", "albert.pooler"),
    ("head.classes", "classifier"),
    ("head.span", "qa_outputs"),
];

const CLASSES: [&str; 4] = [
    "HeadroomAlbertForMaskedLM",
    "HeadroomAlbertForSequenceClassification",
    "HeadroomAlbertForQuestionAnswering",
    "HeadroomAlbertModel",
];

impl Family for Albert {
    fn model_types(&self) -> &'static [&'static str] {
        &["albert"]
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
            base: "albert.",
            wrapper: None,
            words: "albert.embeddings.word_embeddings.weight",
            inputs: &[],
            head: "predictions.decoder.weight",
            head_bias: Some(("predictions.decoder.bias", "predictions.bias")),
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        let class = match plan.head {
            OutputPlan::Vocabulary(_) => "AlbertForMaskedLM",
            OutputPlan::Classes { .. } => "AlbertForSequenceClassification",
            OutputPlan::Span => "AlbertForQuestionAnswering",
            OutputPlan::States { .. } => "AlbertModel",
            OutputPlan::Replaced => return Err("an ALBERT that tells replaced tokens"),
        };
        match plan.stack.norm {
            NormPlacement::Post => Ok(("albert", class)),
            NormPlacement::Pre => Err("an ALBERT with norm first"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        let more = json!({
            "embedding_size": plan.stack.embedding_width(),
            "hidden_act": activation_word(plan.stack.activation),
            "inner_group_num": 1,
            "max_position_embeddings": plan.stack.positions,
            "num_hidden_groups": 1,
            "type_vocab_size": plan.token_types(),
        });
        settings.extend(more.as_object().cloned().unwrap_or_default());
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        keys.demand_all_heads()?;
        let norm = own.norm.unwrap_or(NormPlacement::Post);
        let mut preset = Preset { naming: Naming::Albert, norm, ..BERT };
        preset.activation = keys.activation("hidden_act", "gelu_new")?;
        keys.demand("position_embedding_type", &[json!("absolute")])?;
        keys.demand("num_hidden_groups", &[json!(1)])?;
        keys.demand("inner_group_num", &[json!(1)])?;
        preset.token_types = keys.count_or("type_vocab_size", 2)?;
        let sizes = keys.bert_sizes(keys.count("max_position_embeddings")?)?;
        preset.design.embedding.width = Some(keys.count_or("embedding_size", 128)?);
        preset.design.shares_layers = true;
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &own.attention, own.length)?;
        let (usual, poolers) = (preset.vocabulary_head, ["pooler.", "albert.pooler."]);
        let head = keys.encoder_head(&[], Activation::Tanh, usual, &["predictions."], &poolers)?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NameTable(&[NAMES])],
            base: "albert.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["predictions.", "sop_classifier.", "classifier.", "qa_outputs."],
            unused: match plan.head {
                OutputPlan::Vocabulary(_) => &["sop_classifier.", "albert.pooler.", "albert.embeddings.position_ids"],
                OutputPlan::Classes { .. } | OutputPlan::States { pools: true } => {
                    &["predictions.", "sop_classifier.", "albert.embeddings.position_ids"]
                }
                OutputPlan::Span | OutputPlan::Replaced | OutputPlan::States { pools: false } => {
                    &["predictions.", "sop_classifier.", "albert.pooler.", "albert.embeddings.position_ids"]
                }
            },
            unused_ends: &[],
        }
    }
}
