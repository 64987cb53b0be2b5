//! `config.json` under Hugging Face's keys, from a plan and back.

use std::{collections::BTreeSet, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{CONFIG, CheckpointError, ModelDirectory, special_tokens::SpecialTokens};
use crate::{
    attention::{
        BART, BERT, CrossPlan, GPT2, HeadPlan, InputPlan, ModelPlan, Naming, OutputPlan, Preset, StackName, StackPlan,
        VIT,
    },
    config::{
        AttentionConfig, Cache, Compatibility, Coverage, ModelConfig, NormPlacement, OtherAnswers, Precision, Reuse,
    },
};

/// The key of what `transformers` has no word for: attention of another kind. It holds `reuse`, `compatibility` and
/// `coverage` as the run config writes them, the schedule always as a table of heads, and `norm`. Pairs that were chosen
/// are a tensor among the weights, as is the map to the others.
const ATTENTION: &str = "headroom_attention";

/// The type of models that `transformers` does not know, so that it never opens one as something that would compute
/// other logits.
const OWN_TYPE: &str = "headroom";

/// Whether `transformers` knows the attention of a plan.
fn is_known(plan: &ModelPlan) -> bool {
    attentions(plan)
        .all(|(head_plan, compatibility)| head_plan.is_plain() && *compatibility == Compatibility::default())
        && plan.stacks().all(|stack| stack.coverage.is_full())
}

/// The answers of every attention of a plan.
fn attentions(plan: &ModelPlan) -> impl Iterator<Item = (&HeadPlan, &Compatibility)> {
    plan.stacks().flat_map(|stack| {
        let cross = stack.cross.iter().map(|cross| (&cross.head_plan, &cross.compatibility));
        [(&stack.head_plan, &stack.compatibility)].into_iter().chain(cross)
    })
}

/// Which configuration class a plan is saved under.
///
/// A GPT-2 with norm last and attention of another kind are unknown to `transformers` and get a type of our own.
fn model_type(plan: &ModelPlan) -> (&'static str, &'static str) {
    if !is_known(plan) {
        let class = match plan.naming {
            Naming::Bert => match plan.head {
                OutputPlan::Vocabulary(_) => "HeadroomEncoder",
                OutputPlan::Classes { .. } => OWN_CLASSES,
                OutputPlan::Span => OWN_SPAN,
                OutputPlan::States { .. } => OWN_STATES,
            },
            Naming::Gpt2 => "HeadroomDecoder",
            Naming::Bart => "HeadroomEncoderDecoder",
            Naming::Vit => "HeadroomVision",
        };
        return (OWN_TYPE, class);
    }
    match (plan.naming, plan.stack.norm, plan.head) {
        (Naming::Bert, NormPlacement::Post, OutputPlan::Vocabulary(_)) => ("bert", "BertForMaskedLM"),
        (Naming::Bert, NormPlacement::Post, OutputPlan::Classes { .. }) => ("bert", BERT_CLASSES),
        (Naming::Bert, NormPlacement::Post, OutputPlan::Span) => ("bert", BERT_SPAN),
        (Naming::Bert, NormPlacement::Post, OutputPlan::States { .. }) => ("bert", "BertModel"),
        (Naming::Bert, NormPlacement::Pre, OutputPlan::Vocabulary(_)) => ("megatron-bert", "MegatronBertForMaskedLM"),
        (Naming::Bert, NormPlacement::Pre, OutputPlan::Classes { .. }) => ("megatron-bert", MEGATRON_BERT_CLASSES),
        (Naming::Bert, NormPlacement::Pre, OutputPlan::Span) => ("megatron-bert", MEGATRON_BERT_SPAN),
        (Naming::Bert, NormPlacement::Pre, OutputPlan::States { .. }) => ("megatron-bert", "MegatronBertModel"),
        (Naming::Gpt2, NormPlacement::Pre, _) => ("gpt2", "GPT2LMHeadModel"),
        (Naming::Gpt2, NormPlacement::Post, _) => (OWN_TYPE, "HeadroomDecoder"),
        (Naming::Bart, NormPlacement::Post, _) => ("bart", "BartForConditionalGeneration"),
        (Naming::Bart, NormPlacement::Pre, _) => (OWN_TYPE, "HeadroomEncoderDecoder"),
        (Naming::Vit, _, _) => ("vit", "ViTForImageClassification"),
    }
}

const OWN_CLASSES: &str = "HeadroomEncoderForSequenceClassification";
const OWN_STATES: &str = "HeadroomEncoderModel";
const OWN_SPAN: &str = "HeadroomEncoderForQuestionAnswering";
const BERT_CLASSES: &str = "BertForSequenceClassification";
const BERT_SPAN: &str = "BertForQuestionAnswering";
const MEGATRON_BERT_CLASSES: &str = "MegatronBertForSequenceClassification";
const MEGATRON_BERT_SPAN: &str = "MegatronBertForQuestionAnswering";

/// The key of the sentence that says why `transformers` does not open a model.
const NOTE: &str = "headroom_note";

/// What `transformers` makes of the model directory of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTransformers {
    /// Whether `from_pretrained` opens it.
    pub opens: bool,
    /// As which class, or why not and what would open, as a sentence.
    pub words: String,
}

/// Whether `transformers` opens the model directory of a plan: it does where it knows the attention, in encoders of both
/// norm placements and in decoders with norm first.
pub fn in_transformers(plan: &ModelPlan) -> InTransformers {
    let (model_type, class) = model_type(plan);
    if model_type != OWN_TYPE {
        return InTransformers { opens: true, words: format!("It opens in transformers as {class}.") };
    }
    let mut unknown = Vec::new();
    let stack = &plan.stack;
    if attentions(plan).any(|(head_plan, _)| !head_plan.is_plain()) {
        unknown.push("maps that are borrowed or left out (attention.reuse)".to_owned());
    }
    let other = attentions(plan).map(|(_, compatibility)| compatibility).find(|one| **one != Compatibility::default());
    match other.unwrap_or(&stack.compatibility) {
        standard if *standard == Compatibility::default() => {}
        Compatibility::Standard(_) => {
            unknown.push("attention without some of its biases (attention.compatibility.biases)".to_owned());
        }
        other => unknown.push(format!("compatibility \"{}\" (attention.compatibility)", other.kind())),
    }
    if !stack.coverage.is_full() {
        unknown.push(format!("coverage \"{}\" (attention.coverage)", stack.coverage.kind()));
    }
    if (plan.naming, stack.norm) == (Naming::Gpt2, NormPlacement::Post) {
        unknown.push("decoders with norm last (model.norm = \"post\"; \"pre\" is that of GPT-2)".to_owned());
    }
    if (plan.naming, stack.norm) == (Naming::Bart, NormPlacement::Pre) {
        unknown.push("encoder-decoders with norm first (model.norm = \"pre\"; \"post\" is that of BART)".to_owned());
    }
    InTransformers {
        opens: false,
        words: format!("It does not open in transformers, which does not know {}.", unknown.join(", nor ")),
    }
}

/// The token that ends a text, with which a translation also begins; null where there is none.
fn end_of_text(special: &SpecialTokens) -> Value {
    match special.id("eos_token") {
        Value::Null => special.id("sep_token"),
        end => end,
    }
}

/// `generation_config.json` of a model that writes after an encoder: how texts begin and end. None of another model.
pub(super) fn generation_config_json(plan: &ModelPlan, special: &SpecialTokens) -> Option<String> {
    let end = end_of_text(special);
    if plan.naming != Naming::Bart || end.is_null() {
        return None;
    }
    let settings = json!({
        "bos_token_id": special.id("bos_token"),
        "decoder_start_token_id": end,
        "eos_token_id": end,
        "forced_eos_token_id": end,
        "max_length": plan.stack.longest(),
        "pad_token_id": special.id("pad_token"),
    });
    Some(serde_json::to_string_pretty(&settings).unwrap_or_default())
}

/// The text of `config.json`.
pub(super) fn config_json(contents: &ModelDirectory<'_>, precision: Precision, special: &SpecialTokens) -> String {
    let plan = contents.plan;
    let (model_type, class) = model_type(plan);
    let stack = &plan.stack;
    let mut config = match plan.naming {
        Naming::Bert => json!({
            "attention_probs_dropout_prob": stack.dropout,
            "hidden_act": "gelu",
            "hidden_dropout_prob": stack.dropout,
            "hidden_size": stack.width,
            "intermediate_size": stack.feed_forward,
            "is_decoder": false,
            "layer_norm_eps": stack.norm_epsilon,
            "max_position_embeddings": stack.positions,
            "num_attention_heads": stack.heads,
            "num_hidden_layers": stack.layers,
            "type_vocab_size": plan.token_types(),
            "use_cache": false,
        }),
        Naming::Gpt2 => json!({
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
        }),
        Naming::Bart => {
            let encoder = plan.encoder.as_deref().unwrap_or(stack);
            let end = end_of_text(special);
            json!({
                "decoder_start_token_id": end,
                "forced_eos_token_id": end,
                "activation_function": "gelu",
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
                "scale_embedding": false,
            })
        }
        Naming::Vit => json!({
            "attention_probs_dropout_prob": stack.dropout,
            "hidden_act": "gelu",
            "hidden_dropout_prob": stack.dropout,
            "hidden_size": stack.width,
            "intermediate_size": stack.feed_forward,
            "layer_norm_eps": stack.norm_epsilon,
            "num_attention_heads": stack.heads,
            "num_hidden_layers": stack.layers,
            "qkv_bias": true,
        }),
    };
    let common = json!({
        "architectures": [class],
        "bos_token_id": special.id("bos_token"),
        "dtype": match precision { Precision::F64 => "float64", _ => "float32" },
        "eos_token_id": special.id("eos_token"),
        "initializer_range": 0.02,
        "model_type": model_type,
        "pad_token_id": special.id("pad_token"),
        "tie_word_embeddings": true,
        "vocab_size": plan.vocabulary(),
    });
    if let (Some(config), Value::Object(mut common)) = (config.as_object_mut(), common) {
        if let OutputPlan::Classes { classes, .. } = plan.head {
            let labels: Map<String, Value> =
                (0..classes).map(|n| (n.to_string(), json!(format!("LABEL_{n}")))).collect();
            config.insert("id2label".to_owned(), Value::Object(labels));
        }
        if let InputPlan::Patches { image, patch, channels } = plan.input {
            for (key, number) in [("image_size", image), ("patch_size", patch), ("num_channels", channels)] {
                config.insert(key.to_owned(), json!(number));
            }
            common.retain(|key, _| !key.ends_with("_token_id") && key != "vocab_size");
        }
        config.extend(common);
        if model_type == OWN_TYPE {
            config.insert(NOTE.to_owned(), json!(in_transformers(plan).words));
        }
        if !is_known(plan) || (model_type == OWN_TYPE && plan.naming == Naming::Bart) {
            let answers = |head_plan: &HeadPlan, compatibility: &Compatibility| OtherAnswers {
                reuse: Some(Reuse::Custom(head_plan.to_custom())),
                compatibility: Some(compatibility.clone()),
            };
            let own = OwnAttention {
                encoder: plan.encoder.as_deref().map(|encoder| answers(&encoder.head_plan, &encoder.compatibility)),
                cross: stack.cross.as_ref().map(|cross| answers(&cross.head_plan, &cross.compatibility)),
                norm: stack.norm,
                reuse: Reuse::Custom(stack.head_plan.to_custom()),
                compatibility: stack.compatibility.clone(),
                coverage: stack.coverage.of_model(),
                tokens: stack.coverage_tokens,
            };
            let mut own = json!(own);
            if let Some(coverage) = own.get_mut("coverage") {
                *coverage = coverage_of(contents);
            }
            config.insert(ATTENTION.to_owned(), own);
        }
    }
    serde_json::to_string_pretty(&config).unwrap_or_default()
}

/// What a model that leaves out pairs says of them: as its run chose them, or, where no run is known, no more than the
/// model itself depends on.
fn coverage_of(contents: &ModelDirectory<'_>) -> Value {
    let of_model = contents.plan.stack.coverage.of_model();
    let of_run = contents.config.map(|config| &config.attention.coverage);
    if let Some(of_run) = of_run.filter(|of_run| of_run.of_model() == of_model) {
        return json!(of_run);
    }
    let mut coverage = json!(of_model);
    if let Value::Object(fields) = &mut coverage {
        fields.retain(|name, _| !["warmup_steps", "examples"].contains(&name.as_str()));
    }
    coverage
}

/// What stands under [`ATTENTION`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnAttention {
    norm: NormPlacement,
    reuse: Reuse,
    compatibility: Compatibility,
    /// The answers of an encoder before a decoder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoder: Option<OtherAnswers>,
    /// Those of the attention to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cross: Option<OtherAnswers>,
    #[serde(default, skip_serializing_if = "Coverage::is_full")]
    coverage: Coverage,
    /// Length of the sequences that pairs were chosen for, where there are more positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
}

/// The plan that a `config.json` describes, of a model whose files hold tensors of these names.
pub(super) fn plan_of(text: &str, tensors: &BTreeSet<String>, dir: &Path) -> Result<ModelPlan, CheckpointError> {
    let settings = |why: String| CheckpointError::Settings { file: CONFIG.to_owned(), why, path: dir.to_owned() };
    let keys: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| settings(format!("it is no JSON object ({error}).")))?;
    let read = Keys { keys: &keys, tensors, dir };
    let found = read.word("model_type")?;
    let own: Option<OwnAttention> = match keys.get(ATTENTION).filter(|_| found == OWN_TYPE) {
        None => None,
        Some(value) => Some(
            serde_json::from_value(value.clone())
                .map_err(|error| settings(format!("its `{ATTENTION}` cannot be read ({error}).")))?,
        ),
    };
    let preset = match (found.as_str(), read.class(), &own) {
        ("bert", _, _) => BERT,
        ("megatron-bert", _, _) => Preset { norm: NormPlacement::Pre, ..BERT },
        ("gpt2", _, _) => GPT2,
        ("bart", _, _) => BART,
        ("vit", _, _) => VIT,
        (OWN_TYPE, Some("HeadroomDecoder"), None) => Preset { norm: NormPlacement::Post, ..GPT2 },
        (OWN_TYPE, Some("HeadroomDecoder"), Some(own)) => Preset { norm: own.norm, ..GPT2 },
        (OWN_TYPE, Some("HeadroomEncoder" | OWN_CLASSES | OWN_SPAN | OWN_STATES), Some(own)) => {
            Preset { norm: own.norm, ..BERT }
        }
        (OWN_TYPE, Some("HeadroomVision"), Some(own)) => Preset { norm: own.norm, ..VIT },
        (OWN_TYPE, Some("HeadroomEncoderDecoder"), Some(own)) => Preset { norm: own.norm, ..BART },
        _ => return Err(CheckpointError::UnknownModelType { found, path: dir.to_owned() }),
    };
    read.demand("tie_word_embeddings", &[json!(true)])?;
    let (mut attention, mut length) = (AttentionConfig::default(), None);
    if let Some(OwnAttention { reuse, compatibility, coverage, encoder, cross, tokens, .. }) = own {
        attention = AttentionConfig { reuse, compatibility, coverage, encoder, cross, ..attention };
        length = tokens;
    }
    let (attention, length) = (&attention, length);
    match preset.naming {
        Naming::Bert => read.bert(preset, attention, length),
        Naming::Gpt2 => read.gpt2(preset, attention, length),
        Naming::Bart => read.bart(preset, attention),
        Naming::Vit => read.vit(preset, attention),
    }
}

/// How each family says what it is.
impl Keys<'_> {
    fn bert(
        &self,
        mut preset: Preset,
        attention: &AttentionConfig,
        length: Option<usize>,
    ) -> Result<ModelPlan, CheckpointError> {
        self.demand("hidden_act", &[json!("gelu")])?;
        self.demand("position_embedding_type", &[json!("absolute")])?;
        self.demand("is_decoder", &[json!(false)])?;
        if self.keys.contains_key("type_vocab_size") {
            preset.token_types = self.count("type_vocab_size")?;
        }
        let sizes = self.bert_sizes(self.count("max_position_embeddings")?)?;
        preset.norm_epsilon = self.epsilon("layer_norm_eps", &preset)?;
        let stack = self.stack(&preset, StackName::Encoder, &sizes, attention, length)?;
        let head = match self.class() {
            Some(BERT_CLASSES | MEGATRON_BERT_CLASSES | OWN_CLASSES) => {
                OutputPlan::Classes { classes: self.classes()?, pools: true }
            }
            Some(BERT_SPAN | MEGATRON_BERT_SPAN | OWN_SPAN) => OutputPlan::Span,
            // What the files hold decides: sentence models often say another class than they are.
            Some("BertModel" | "MegatronBertModel" | OWN_STATES) | None if !self.holds("cls.") => {
                OutputPlan::States { pools: self.holds("pooler.") || self.holds("bert.pooler.") }
            }
            _ => OutputPlan::Vocabulary(preset.vocabulary_head),
        };
        self.text(&preset, None, stack, head)
    }

    fn gpt2(
        &self,
        mut preset: Preset,
        attention: &AttentionConfig,
        length: Option<usize>,
    ) -> Result<ModelPlan, CheckpointError> {
        self.demand("activation_function", &[json!("gelu_new"), json!("gelu_pytorch_tanh")])?;
        self.demand("scale_attn_weights", &[json!(true)])?;
        self.demand("scale_attn_by_inverse_layer_idx", &[json!(false)])?;
        self.demand("add_cross_attention", &[json!(false)])?;
        let width = self.count("n_embd")?;
        let sizes = ModelConfig {
            layers: self.count("n_layer")?,
            heads: self.count("n_head")?,
            width,
            feed_forward: match self.keys.get("n_inner") {
                None | Some(Value::Null) => width.saturating_mul(4),
                Some(_) => self.count("n_inner")?,
            },
            dropout: self.number("resid_pdrop", 0.1)?,
            positions: Some(self.count("n_positions")?),
            ..ModelConfig::default()
        };
        preset.norm_epsilon = self.epsilon("layer_norm_epsilon", &preset)?;
        let stack = self.stack(&preset, StackName::Decoder, &sizes, attention, length)?;
        self.text(&preset, None, stack, OutputPlan::Vocabulary(preset.vocabulary_head))
    }

    fn bart(&self, preset: Preset, attention: &AttentionConfig) -> Result<ModelPlan, CheckpointError> {
        self.demand("activation_function", &[json!("gelu")])?;
        self.demand("is_encoder_decoder", &[json!(true)])?;
        self.demand("scale_embedding", &[json!(false)])?;
        let stack = |name: StackName, attention: &AttentionConfig| {
            let key = |of: &str| format!("{}_{of}", name.word());
            let sizes = ModelConfig {
                layers: self.count(&key("layers"))?,
                heads: self.count(&key("attention_heads"))?,
                width: self.count("d_model")?,
                feed_forward: self.count(&key("ffn_dim"))?,
                dropout: self.number("dropout", 0.1)?,
                positions: Some(self.count("max_position_embeddings")?),
                ..ModelConfig::default()
            };
            self.stack(&preset, name, &sizes, attention, None)
        };
        let own = AttentionConfig { encoder: None, cross: None, ..attention.clone() };
        let mut decoder = stack(StackName::Decoder, &own)?;
        let cross = stack(StackName::Decoder, &attention.of_cross())?;
        decoder.cross = Some(CrossPlan { head_plan: cross.head_plan, compatibility: cross.compatibility });
        let encoder = stack(StackName::Encoder, &attention.of_encoder())?;
        let head = OutputPlan::Vocabulary(preset.vocabulary_head);
        self.text(&preset, Some(encoder), decoder, head)
    }

    fn vit(&self, mut preset: Preset, attention: &AttentionConfig) -> Result<ModelPlan, CheckpointError> {
        self.demand("hidden_act", &[json!("gelu")])?;
        self.demand("qkv_bias", &[json!(true)])?;
        let or = |key: &str, usual: usize| if self.keys.contains_key(key) { self.count(key) } else { Ok(usual) };
        let (image, patch, channels) = (or("image_size", 224)?, or("patch_size", 16)?, or("num_channels", 3)?);
        if patch == 0 || channels == 0 || channels > MOST_CHANNELS || !(1..=LARGEST_IMAGE).contains(&image) {
            return Err(self.settings(format!("an image of {image} pixels in patches of {patch} cannot be read.")));
        }
        if !image.is_multiple_of(patch) {
            return Err(self.settings(format!("{image} pixels are not divisible by patches of {patch}.")));
        }
        let side = image / patch;
        let sizes = self.bert_sizes(side * side + 1)?;
        preset.norm_epsilon = self.epsilon("layer_norm_eps", &preset)?;
        Ok(ModelPlan {
            naming: preset.naming,
            input: InputPlan::Patches { image, patch, channels },
            encoder: None,
            stack: self.stack(&preset, StackName::Encoder, &sizes, attention, None)?,
            head: OutputPlan::Classes { classes: self.classes()?, pools: false },
            cache: Cache::default(),
        })
    }

    /// The sizes under the keys of BERT.
    fn bert_sizes(&self, positions: usize) -> Result<ModelConfig, CheckpointError> {
        Ok(ModelConfig {
            layers: self.count("num_hidden_layers")?,
            heads: self.count("num_attention_heads")?,
            width: self.count("hidden_size")?,
            feed_forward: self.count("intermediate_size")?,
            dropout: self.number("hidden_dropout_prob", 0.1)?,
            positions: Some(positions),
            ..ModelConfig::default()
        })
    }

    /// A checked stack, for sequences as long as there are positions where no other length is given.
    fn stack(
        &self,
        preset: &Preset,
        name: StackName,
        sizes: &ModelConfig,
        attention: &AttentionConfig,
        length: Option<usize>,
    ) -> Result<StackPlan, CheckpointError> {
        let length = length.or(sizes.positions).unwrap_or_default();
        preset.checked_stack(name, sizes, attention, length).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            self.settings(format!("it describes a model that cannot be built ({}).", problems.join("; ")))
        })
    }

    /// A model that reads tokens.
    fn text(
        &self,
        preset: &Preset,
        encoder: Option<StackPlan>,
        stack: StackPlan,
        head: OutputPlan,
    ) -> Result<ModelPlan, CheckpointError> {
        let vocabulary = self.count("vocab_size")?;
        if vocabulary == 0 {
            return Err(self.wrong("vocab_size", "at least 1"));
        }
        let input = InputPlan::Tokens { vocabulary, types: preset.token_types };
        let encoder = encoder.map(Box::new);
        Ok(ModelPlan { naming: preset.naming, input, encoder, stack, head, cache: Cache::default() })
    }

    /// What norms add to the variance.
    fn epsilon(&self, key: &str, preset: &Preset) -> Result<f64, CheckpointError> {
        let epsilon = self.number(key, preset.norm_epsilon)?;
        if epsilon.is_finite() && epsilon >= 0.0 {
            return Ok(epsilon);
        }
        Err(self.settings(format!("a norm epsilon of {epsilon} is outside 0 and above.")))
    }

    /// How many classes there are: 2 where nothing is said, as in `transformers`.
    fn classes(&self) -> Result<usize, CheckpointError> {
        let classes = match (self.keys.get("num_labels"), self.keys.get("id2label").and_then(Value::as_object)) {
            (Some(_), _) => self.count("num_labels")?,
            (None, Some(labels)) => labels.len(),
            (None, None) => 2,
        };
        if (1..=MOST_CLASSES).contains(&classes) {
            return Ok(classes);
        }
        Err(self.settings(format!("{classes} classes are outside 1 to {MOST_CLASSES}.")))
    }
}

/// The most classes, pixels of a side of an image, and numbers of a pixel that are read.
const MOST_CLASSES: usize = 1 << 20;
const LARGEST_IMAGE: usize = 1 << 14;
const MOST_CHANNELS: usize = 1 << 10;

/// The keys of a `config.json`.
struct Keys<'a> {
    keys: &'a Map<String, Value>,
    /// The names of all tensors beside it.
    tensors: &'a BTreeSet<String>,
    dir: &'a Path,
}

impl Keys<'_> {
    fn settings(&self, why: String) -> CheckpointError {
        CheckpointError::Settings { file: CONFIG.to_owned(), why, path: self.dir.to_owned() }
    }

    fn wrong(&self, key: &str, expected: &str) -> CheckpointError {
        self.settings(match self.keys.get(key) {
            None => format!("it has no `{key}`."),
            Some(found) => format!("`{key}` is {found}, but must be {expected}."),
        })
    }

    /// Whether there is a tensor whose name begins so.
    fn holds(&self, start: &str) -> bool {
        self.tensors.iter().any(|name| name.starts_with(start))
    }

    fn class(&self) -> Option<&str> {
        self.keys.get("architectures")?.get(0)?.as_str()
    }

    fn word(&self, key: &str) -> Result<String, CheckpointError> {
        self.keys.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| self.wrong(key, "a text"))
    }

    fn count(&self, key: &str) -> Result<usize, CheckpointError> {
        let count = self.keys.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.wrong(key, "a whole number"))
    }

    fn number(&self, key: &str, default: f64) -> Result<f64, CheckpointError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| self.wrong(key, "a number")),
        }
    }

    /// Refuses values that would make the model compute something else; an absent key means the usual value.
    fn demand(&self, key: &str, allowed: &[Value]) -> Result<(), CheckpointError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(()),
            Some(found) if allowed.contains(found) => Ok(()),
            Some(found) => Err(CheckpointError::Unsupported {
                key: key.to_owned(),
                found: found.to_string(),
                expected: allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
                path: self.dir.to_owned(),
            }),
        }
    }
}
