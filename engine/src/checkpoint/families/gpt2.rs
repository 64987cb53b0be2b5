//! GPT-2 (Radford et al., 2019). With norms last it is a model of our own.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, keys::activation_word};
use crate::{
    attention::{GPT2, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{ModelConfig, NormPlacement},
    model::{NameRow, NameTable, seed_names},
};

/// Its names stand in `model/name_table.rs`.
pub(super) struct Gpt2;

/// The head's table, where it is none of the embeddings.
const HEAD: &[NameRow] = &[("head.tokens", "lm_head")];

impl Family for Gpt2 {
    fn model_types(&self) -> &'static [&'static str] {
        &["gpt2"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &["HeadroomDecoder", "HeadroomDecoderModel"]
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
        let stack = &plan.stack;
        json!({
            "activation_function": activation_word(stack.activation),
            "attn_pdrop": stack.dropout,
            "embd_pdrop": stack.dropout,
            "layer_norm_epsilon": stack.norm_epsilon,
            "n_embd": stack.width,
            "n_head": stack.heads,
            "n_inner": stack.feed_forward,
            "n_layer": stack.layers,
            "n_positions": stack.positions,
            "reorder_and_upcast_attn": false,
            "resid_pdrop": stack.dropout,
            "scale_attn_by_inverse_layer_idx": false,
            "scale_attn_weights": true,
            "use_cache": true,
        })
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset { norm: own.norm.unwrap_or(NormPlacement::Pre), ..GPT2 };
        preset.activation = keys.activation("activation_function", "gelu_new")?;
        keys.demand("scale_attn_weights", &[json!(true)])?;
        keys.demand("scale_attn_by_inverse_layer_idx", &[json!(false)])?;
        keys.demand("add_cross_attention", &[json!(false)])?;
        let width = keys.count("n_embd")?;
        let sizes = ModelConfig {
            layers: keys.count("n_layer")?,
            heads: keys.count("n_head")?,
            width,
            feed_forward: keys.count_or("n_inner", width.saturating_mul(4))?,
            dropout: keys.number("resid_pdrop", 0.1)?,
            positions: Some(keys.count("n_positions")?),
            ..ModelConfig::default()
        };
        preset.norm_epsilon = keys.epsilon("layer_norm_epsilon", &preset)?;
        // Its queries, keys and values are one matrix, which has no name here where heads are missing.
        keys.demand_all_heads()?;
        let stack = keys.stack(&preset, StackName::Decoder, &sizes, &own.attention, own.length)?;
        let head = keys.decoder_head(self.own_classes(), preset.vocabulary_head, &["lm_head."])?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![seed_names(plan), NameTable(&[HEAD])],
            base: "transformer.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["lm_head.", "multiple_choice_head.", "score.", "classifier.", "qa_outputs."],
            unused: &[],
            unused_ends: &[".attn.bias", ".attn.masked_bias"],
        }
    }
}
