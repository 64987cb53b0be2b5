//! ELECTRA (Clark et al., 2020): a BERT that tells which tokens were replaced, and the small one that replaces them. Its tables may be narrower than
//! its stream.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes, keys::Ending};
use crate::{
    attention::{BERT, ModelPlan, Naming, OutputPlan, Preset, StackName, VocabularyHead},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, NameTable},
    ops::{Activation, Gelu},
};

pub(super) struct Electra;

const NAMES: &[NameRow] = &[
    ("input.tokens", "electra.embeddings.word_embeddings"),
    ("input.types", "electra.embeddings.token_type_embeddings"),
    ("encoder.positions", "electra.embeddings.position_embeddings"),
    ("encoder.embedding_norm", "electra.embeddings.LayerNorm"),
    ("encoder.{}.self.norm", "electra.encoder.layer.{}.attention.output.LayerNorm"),
    ("encoder.{}.self.output", "electra.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "electra.encoder.layer.{}.attention.self"),
    ("encoder.{}.feed_forward.norm", "electra.encoder.layer.{}.output.LayerNorm"),
    ("encoder.{}.feed_forward.in", "electra.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "electra.encoder.layer.{}.output.dense"),
    ("input.projection", "electra.embeddings_project"),
    ("head.replaced", "discriminator_predictions.dense_prediction"),
    ("head.norm", "generator_predictions.LayerNorm"),
    ("head.bias", "generator_lm_head.bias"),
    ("head.tokens", "generator_lm_head"),
    ("head.pooler", "classifier.dense"),
    ("head.classes", "classifier.out_proj"),
    ("head.span", "qa_outputs"),
];

const DISCRIMINATOR: &[NameRow] = &[("head.dense", "discriminator_predictions.dense")];
const GENERATOR: &[NameRow] = &[("head.dense", "generator_predictions.dense")];

const CLASSES: [&str; 5] = [
    "HeadroomElectraForPreTraining",
    "HeadroomElectraForMaskedLM",
    "HeadroomElectraForSequenceClassification",
    "HeadroomElectraForQuestionAnswering",
    "HeadroomElectraModel",
];

impl Family for Electra {
    fn model_types(&self) -> &'static [&'static str] {
        &["electra"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        let [replaced, tokens, classes, span, states] = CLASSES;
        match plan.head {
            OutputPlan::Replaced => replaced,
            OutputPlan::Vocabulary(_) => tokens,
            OutputPlan::Classes { .. } => classes,
            OutputPlan::Span => span,
            OutputPlan::States { .. } => states,
        }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "electra.",
            wrapper: None,
            words: "electra.embeddings.word_embeddings.weight",
            inputs: &[],
            head: "generator_lm_head.weight",
            head_bias: None,
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        let class = match plan.head {
            OutputPlan::Replaced => "ElectraForPreTraining",
            OutputPlan::Vocabulary(_) => "ElectraForMaskedLM",
            OutputPlan::Classes { .. } => "ElectraForSequenceClassification",
            OutputPlan::Span => "ElectraForQuestionAnswering",
            OutputPlan::States { .. } => "ElectraModel",
        };
        match plan.stack.norm {
            NormPlacement::Post => Ok(("electra", class)),
            NormPlacement::Pre => Err("an ELECTRA with norm first"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        let more = json!({
            "embedding_size": plan.stack.embedding_width(),
            "max_position_embeddings": plan.stack.positions,
            "type_vocab_size": plan.token_types(),
        });
        settings.extend(more.as_object().cloned().unwrap_or_default());
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let norm = own.norm.unwrap_or(NormPlacement::Post);
        let mut preset = Preset { naming: Naming::Electra, norm, ..BERT };
        preset.activation = keys.activation("hidden_act", "gelu")?;
        keys.demand("position_embedding_type", &[json!("absolute")])?;
        preset.token_types = keys.count_or("type_vocab_size", 2)?;
        let sizes = keys.bert_sizes(keys.count("max_position_embeddings")?)?;
        let embedding = keys.count_or("embedding_size", sizes.width)?;
        preset.design.embedding.width = (embedding != sizes.width).then_some(embedding);
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let attention = keys.with_pruned(own, &sizes)?;
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &attention, own.length)?;
        // The activation of a generator's head and of a classifier's is exact GELU, whatever that of the layers is.
        let gelu = Activation::Gelu(Gelu::Exact);
        let usual = VocabularyHead { activation: Some(gelu), ..preset.vocabulary_head };
        let is_generator = keys.class().is_some_and(|class| class.ends_with("ForMaskedLM"));
        let head = match keys.ending(&[]) {
            Ending::Tokens | Ending::States | Ending::Unsaid if keys.holds("discriminator_predictions.") => {
                OutputPlan::Replaced
            }
            Ending::Tokens if !is_generator && !keys.holds("generator_") => OutputPlan::Replaced,
            _ => keys.encoder_head(&[], gelu, usual, &["generator_"], &[])?,
        };
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        let head = match plan.head {
            OutputPlan::Vocabulary(_) => NameTable(&[GENERATOR]),
            OutputPlan::Replaced | OutputPlan::Classes { .. } | OutputPlan::Span | OutputPlan::States { .. } => {
                NameTable(&[DISCRIMINATOR])
            }
        };
        FileNames {
            tables: vec![NameTable(&[NAMES]), head],
            base: "electra.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["discriminator_predictions.", "generator_", "classifier.", "qa_outputs."],
            unused: match plan.head {
                OutputPlan::Vocabulary(_) => &["discriminator_predictions.", "electra.embeddings.position_ids"],
                OutputPlan::Replaced => &["generator_", "electra.embeddings.position_ids"],
                OutputPlan::Classes { .. } | OutputPlan::Span | OutputPlan::States { .. } => {
                    &["generator_", "discriminator_predictions.", "electra.embeddings.position_ids"]
                }
            },
            unused_ends: &[],
        }
    }
}
