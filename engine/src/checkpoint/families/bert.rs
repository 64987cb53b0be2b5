//! BERT (Devlin et al., 2019), and with norms first `MegatronBERT` (Shoeybi et al., 2019): masked language, classes, spans, and
//! without a head, as models of sentences are.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes};
use crate::{
    attention::{BERT, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, NameTable, seed_names},
    ops::Activation,
};

pub(super) struct Bert;

/// What BERTs end in that predict no tokens. Their other names stand in `model/name_table.rs`.
const HEADS: &[NameRow] = &[
    ("head.tokens", "cls.predictions.decoder"),
    ("head.pooler", "bert.pooler.dense"),
    ("head.classes", "classifier"),
    ("head.span", "qa_outputs"),
];

const MEGATRON: &str = "megatron-bert";

const OWN_TOKENS: &str = "HeadroomEncoder";
const OWN_CLASSES: &str = "HeadroomEncoderForSequenceClassification";
const OWN_SPAN: &str = "HeadroomEncoderForQuestionAnswering";
const OWN_STATES: &str = "HeadroomEncoderModel";
const BERT_CLASSES: &str = "BertForSequenceClassification";
const BERT_SPAN: &str = "BertForQuestionAnswering";
const BERT_STATES: &str = "BertModel";
const MEGATRON_CLASSES: &str = "MegatronBertForSequenceClassification";
const MEGATRON_SPAN: &str = "MegatronBertForQuestionAnswering";
const MEGATRON_STATES: &str = "MegatronBertModel";

impl Family for Bert {
    fn model_types(&self) -> &'static [&'static str] {
        &["bert", MEGATRON]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &[OWN_TOKENS, OWN_CLASSES, OWN_SPAN, OWN_STATES]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        match plan.head {
            OutputPlan::Vocabulary(_) => OWN_TOKENS,
            OutputPlan::Classes { .. } => OWN_CLASSES,
            OutputPlan::Span => OWN_SPAN,
            OutputPlan::Replaced | OutputPlan::States { .. } => OWN_STATES,
        }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "bert.",
            wrapper: None,
            words: "bert.embeddings.word_embeddings.weight",
            inputs: &[],
            head: "cls.predictions.decoder.weight",
            head_bias: Some(("cls.predictions.decoder.bias", "cls.predictions.bias")),
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        Ok(match (plan.stack.norm, plan.head) {
            (_, OutputPlan::Replaced) => return Err("BERTs that tell replaced tokens"),
            (NormPlacement::Post, OutputPlan::Vocabulary(_)) => ("bert", "BertForMaskedLM"),
            (NormPlacement::Post, OutputPlan::Classes { .. }) => ("bert", BERT_CLASSES),
            (NormPlacement::Post, OutputPlan::Span) => ("bert", BERT_SPAN),
            (NormPlacement::Post, OutputPlan::States { .. }) => ("bert", BERT_STATES),
            (NormPlacement::Pre, OutputPlan::Vocabulary(_)) => (MEGATRON, "MegatronBertForMaskedLM"),
            (NormPlacement::Pre, OutputPlan::Classes { .. }) => (MEGATRON, MEGATRON_CLASSES),
            (NormPlacement::Pre, OutputPlan::Span) => (MEGATRON, MEGATRON_SPAN),
            (NormPlacement::Pre, OutputPlan::States { .. }) => (MEGATRON, MEGATRON_STATES),
        })
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        let more = json!({
            "is_decoder": false,
            "max_position_embeddings": plan.stack.positions,
            "type_vocab_size": plan.token_types(),
            "use_cache": false,
        });
        settings.extend(more.as_object().cloned().unwrap_or_default());
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let norm = match own.norm {
            Some(norm) => norm,
            None if keys.word("model_type")? == MEGATRON => NormPlacement::Pre,
            None => NormPlacement::Post,
        };
        let mut preset = Preset { norm, ..BERT };
        preset.activation = keys.activation("hidden_act", "gelu")?;
        keys.demand("position_embedding_type", &[json!("absolute")])?;
        keys.demand("is_decoder", &[json!(false)])?;
        if keys.written.contains_key("type_vocab_size") {
            preset.token_types = keys.count("type_vocab_size")?;
        }
        let sizes = keys.bert_sizes(keys.count("max_position_embeddings")?)?;
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let attention = keys.with_pruned(own, &sizes)?;
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &attention, own.length)?;
        let (usual, poolers) = (preset.vocabulary_head, ["pooler.", "bert.pooler."]);
        let head = keys.encoder_head(&[OWN_TOKENS], Activation::Tanh, usual, &["cls.predictions."], &poolers)?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![seed_names(plan), NameTable(&[HEADS])],
            base: "bert.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["cls.", "classifier.", "qa_outputs."],
            unused: match plan.head {
                OutputPlan::Classes { .. } | OutputPlan::States { pools: true } => {
                    &["cls.", "bert.embeddings.position_ids"]
                }
                OutputPlan::Span | OutputPlan::Replaced | OutputPlan::States { pools: false } => {
                    &["cls.", "bert.pooler.", "bert.embeddings.position_ids"]
                }
                OutputPlan::Vocabulary(_) => &["cls.seq_relationship.", "bert.pooler.", "bert.embeddings.position_ids"],
            },
            unused_ends: &[],
        }
    }
}
