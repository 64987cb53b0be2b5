//! T5 (Raffel et al., 2020) and mT5: an encoder and a decoder whose scores are not scaled and have biases for distances, with norms by
//! the mean square and no other biases.

use serde_json::{Value, json};

use super::{Family, FileNames, HeadTensor, Keys, Own, Ties, end_of_text, keys::activation_word};
use crate::{
    attention::{
        BERT, CrossPlan, HeadTable, LinearBiases, ModelPlan, Naming, NormKind, OutputPlan, Positions, Preset,
        StackDesign, StackName, StackPlan, VocabularyHead,
    },
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{AttentionConfig, ModelConfig, NormPlacement},
    model::NameRow,
    ops::{Activation, Gelu},
};

pub(super) struct T5;

const NAMES: &[NameRow] = &[
    ("input.tokens", "shared"),
    ("encoder.relative", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"),
    ("decoder.relative", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"),
    ("encoder.{}.self.norm", "encoder.block.{}.layer.0.layer_norm"),
    ("encoder.{}.self.query", "encoder.block.{}.layer.0.SelfAttention.q"),
    ("encoder.{}.self.key", "encoder.block.{}.layer.0.SelfAttention.k"),
    ("encoder.{}.self.value", "encoder.block.{}.layer.0.SelfAttention.v"),
    ("encoder.{}.self.output", "encoder.block.{}.layer.0.SelfAttention.o"),
    ("encoder.{}.feed_forward.norm", "encoder.block.{}.layer.1.layer_norm"),
    ("encoder.{}.feed_forward.out", "encoder.block.{}.layer.1.DenseReluDense.wo"),
    ("encoder.final_norm", "encoder.final_layer_norm"),
    ("decoder.{}.self.norm", "decoder.block.{}.layer.0.layer_norm"),
    ("decoder.{}.self.query", "decoder.block.{}.layer.0.SelfAttention.q"),
    ("decoder.{}.self.key", "decoder.block.{}.layer.0.SelfAttention.k"),
    ("decoder.{}.self.value", "decoder.block.{}.layer.0.SelfAttention.v"),
    ("decoder.{}.self.output", "decoder.block.{}.layer.0.SelfAttention.o"),
    ("decoder.{}.cross.norm", "decoder.block.{}.layer.1.layer_norm"),
    ("decoder.{}.cross.query", "decoder.block.{}.layer.1.EncDecAttention.q"),
    ("decoder.{}.cross.key", "decoder.block.{}.layer.1.EncDecAttention.k"),
    ("decoder.{}.cross.value", "decoder.block.{}.layer.1.EncDecAttention.v"),
    ("decoder.{}.cross.output", "decoder.block.{}.layer.1.EncDecAttention.o"),
    ("decoder.{}.feed_forward.norm", "decoder.block.{}.layer.2.layer_norm"),
    ("decoder.{}.feed_forward.out", "decoder.block.{}.layer.2.DenseReluDense.wo"),
    ("decoder.final_norm", "decoder.final_layer_norm"),
    ("head.tokens", "lm_head"),
];

const PLAIN: &[NameRow] = &[
    ("encoder.{}.feed_forward.in", "encoder.block.{}.layer.1.DenseReluDense.wi"),
    ("decoder.{}.feed_forward.in", "decoder.block.{}.layer.2.DenseReluDense.wi"),
];

const GATED: &[NameRow] = &[
    ("encoder.{}.feed_forward.gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"),
    ("encoder.{}.feed_forward.in", "encoder.block.{}.layer.1.DenseReluDense.wi_1"),
    ("decoder.{}.feed_forward.gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"),
    ("decoder.{}.feed_forward.in", "decoder.block.{}.layer.2.DenseReluDense.wi_1"),
];

/// Beginning of names in files of T5s with a head for classes.
const WRAPPER: &str = "transformer.";

/// The biases of no scores: old files have some for the attention to the encoder, which nothing reads.
const OLD_BIASES: &str = ".EncDecAttention.relative_attention_bias.weight";

/// Tokens of a text where nothing is said: distances have no end.
const USUAL_POSITIONS: usize = 512;

impl Family for T5 {
    fn model_types(&self) -> &'static [&'static str] {
        &["t5", "mt5"]
    }

    fn own_classes(&self) -> Vec<&'static str> {
        vec!["HeadroomT5", "HeadroomT5Encoder", "HeadroomT5Model"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        match (&plan.encoder, plan.head) {
            (None, _) => "HeadroomT5Encoder",
            (Some(_), OutputPlan::States { .. }) => "HeadroomT5Model",
            (Some(_), _) => "HeadroomT5",
        }
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Post => Err("a T5 with norm last"),
            NormPlacement::Pre if plan.encoder.is_some() && plan.predicts_tokens() => {
                Ok(("t5", "T5ForConditionalGeneration"))
            }
            NormPlacement::Pre if plan.encoder.is_some() => Ok(("t5", "T5Model")),
            NormPlacement::Pre => Ok(("t5", "T5EncoderModel")),
        }
    }

    fn always_says_answers(&self) -> bool {
        true
    }

    fn ties(&self) -> Option<Ties> {
        Some(Ties {
            base: "",
            wrapper: Some(WRAPPER),
            words: "shared.weight",
            inputs: &["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"],
            head: "lm_head.weight",
            head_bias: None,
        })
    }

    fn forces_end(&self) -> bool {
        false
    }

    fn settings(&self, plan: &ModelPlan, special: &SpecialTokens) -> Value {
        let stack = &plan.stack;
        let StackDesign { positions, is_gated, .. } = stack.design;
        let (buckets, farthest) = match positions {
            Positions::Relative { buckets, farthest } => (buckets, farthest),
            Positions::Learned | Positions::Sinusoidal | Positions::Rotary(_) => (0, 0),
        };
        let feed_forward = match (is_gated, stack.activation) {
            (true, Activation::Gelu(_)) => "gated-gelu".to_owned(),
            (true, other) => format!("gated-{}", activation_word(other)),
            (false, other) => activation_word(other).to_owned(),
        };
        json!({
            "d_ff": stack.feed_forward,
            "d_kv": stack.head_size,
            "d_model": stack.width,
            "decoder_start_token_id": self.start_of_text(special),
            "dropout_rate": stack.dropout,
            "eos_token_id": end_of_text(special),
            "feed_forward_proj": feed_forward,
            "is_encoder_decoder": plan.encoder.is_some(),
            "layer_norm_epsilon": stack.norm_epsilon,
            "n_positions": stack.positions,
            "num_decoder_layers": stack.layers,
            "num_heads": stack.heads,
            "num_layers": plan.encoder.as_deref().unwrap_or(stack).layers,
            "relative_attention_max_distance": farthest,
            "relative_attention_num_buckets": buckets,
            "scale_decoder_outputs": matches!(plan.head, OutputPlan::Vocabulary(head) if head.table.is_scaled()),
        })
    }

    /// A text begins with padding.
    fn start_of_text(&self, special: &SpecialTokens) -> Value {
        special.id("pad_token")
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        keys.demand_all_heads()?;
        let vocabulary_head =
            VocabularyHead { transforms: false, has_bias: false, table: HeadTable::Tied, activation: None };
        let norm = own.norm.unwrap_or(NormPlacement::Pre);
        let mut preset = Preset { naming: Naming::T5, norm, token_types: 0, vocabulary_head, ..BERT };
        (preset.activation, preset.design.is_gated) = feed_forward(keys)?;
        preset.design.norm = NormKind::Rms;
        preset.design.biases = LinearBiases::None;
        preset.design.scales_scores = false;
        preset.design.positions = Positions::Relative {
            buckets: keys.count_or("relative_attention_num_buckets", 32)?,
            farthest: keys.count_or("relative_attention_max_distance", 128)?,
        };
        preset.norm_epsilon = 1e-6;
        preset.norm_epsilon = keys.epsilon("layer_norm_epsilon", &preset)?;
        let (heads, head_size) = (keys.count("num_heads")?, keys.count("d_kv")?);
        let Some(scored) = heads.checked_mul(head_size) else { return Err(keys.wrong("d_kv", "a size of heads")) };
        let layers = keys.count("num_layers")?;
        let stack = |name: StackName, layers: usize, attention: &AttentionConfig| {
            let sizes = ModelConfig {
                layers,
                heads,
                // Heads may be wider or narrower together than the stream.
                width: scored,
                feed_forward: keys.count("d_ff")?,
                dropout: keys.number("dropout_rate", 0.1)?,
                positions: Some(keys.count_or("n_positions", USUAL_POSITIONS)?),
                ..ModelConfig::default()
            };
            let stack = keys.stack(&preset, name, &sizes, attention, None)?;
            Ok::<_, CheckpointError>(StackPlan { width: keys.width("d_model")?, ..stack })
        };
        let attention = &own.attention;
        let ends = |end: &str| keys.class().is_some_and(|class| class.ends_with(end));
        if ends("EncoderModel") || ends("HeadroomT5Encoder") || ends("ForTokenClassification") {
            let encoder = stack(StackName::Encoder, layers, attention)?;
            let is_whole = !ends("ForTokenClassification");
            let head = if is_whole { OutputPlan::States { pools: false } } else { keys.without_head(false) };
            return keys.text(&preset, None, encoder, head);
        }
        let decoder_layers = keys.count_or("num_decoder_layers", layers)?;
        let of_decoder = AttentionConfig { encoder: None, cross: None, ..attention.clone() };
        let mut decoder = stack(StackName::Decoder, decoder_layers, &of_decoder)?;
        let cross = stack(StackName::Decoder, decoder_layers, &attention.of_cross())?;
        decoder.cross = Some(CrossPlan { head_plan: cross.head_plan, compatibility: cross.compatibility });
        let encoder = stack(StackName::Encoder, layers, &attention.of_encoder())?;
        let head = match keys.decoder_head(&["HeadroomT5"], vocabulary_head, &["lm_head."])? {
            OutputPlan::Vocabulary(head) => OutputPlan::Vocabulary(VocabularyHead { table: table(keys)?, ..head }),
            other => other,
        };
        keys.text(&preset, Some(encoder), decoder, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NAMES, if plan.stack.design.is_gated { GATED } else { PLAIN }],
            base: "",
            wrapper: Some(WRAPPER),
            is_base: false,
            others: &["lm_head.", "classification_head.", "classifier.", "qa_outputs."],
            unused: Vec::new(),
            unused_ends: &[OLD_BIASES],
        }
    }
}

/// The table of the head. `transformers` 5 says of every T5 that its tables are tied, and keeps the head of its files where that is another
/// one; whether outputs are scaled it says apart, and never scales those of mT5.
fn table(keys: &Keys<'_>) -> Result<HeadTable, CheckpointError> {
    let is_multilingual = keys.word("model_type")? == "mt5";
    let is_tied = keys.flag("tie_word_embeddings", !is_multilingual)?;
    let is_scaled = keys.flag("scale_decoder_outputs", is_tied)? && !is_multilingual;
    let is_own = match keys.tied.head {
        HeadTensor::Other => true,
        HeadTensor::Same => !is_tied,
        // Nothing is known of the files of a model that was not fetched yet.
        HeadTensor::Absent => !is_tied && keys.tensors.is_empty(),
    };
    if keys.tied.head == HeadTensor::Absent && !is_tied && !is_own {
        keys.note("The weights hold no table for the head (lm_head.weight); it is that of the embeddings.".to_owned());
    }
    Ok(match (is_own, is_scaled) {
        (false, false) => HeadTable::Tied,
        (false, true) => HeadTable::TiedScaled,
        (true, false) => HeadTable::Own,
        (true, true) => HeadTable::OwnScaled,
    })
}

/// The activation of the feed-forward blocks, and whether they are gated.
fn feed_forward(keys: &Keys<'_>) -> Result<(Activation, bool), CheckpointError> {
    Ok(match keys.written.get("feed_forward_proj").and_then(Value::as_str).unwrap_or("relu") {
        "relu" => (Activation::Relu, false),
        "gelu" => (Activation::Gelu(Gelu::Exact), false),
        "gated-gelu" => (Activation::Gelu(Gelu::Tanh), true),
        "gated-silu" => (Activation::Silu, true),
        "gated-relu" => (Activation::Relu, true),
        _ => return Err(keys.wrong("feed_forward_proj", "relu, gelu, gated-gelu, gated-silu or gated-relu")),
    })
}
