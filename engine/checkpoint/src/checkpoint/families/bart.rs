//! BART (Lewis et al., 2020): an encoder and a decoder that attends to it.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, end_of_text, keys::activation_word};
use crate::{
    attention::{BART, CrossPlan, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{AttentionConfig, ModelConfig, NormPlacement},
    model::NameRow,
};

pub(super) struct Bart;

/// `BartForConditionalGeneration`.
const NAMES: &[NameRow] = &[
    ("input.tokens", "model.shared"),
    ("encoder.positions", "model.encoder.embed_positions"),
    ("encoder.embedding_norm", "model.encoder.layernorm_embedding"),
    ("encoder.{}.self.norm", "model.encoder.layers.{}.self_attn_layer_norm"),
    ("encoder.{}.self.query", "model.encoder.layers.{}.self_attn.q_proj"),
    ("encoder.{}.self.key", "model.encoder.layers.{}.self_attn.k_proj"),
    ("encoder.{}.self.value", "model.encoder.layers.{}.self_attn.v_proj"),
    ("encoder.{}.self.output", "model.encoder.layers.{}.self_attn.out_proj"),
    ("encoder.{}.feed_forward.norm", "model.encoder.layers.{}.final_layer_norm"),
    ("encoder.{}.feed_forward.in", "model.encoder.layers.{}.fc1"),
    ("encoder.{}.feed_forward.out", "model.encoder.layers.{}.fc2"),
    ("decoder.positions", "model.decoder.embed_positions"),
    ("decoder.embedding_norm", "model.decoder.layernorm_embedding"),
    ("decoder.{}.self.norm", "model.decoder.layers.{}.self_attn_layer_norm"),
    ("decoder.{}.self.query", "model.decoder.layers.{}.self_attn.q_proj"),
    ("decoder.{}.self.key", "model.decoder.layers.{}.self_attn.k_proj"),
    ("decoder.{}.self.value", "model.decoder.layers.{}.self_attn.v_proj"),
    ("decoder.{}.self.output", "model.decoder.layers.{}.self_attn.out_proj"),
    ("decoder.{}.cross.norm", "model.decoder.layers.{}.encoder_attn_layer_norm"),
    ("decoder.{}.cross.query", "model.decoder.layers.{}.encoder_attn.q_proj"),
    ("decoder.{}.cross.key", "model.decoder.layers.{}.encoder_attn.k_proj"),
    ("decoder.{}.cross.value", "model.decoder.layers.{}.encoder_attn.v_proj"),
    ("decoder.{}.cross.output", "model.decoder.layers.{}.encoder_attn.out_proj"),
    ("decoder.{}.feed_forward.norm", "model.decoder.layers.{}.final_layer_norm"),
    ("decoder.{}.feed_forward.in", "model.decoder.layers.{}.fc1"),
    ("decoder.{}.feed_forward.out", "model.decoder.layers.{}.fc2"),
    ("head.bias", "final_logits_bias"),
    ("head.tokens", "lm_head"),
];

impl Family for Bart {
    fn model_types(&self) -> &'static [&'static str] {
        &["bart"]
    }

    fn own_classes(&self) -> Vec<&'static str> {
        vec!["HeadroomEncoderDecoder", "HeadroomEncoderDecoderModel"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        if matches!(plan.head, OutputPlan::States { .. }) {
            "HeadroomEncoderDecoderModel"
        } else {
            "HeadroomEncoderDecoder"
        }
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "model.",
            wrapper: None,
            words: "model.shared.weight",
            inputs: &["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"],
            head: "lm_head.weight",
            head_bias: None,
        })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Post if matches!(plan.head, OutputPlan::States { .. }) => Ok(("bart", "BartModel")),
            NormPlacement::Post => Ok(("bart", "BartForConditionalGeneration")),
            NormPlacement::Pre => {
                Err("encoder-decoders with norm first (model.norm = \"pre\"; \"post\" is that of BART)")
            }
        }
    }

    fn always_says_answers(&self) -> bool {
        true
    }

    fn settings(&self, plan: &ModelPlan, special: &SpecialTokens) -> Value {
        let stack = &plan.stack;
        let encoder = plan.encoder.as_deref().unwrap_or(stack);
        let end = end_of_text(special);
        json!({
            "decoder_start_token_id": end,
            "forced_eos_token_id": end,
            "activation_function": activation_word(stack.activation),
            "attention_dropout": stack.dropout,
            "d_model": stack.width,
            "decoder_attention_heads": stack.heads,
            "decoder_ffn_dim": stack.feed_forward,
            "decoder_layers": stack.layers,
            "dropout": stack.dropout,
            "encoder_attention_heads": encoder.heads,
            "encoder_ffn_dim": encoder.feed_forward,
            "encoder_layers": encoder.layers,
            "is_encoder_decoder": true,
            "max_position_embeddings": stack.positions,
            "scale_embedding": stack.design.embedding.is_scaled,
        })
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset { norm: own.norm.unwrap_or(NormPlacement::Post), ..BART };
        preset.activation = keys.activation("activation_function", "gelu")?;
        preset.design.embedding.is_scaled = keys.flag("scale_embedding", false)?;
        encoder_decoder(keys, own, &preset, &self.own_classes())
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NAMES],
            base: "model.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["final_logits_bias", "lm_head.", "classification_head.", "qa_outputs."],
            unused: Vec::new(),
            unused_ends: &[],
        }
    }

    fn file_shape(&self, _: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
        (name == "head.bias").then(|| [&[1][..], shape].concat())
    }
}

/// An encoder and a decoder under the keys of BART. `tokens` are classes of the family's own that predict tokens.
pub(super) fn encoder_decoder(
    keys: &Keys<'_>,
    own: &Own,
    preset: &Preset,
    tokens: &[&str],
) -> Result<ModelPlan, CheckpointError> {
    keys.demand("is_encoder_decoder", &[json!(true)])?;
    keys.demand_all_heads()?;
    let attention = &own.attention;
    let stack = |name: StackName, attention: &AttentionConfig| {
        let key = |of: &str| format!("{}_{of}", name.word());
        let sizes = ModelConfig {
            layers: keys.count(&key("layers"))?,
            heads: keys.count(&key("attention_heads"))?,
            width: keys.count("d_model")?,
            feed_forward: keys.count(&key("ffn_dim"))?,
            dropout: keys.number("dropout", 0.1)?,
            positions: Some(keys.count("max_position_embeddings")?),
            ..ModelConfig::default()
        };
        keys.stack(preset, name, &sizes, attention, None)
    };
    let of_decoder = AttentionConfig { encoder: None, cross: None, ..attention.clone() };
    let mut decoder = stack(StackName::Decoder, &of_decoder)?;
    let cross = stack(StackName::Decoder, &attention.of_cross())?;
    decoder.cross = Some(CrossPlan { head_plan: cross.head_plan, compatibility: cross.compatibility });
    let encoder = stack(StackName::Encoder, &attention.of_encoder())?;
    let head = keys.decoder_head(tokens, preset.vocabulary_head, &["final_logits_bias", "lm_head."])?;
    keys.text(preset, Some(encoder), decoder, head)
}
