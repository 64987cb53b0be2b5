//! `RoBERTa` (Liu et al., 2019), XLM-RoBERTa and `CamemBERT`: BERT with other names, whose positions begin at row 2. Positions count padding
//! on the left too there; texts are padded on the right here.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes};
use crate::{
    attention::{BERT, ModelPlan, Naming, OutputPlan, Preset, StackName, VocabularyHead},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, NameTable},
    ops::{Activation, Gelu},
};

pub(super) struct Roberta;

const NAMES: &[NameRow] = &[
    ("input.tokens", "roberta.embeddings.word_embeddings"),
    ("input.types", "roberta.embeddings.token_type_embeddings"),
    ("encoder.positions", "roberta.embeddings.position_embeddings"),
    ("encoder.embedding_norm", "roberta.embeddings.LayerNorm"),
    ("encoder.{}.self.norm", "roberta.encoder.layer.{}.attention.output.LayerNorm"),
    ("encoder.{}.self.output", "roberta.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "roberta.encoder.layer.{}.attention.self"),
    ("encoder.{}.feed_forward.norm", "roberta.encoder.layer.{}.output.LayerNorm"),
    ("encoder.{}.feed_forward.in", "roberta.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "roberta.encoder.layer.{}.output.dense"),
    ("head.tokens", "lm_head.decoder"),
    ("head.dense", "lm_head.dense"),
    ("head.norm", "lm_head.layer_norm"),
    ("head.bias", "lm_head.bias"),
    ("head.classes", "classifier.out_proj"),
    ("head.span", "qa_outputs"),
];

/// Its classifier has a map of its own; without a head it has BERT's pooler.
const CLASSIFIER: &[NameRow] = &[("head.pooler", "classifier.dense")];
const POOLER: &[NameRow] = &[("head.pooler", "roberta.pooler.dense")];

const FIRST_POSITION: usize = 2;

impl Family for Roberta {
    fn model_types(&self) -> &'static [&'static str] {
        &["roberta", "xlm-roberta", "camembert"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &[
            "HeadroomRobertaForMaskedLM",
            "HeadroomRobertaForSequenceClassification",
            "HeadroomRobertaForQuestionAnswering",
            "HeadroomRobertaModel",
        ]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        match plan.head {
            OutputPlan::Vocabulary(_) => "HeadroomRobertaForMaskedLM",
            OutputPlan::Classes { .. } => "HeadroomRobertaForSequenceClassification",
            OutputPlan::Span => "HeadroomRobertaForQuestionAnswering",
            OutputPlan::Replaced | OutputPlan::States { .. } => "HeadroomRobertaModel",
        }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "roberta.",
            wrapper: None,
            words: "roberta.embeddings.word_embeddings.weight",
            inputs: &[],
            head: "lm_head.decoder.weight",
            head_bias: Some(("lm_head.decoder.bias", "lm_head.bias")),
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        let class = match plan.head {
            OutputPlan::Vocabulary(_) => "RobertaForMaskedLM",
            OutputPlan::Classes { .. } => "RobertaForSequenceClassification",
            OutputPlan::Span => "RobertaForQuestionAnswering",
            OutputPlan::States { .. } => "RobertaModel",
            OutputPlan::Replaced => return Err("a RoBERTa that tells replaced tokens"),
        };
        match plan.stack.norm {
            NormPlacement::Post => Ok(("roberta", class)),
            NormPlacement::Pre => Err("a RoBERTa with norm first"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        let more = json!({
            "is_decoder": false,
            "max_position_embeddings": plan.stack.first_position + plan.stack.positions,
            "type_vocab_size": plan.token_types(),
            "use_cache": false,
        });
        settings.extend(more.as_object().cloned().unwrap_or_default());
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset {
            naming: Naming::Roberta,
            norm: own.norm.unwrap_or(NormPlacement::Post),
            first_position: FIRST_POSITION,
            ..BERT
        };
        preset.activation = keys.activation("hidden_act", "gelu")?;
        keys.demand("position_embedding_type", &[json!("absolute")])?;
        keys.demand("is_decoder", &[json!(false)])?;
        keys.demand("pad_token_id", &[json!(FIRST_POSITION - 1)])?;
        preset.token_types = keys.count_or("type_vocab_size", 1)?;
        let positions = keys.count("max_position_embeddings")?;
        let sizes = keys.bert_sizes(positions.saturating_sub(FIRST_POSITION))?;
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let attention = keys.with_pruned(own, &sizes)?;
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &attention, own.length)?;
        // The activation of its head is exact GELU, whatever that of its layers is.
        let usual = VocabularyHead { activation: Some(Activation::Gelu(Gelu::Exact)), ..preset.vocabulary_head };
        let head = keys.encoder_head(&[], Activation::Tanh, usual, &["lm_head."], &["pooler.", "roberta.pooler."])?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        let is_base = matches!(plan.head, OutputPlan::States { .. });
        FileNames {
            tables: vec![NameTable(&[NAMES]), NameTable(if is_base { &[POOLER] } else { &[CLASSIFIER] })],
            base: "roberta.",
            wrapper: None,
            is_base,
            others: &["lm_head.", "classifier.", "qa_outputs."],
            unused: match plan.head {
                OutputPlan::States { pools: true } => &["lm_head.", "roberta.embeddings.position_ids"],
                OutputPlan::Vocabulary(_) => &["roberta.pooler.", "roberta.embeddings.position_ids"],
                OutputPlan::Classes { .. }
                | OutputPlan::Span
                | OutputPlan::Replaced
                | OutputPlan::States { pools: false } => {
                    &["lm_head.", "roberta.pooler.", "roberta.embeddings.position_ids"]
                }
            },
            unused_ends: &[],
        }
    }
}
