//! GPT-2 (Radford et al., 2019). With norms last it is a model of our own.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own};
use crate::{
    attention::{GPT2, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{ModelConfig, NormPlacement},
    model::seed_names,
};

/// Its names stand in `model/name_table.rs`.
pub(super) struct Gpt2;

impl Family for Gpt2 {
    fn model_types(&self) -> &'static [&'static str] {
        &["gpt2"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &["HeadroomDecoder"]
    }

    fn own_class(&self, _: &ModelPlan) -> &'static str {
        "HeadroomDecoder"
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Pre => Ok(("gpt2", "GPT2LMHeadModel")),
            NormPlacement::Post => Err("decoders with norm last (model.norm = \"post\"; \"pre\" is that of GPT-2)"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let stack = &plan.stack;
        json!({
            "activation_function": "gelu_new",
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
        keys.demand("activation_function", &[json!("gelu_new"), json!("gelu_pytorch_tanh")])?;
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
        let stack = keys.stack(&preset, StackName::Decoder, &sizes, &own.attention, own.length)?;
        keys.text(&preset, None, stack, OutputPlan::Vocabulary(preset.vocabulary_head))
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![seed_names(plan)],
            base: "transformer.",
            is_base: false,
            others: &["lm_head."],
            unused: &["lm_head.weight"],
            unused_ends: &[".attn.bias", ".attn.masked_bias"],
        }
    }
}
