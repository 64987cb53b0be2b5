//! GPT-2 (Radford et al., 2019). With norms last it is a model of our own.

use serde_json::Value;

use super::{
    Family, FileNames, Keys, Own, Ties,
    size_keys::{Fixed, SizeKeys},
};
use crate::{
    attention::{GPT2, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, seed_names},
};

/// Its names stand in `model/name_table.rs`.
pub(super) struct Gpt2;

/// The head's table, where it is none of the embeddings.
const HEAD: &[NameRow] = &[("head.tokens", "lm_head")];

const KEYS: SizeKeys = SizeKeys {
    layers: "n_layer",
    heads: "n_head",
    width: "n_embd",
    feed_forward: "n_inner",
    derives_feed_forward: true,
    positions: Some("n_positions"),
    dropouts: &["resid_pdrop", "attn_pdrop", "embd_pdrop"],
    activation: ("activation_function", "gelu_new"),
    epsilon: Some("layer_norm_epsilon"),
    token_types: None,
    embedding: None,
    written: &[
        ("reorder_and_upcast_attn", Fixed::Flag(false)),
        ("scale_attn_by_inverse_layer_idx", Fixed::Flag(false)),
        ("scale_attn_weights", Fixed::Flag(true)),
        ("use_cache", Fixed::Flag(true)),
    ],
    demanded: &[
        ("scale_attn_weights", Fixed::Flag(true)),
        ("scale_attn_by_inverse_layer_idx", Fixed::Flag(false)),
        ("add_cross_attention", Fixed::Flag(false)),
    ],
};

impl Family for Gpt2 {
    fn model_types(&self) -> &'static [&'static str] {
        &["gpt2"]
    }

    fn own_classes(&self) -> Vec<&'static str> {
        vec!["HeadroomDecoder", "HeadroomDecoderModel"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        if matches!(plan.head, OutputPlan::States { .. }) { "HeadroomDecoderModel" } else { "HeadroomDecoder" }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "transformer.",
            wrapper: None,
            words: "transformer.wte.weight",
            inputs: &[],
            head: "lm_head.weight",
            head_bias: None,
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Pre if matches!(plan.head, OutputPlan::States { .. }) => Ok(("gpt2", "GPT2Model")),
            NormPlacement::Pre => Ok(("gpt2", "GPT2LMHeadModel")),
            NormPlacement::Post => Err("decoders with norm last (model.norm = \"post\"; \"pre\" is that of GPT-2)"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        Value::Object(KEYS.write(plan))
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset { norm: own.norm.unwrap_or(NormPlacement::Pre), ..GPT2 };
        let sizes = KEYS.read(keys, &mut preset, 0)?;
        // Its queries, keys and values are one matrix, which has no name here where heads are missing.
        keys.demand_all_heads()?;
        let stack = keys.stack(&preset, StackName::Decoder, &sizes, &own.attention, own.length)?;
        let head = keys.decoder_head(&self.own_classes(), preset.vocabulary_head, &["lm_head."])?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: [seed_names(plan).0, &[HEAD]].concat(),
            base: "transformer.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["lm_head.", "multiple_choice_head.", "score.", "classifier.", "qa_outputs."],
            unused: Vec::new(),
            unused_ends: &[".attn.bias", ".attn.masked_bias"],
        }
    }
}
