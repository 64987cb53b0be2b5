//! Llama (Touvron et al., 2023), Mistral (Jiang et al., 2023) and Qwen2 (Yang et al., 2024): decoders whose queries and keys are turned by
//! their positions, with norms by the mean square and gated feed-forward blocks.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, keys::activation_word, rotary};
use crate::{
    attention::{
        BERT, HeadTable, LinearBiases, ModelPlan, Naming, NormKind, OutputPlan, Positions, Preset, StackName,
        StackPlan, VocabularyHead,
    },
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{Compatibility, Grouped, ModelConfig, NormPlacement},
    model::NameRow,
    ops::Rotation,
};

pub(super) struct Llama;

const NAMES: &[NameRow] = &[
    ("input.tokens", "model.embed_tokens"),
    ("decoder.final_norm", "model.norm"),
    ("decoder.{}.self.norm", "model.layers.{}.input_layernorm"),
    ("decoder.{}.self.query", "model.layers.{}.self_attn.q_proj"),
    ("decoder.{}.self.key", "model.layers.{}.self_attn.k_proj"),
    ("decoder.{}.self.value", "model.layers.{}.self_attn.v_proj"),
    ("decoder.{}.self.output", "model.layers.{}.self_attn.o_proj"),
    ("decoder.{}.feed_forward.norm", "model.layers.{}.post_attention_layernorm"),
    ("decoder.{}.feed_forward.gate", "model.layers.{}.mlp.gate_proj"),
    ("decoder.{}.feed_forward.in", "model.layers.{}.mlp.up_proj"),
    ("decoder.{}.feed_forward.out", "model.layers.{}.mlp.down_proj"),
    ("head.tokens", "lm_head"),
];

/// Beginning of names in files of Llamas with a head for spans.
const WRAPPER: &str = "transformer.";

const MISTRAL: &str = "mistral";
const QWEN2: &str = "qwen2";

/// Pairs of keys and values of a Mistral whose settings say nothing.
const USUAL_GROUPS: usize = 8;

impl Family for Llama {
    fn model_types(&self) -> &'static [&'static str] {
        &["llama", MISTRAL, QWEN2]
    }

    fn own_classes(&self) -> Vec<&'static str> {
        vec!["HeadroomLlama", "HeadroomQwen2", "HeadroomLlamaModel", "HeadroomQwen2Model"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        match (plan.stack.design.biases, plan.head) {
            (LinearBiases::Projections, OutputPlan::States { .. }) => "HeadroomQwen2Model",
            (LinearBiases::Projections, _) => "HeadroomQwen2",
            (_, OutputPlan::States { .. }) => "HeadroomLlamaModel",
            _ => "HeadroomLlama",
        }
    }

    /// Mistral's models are Llama's, in texts as long as its window.
    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match (plan.stack.norm, plan.head, plan.stack.design.biases) {
            (NormPlacement::Post, ..) => Err("a Llama with norm last"),
            (_, OutputPlan::States { .. }, LinearBiases::Projections) => Ok((QWEN2, "Qwen2Model")),
            (_, OutputPlan::States { .. }, _) => Ok(("llama", "LlamaModel")),
            (_, _, LinearBiases::Projections) => Ok((QWEN2, "Qwen2ForCausalLM")),
            _ => Ok(("llama", "LlamaForCausalLM")),
        }
    }

    fn knows(&self, compatibility: &Compatibility) -> bool {
        *compatibility == Compatibility::default() || matches!(compatibility, Compatibility::Grouped(_))
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "model.",
            wrapper: Some(WRAPPER),
            words: "model.embed_tokens.weight",
            inputs: &[],
            head: "lm_head.weight",
            head_bias: None,
        })
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let stack = &plan.stack;
        let groups = match &stack.compatibility {
            Compatibility::Grouped(grouped) => grouped.kv_heads,
            Compatibility::Standard(_)
            | Compatibility::Symmetric(_)
            | Compatibility::Pairwise(_)
            | Compatibility::SharedWeight(_)
            | Compatibility::Collaborative(_)
            | Compatibility::Latent(_)
            | Compatibility::TiedKv(_) => stack.heads,
        };
        let rotation = match stack.design.positions {
            Positions::Rotary(rotation) => rotation,
            Positions::Learned | Positions::Sinusoidal | Positions::Relative { .. } => Rotation::of(rotary::USUAL_BASE),
        };
        json!({
            "attention_bias": stack.design.biases == LinearBiases::All,
            "attention_dropout": stack.dropout,
            "head_dim": stack.head_size,
            "hidden_act": activation_word(stack.activation),
            "hidden_size": stack.width,
            "intermediate_size": stack.feed_forward,
            "max_position_embeddings": stack.positions,
            "mlp_bias": stack.design.biases == LinearBiases::All,
            "num_attention_heads": stack.heads,
            "num_hidden_layers": stack.layers,
            "num_key_value_heads": groups,
            "rms_norm_eps": stack.norm_epsilon,
            "rope_parameters": rotary::parameters(&rotation),
            "rope_scaling": rotary::scaling(&rotation),
            "rope_theta": rotation.base,
            "use_cache": true,
        })
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let biases = biases(keys)?;
        let norm = own.norm.unwrap_or(NormPlacement::Pre);
        keys.demand_all_heads()?;
        let vocabulary_head =
            VocabularyHead { transforms: false, has_bias: false, table: HeadTable::Own, activation: None };
        let mut preset =
            Preset { naming: Naming::Llama, stack: StackName::Decoder, norm, token_types: 0, vocabulary_head, ..BERT };
        preset.activation = keys.activation("hidden_act", "silu")?;
        preset.design.norm = NormKind::Rms;
        preset.design.is_gated = true;
        preset.design.biases = biases;
        preset.design.positions = Positions::Rotary(rotary::rotation(keys)?);
        preset.norm_epsilon = 1e-6;
        preset.norm_epsilon = keys.epsilon("rms_norm_eps", &preset)?;
        let (heads, width) = (keys.count("num_attention_heads")?, keys.count("hidden_size")?);
        let head_size = keys.count_or("head_dim", width.checked_div(heads).unwrap_or(0))?;
        // Where Mistral says nothing it has eight; null means as many as there are heads.
        let groups = match keys.written.get("num_key_value_heads") {
            None if keys.word("model_type")? == MISTRAL => USUAL_GROUPS,
            _ => keys.count_or("num_key_value_heads", heads)?,
        };
        let mut attention = own.attention.clone();
        if own.norm.is_none() && groups != heads {
            attention.compatibility = Compatibility::Grouped(Grouped { kv_heads: groups });
        }
        let Some(scored) = heads.checked_mul(head_size) else { return Err(keys.wrong("head_dim", "a size of heads")) };
        let sizes = ModelConfig {
            layers: keys.count("num_hidden_layers")?,
            heads,
            // Heads may be wider or narrower together than the stream.
            width: scored,
            feed_forward: keys.count("intermediate_size")?,
            dropout: keys.number("attention_dropout", 0.0)?,
            positions: Some(longest(keys)?),
            ..ModelConfig::default()
        };
        let stack = keys.stack(&preset, StackName::Decoder, &sizes, &attention, own.length)?;
        let stack = keys.supported(StackPlan { width: keys.width("hidden_size")?, ..stack })?;
        let head = keys.decoder_head(&self.own_classes(), vocabulary_head, &["lm_head."])?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NAMES],
            base: "model.",
            wrapper: Some(WRAPPER),
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["lm_head.", "score.", "classifier.", "qa_outputs."],
            unused: Vec::new(),
            unused_ends: &[".rotary_emb.inv_freq"],
        }
    }
}

/// The biases that a type has.
fn biases(keys: &Keys<'_>) -> Result<LinearBiases, CheckpointError> {
    if keys.word("model_type")? == QWEN2 || keys.class().is_some_and(|class| class.starts_with("HeadroomQwen2")) {
        keys.demand("use_sliding_window", &[json!(false)])?;
        return Ok(LinearBiases::Projections);
    }
    let [attention, feed_forward] = [keys.flag("attention_bias", false)?, keys.flag("mlp_bias", false)?];
    match (attention, feed_forward) {
        (false, false) => Ok(LinearBiases::None),
        (true, true) => Ok(LinearBiases::All),
        _ => Err(keys.wrong("attention_bias", "as `mlp_bias` is")),
    }
}

/// The longest text: of Mistral no longer than what a position sees.
fn longest(keys: &Keys<'_>) -> Result<usize, CheckpointError> {
    let positions = keys.count("max_position_embeddings")?;
    Ok(match keys.written.get("sliding_window") {
        Some(window) if !window.is_null() && keys.flag("use_sliding_window", true)? => {
            positions.min(keys.count("sliding_window")?)
        }
        _ => positions,
    })
}
