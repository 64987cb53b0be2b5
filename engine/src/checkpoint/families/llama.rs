//! Llama (Touvron et al., 2023), Mistral (Jiang et al., 2023) and Qwen2 (Yang et al., 2024): decoders whose queries and keys are turned by
//! their positions, with norms by the mean square and gated feed-forward blocks.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, keys::activation_word};
use crate::{
    attention::{
        BERT, HeadTable, LinearBiases, ModelPlan, Naming, NormKind, OutputPlan, Positions, Preset, StackName,
        StackPlan, VocabularyHead,
    },
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{Compatibility, Grouped, ModelConfig, NormPlacement},
    model::{NameRow, NameTable},
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

const QWEN2: &str = "qwen2";

/// The angles' base where nothing is said.
const USUAL_BASE: f64 = 10_000.0;

impl Family for Llama {
    fn model_types(&self) -> &'static [&'static str] {
        &["llama", "mistral", QWEN2]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &["HeadroomLlama", "HeadroomQwen2"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        if plan.stack.design.biases == LinearBiases::Projections { "HeadroomQwen2" } else { "HeadroomLlama" }
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

    fn may_untie(&self) -> bool {
        true
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
        let base = match stack.design.positions {
            Positions::Rotary { base } => base,
            Positions::Learned | Positions::Sinusoidal | Positions::Relative { .. } => USUAL_BASE,
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
            "rope_parameters": {"rope_theta": base, "rope_type": "default"},
            "rope_theta": base,
            "use_cache": true,
        })
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let biases = biases(keys)?;
        let norm = own.norm.unwrap_or(NormPlacement::Pre);
        let table = if keys.flag("tie_word_embeddings", false)? { HeadTable::Tied } else { HeadTable::Own };
        let vocabulary_head = VocabularyHead { transforms: false, has_bias: false, table };
        let mut preset =
            Preset { naming: Naming::Llama, stack: StackName::Decoder, norm, token_types: 0, vocabulary_head, ..BERT };
        preset.activation = keys.activation("hidden_act", "silu")?;
        preset.design.norm = NormKind::Rms;
        preset.design.is_gated = true;
        preset.design.biases = biases;
        preset.design.positions = Positions::Rotary { base: base(keys)? };
        preset.norm_epsilon = 1e-6;
        preset.norm_epsilon = keys.epsilon("rms_norm_eps", &preset)?;
        let (heads, width) = (keys.count("num_attention_heads")?, keys.count("hidden_size")?);
        let head_size = keys.count_or("head_dim", width.checked_div(heads).unwrap_or(0))?;
        let groups = keys.count_or("num_key_value_heads", heads)?;
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
        let is_base = keys.class().is_some_and(|class| class.ends_with("Model")) && !keys.holds("lm_head.");
        let head = if is_base { OutputPlan::States { pools: false } } else { OutputPlan::Vocabulary(vocabulary_head) };
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        let is_tied = !matches!(plan.head, OutputPlan::Vocabulary(head) if head.table == HeadTable::Own);
        FileNames {
            tables: vec![NameTable(&[NAMES])],
            base: "model.",
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["lm_head."],
            unused: if is_tied { &["lm_head."] } else { &[] },
            unused_ends: &[".rotary_emb.inv_freq"],
        }
    }
}

/// The biases that a type has.
fn biases(keys: &Keys<'_>) -> Result<LinearBiases, CheckpointError> {
    if keys.word("model_type")? == QWEN2 || keys.class() == Some("HeadroomQwen2") {
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

/// The base of the angles, which may not be stretched: older files have it beside the other keys, newer ones in a table.
fn base(keys: &Keys<'_>) -> Result<f64, CheckpointError> {
    for table in ["rope_scaling", "rope_parameters"] {
        let Some(table) = keys.written.get(table).and_then(Value::as_object) else { continue };
        let kind = table.get("rope_type").or_else(|| table.get("type")).and_then(Value::as_str).unwrap_or("default");
        if kind != "default" {
            return Err(CheckpointError::Unsupported {
                key: "rope_type".to_owned(),
                found: kind.to_owned(),
                expected: "default".to_owned(),
                path: keys.dir.to_owned(),
            });
        }
        if let Some(base) = table.get("rope_theta").and_then(Value::as_f64) {
            return Ok(base);
        }
    }
    keys.number("rope_theta", USUAL_BASE)
}
