//! `config.json` under Hugging Face's keys, from a plan and back.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{CONFIG, CheckpointError, ModelDirectory, special_tokens::SpecialTokens};
use crate::{
    attention::ModelPlan,
    config::{Architecture, AttentionConfig, Compatibility, Coverage, NormPlacement, Precision, Reuse, RunConfig},
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
    plan.head_plan.is_plain() && plan.compatibility == Compatibility::default() && plan.coverage.is_full()
}

/// Which configuration class a plan is saved under.
///
/// A decoder with norm last and attention of another kind are unknown to `transformers` and get a type of our own.
fn model_type(plan: &ModelPlan) -> (&'static str, &'static str) {
    if !is_known(plan) {
        return match plan.architecture {
            Architecture::Encoder => (OWN_TYPE, "HeadroomEncoder"),
            Architecture::Decoder => (OWN_TYPE, "HeadroomDecoder"),
        };
    }
    match (plan.architecture, plan.norm) {
        (Architecture::Encoder, NormPlacement::Post) => ("bert", "BertForMaskedLM"),
        (Architecture::Encoder, NormPlacement::Pre) => ("megatron-bert", "MegatronBertForMaskedLM"),
        (Architecture::Decoder, NormPlacement::Pre) => ("gpt2", "GPT2LMHeadModel"),
        (Architecture::Decoder, NormPlacement::Post) => (OWN_TYPE, "HeadroomDecoder"),
    }
}

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
    if !plan.head_plan.is_plain() {
        unknown.push("maps that are borrowed or left out (attention.reuse)".to_owned());
    }
    match &plan.compatibility {
        standard if *standard == Compatibility::default() => {}
        Compatibility::Standard(_) => {
            unknown.push("attention without some of its biases (attention.compatibility.biases)".to_owned());
        }
        other => unknown.push(format!("compatibility \"{}\" (attention.compatibility)", other.kind())),
    }
    if !plan.coverage.is_full() {
        unknown.push(format!("coverage \"{}\" (attention.coverage)", plan.coverage.kind()));
    }
    if (plan.architecture, plan.norm) == (Architecture::Decoder, NormPlacement::Post) {
        unknown.push("decoders with norm last (model.norm = \"post\"; \"pre\" is that of GPT-2)".to_owned());
    }
    InTransformers {
        opens: false,
        words: format!("It does not open in transformers, which does not know {}.", unknown.join(", nor ")),
    }
}

/// The text of `config.json`.
pub(super) fn config_json(contents: &ModelDirectory<'_>, precision: Precision, special: &SpecialTokens) -> String {
    let plan = contents.plan;
    let (model_type, class) = model_type(plan);
    let mut config = match plan.architecture {
        Architecture::Encoder => json!({
            "attention_probs_dropout_prob": plan.dropout,
            "hidden_act": "gelu",
            "hidden_dropout_prob": plan.dropout,
            "hidden_size": plan.width,
            "intermediate_size": plan.feed_forward,
            "is_decoder": false,
            "layer_norm_eps": plan.norm_epsilon,
            "max_position_embeddings": plan.positions,
            "num_attention_heads": plan.heads,
            "num_hidden_layers": plan.layers,
            "type_vocab_size": plan.token_types,
            "use_cache": false,
        }),
        Architecture::Decoder => json!({
            "activation_function": "gelu_new",
            "attn_pdrop": plan.dropout,
            "embd_pdrop": plan.dropout,
            "layer_norm_epsilon": plan.norm_epsilon,
            "n_embd": plan.width,
            "n_head": plan.heads,
            "n_inner": plan.feed_forward,
            "n_layer": plan.layers,
            "n_positions": plan.positions,
            "reorder_and_upcast_attn": false,
            "resid_pdrop": plan.dropout,
            "scale_attn_by_inverse_layer_idx": false,
            "scale_attn_weights": true,
            "use_cache": true,
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
        "vocab_size": plan.vocabulary,
    });
    if let (Some(config), Value::Object(common)) = (config.as_object_mut(), common) {
        config.extend(common);
        if model_type == OWN_TYPE {
            config.insert(NOTE.to_owned(), json!(in_transformers(plan).words));
        }
        if !is_known(plan) {
            let own = OwnAttention {
                norm: plan.norm,
                reuse: Reuse::Custom(plan.head_plan.to_custom()),
                compatibility: plan.compatibility.clone(),
                coverage: plan.coverage.of_model(),
                tokens: plan.coverage_tokens,
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
    let of_model = contents.plan.coverage.of_model();
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
    #[serde(default, skip_serializing_if = "Coverage::is_full")]
    coverage: Coverage,
    /// Length of the sequences that pairs were chosen for, where there are more positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
}

/// The plan that a `config.json` describes.
pub(super) fn plan_of(text: &str, dir: &Path) -> Result<ModelPlan, CheckpointError> {
    let settings = |why: String| CheckpointError::Settings { file: CONFIG.to_owned(), why, path: dir.to_owned() };
    let keys: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| settings(format!("it is no JSON object ({error}).")))?;
    let read = Keys { keys: &keys, dir };
    let found = read.text("model_type")?;
    let own: Option<OwnAttention> = match keys.get(ATTENTION).filter(|_| found == OWN_TYPE) {
        None => None,
        Some(value) => Some(
            serde_json::from_value(value.clone())
                .map_err(|error| settings(format!("its `{ATTENTION}` cannot be read ({error}).")))?,
        ),
    };
    let (architecture, norm) = match (found.as_str(), read.class(), &own) {
        ("bert", _, _) => (Architecture::Encoder, NormPlacement::Post),
        ("megatron-bert", _, _) => (Architecture::Encoder, NormPlacement::Pre),
        ("gpt2", _, _) => (Architecture::Decoder, NormPlacement::Pre),
        (OWN_TYPE, Some("HeadroomDecoder"), None) => (Architecture::Decoder, NormPlacement::Post),
        (OWN_TYPE, Some("HeadroomDecoder"), Some(own)) => (Architecture::Decoder, own.norm),
        (OWN_TYPE, Some("HeadroomEncoder"), Some(own)) => (Architecture::Encoder, own.norm),
        _ => return Err(CheckpointError::UnknownModelType { found, path: dir.to_owned() }),
    };
    read.demand("tie_word_embeddings", &[json!(true)])?;
    let mut config = RunConfig::default();
    let model = &mut config.model;
    (model.kind, model.norm) = (architecture, norm);
    let (positions, norm_epsilon, token_types);
    match architecture {
        Architecture::Encoder => {
            read.demand("hidden_act", &[json!("gelu")])?;
            read.demand("position_embedding_type", &[json!("absolute")])?;
            read.demand("is_decoder", &[json!(false)])?;
            model.layers = read.count("num_hidden_layers")?;
            model.heads = read.count("num_attention_heads")?;
            model.width = read.count("hidden_size")?;
            model.feed_forward = read.count("intermediate_size")?;
            model.dropout = read.number("hidden_dropout_prob", 0.1)?;
            positions = read.count("max_position_embeddings")?;
            norm_epsilon = read.number("layer_norm_eps", 1e-12)?;
            token_types = if keys.contains_key("type_vocab_size") { read.count("type_vocab_size")? } else { 2 };
        }
        Architecture::Decoder => {
            read.demand("activation_function", &[json!("gelu_new"), json!("gelu_pytorch_tanh")])?;
            read.demand("scale_attn_weights", &[json!(true)])?;
            read.demand("scale_attn_by_inverse_layer_idx", &[json!(false)])?;
            read.demand("add_cross_attention", &[json!(false)])?;
            model.layers = read.count("n_layer")?;
            model.heads = read.count("n_head")?;
            model.width = read.count("n_embd")?;
            model.feed_forward = match keys.get("n_inner") {
                None | Some(Value::Null) => model.width.saturating_mul(4),
                Some(_) => read.count("n_inner")?,
            };
            model.dropout = read.number("resid_pdrop", 0.1)?;
            positions = read.count("n_positions")?;
            norm_epsilon = read.number("layer_norm_epsilon", 1e-5)?;
            token_types = 0;
        }
    }
    let mut length = positions;
    if let Some(own) = own {
        length = own.tokens.unwrap_or(positions);
        config.attention = AttentionConfig {
            reuse: own.reuse,
            compatibility: own.compatibility,
            coverage: own.coverage,
            ..AttentionConfig::default()
        };
    }
    let vocabulary = read.count("vocab_size")?;
    model.positions = Some(positions);
    config.data.sequence_length = length;
    if !(norm_epsilon.is_finite() && norm_epsilon >= 0.0) {
        return Err(settings(format!("a norm epsilon of {norm_epsilon} is outside 0 and above.")));
    }
    let mut plan = ModelPlan::resolve(&config, vocabulary).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        settings(format!("it describes a model that cannot be built ({}).", problems.join("; ")))
    })?;
    (plan.norm_epsilon, plan.token_types) = (norm_epsilon, token_types);
    Ok(plan)
}

/// The keys of a `config.json`.
struct Keys<'a> {
    keys: &'a Map<String, Value>,
    dir: &'a Path,
}

impl Keys<'_> {
    fn wrong(&self, key: &str, expected: &str) -> CheckpointError {
        let why = match self.keys.get(key) {
            None => format!("it has no `{key}`."),
            Some(found) => format!("`{key}` is {found}, but must be {expected}."),
        };
        CheckpointError::Settings { file: CONFIG.to_owned(), why, path: self.dir.to_owned() }
    }

    fn class(&self) -> Option<&str> {
        self.keys.get("architectures")?.get(0)?.as_str()
    }

    fn text(&self, key: &str) -> Result<String, CheckpointError> {
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
