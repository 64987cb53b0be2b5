//! `config.json` under Hugging Face's keys, from a plan and back: what all families share.

use std::{cell::RefCell, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    CONFIG, CheckpointError, ModelDirectory,
    families::{Family, Keys, Own, TiedTensors, end_of_text, families, family},
    labels, own_module,
    special_tokens::SpecialTokens,
    tensors::Weights,
};
use crate::{
    attention::{HeadPlan, InputPlan, ModelPlan, OutputPlan, StackDesign},
    config::{AttentionConfig, Compatibility, Coverage, NormPlacement, OtherAnswers, Precision, Reuse},
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
    let family = family(plan.naming);
    attentions(plan).all(|(head_plan, compatibility)| head_plan.is_plain() && family.knows(compatibility))
        && plan.stacks().all(|stack| stack.coverage.is_full())
}

/// The answers of every attention of a plan.
fn attentions(plan: &ModelPlan) -> impl Iterator<Item = (&HeadPlan, &Compatibility)> {
    plan.stacks().flat_map(|stack| {
        let cross = stack.cross.iter().map(|cross| (&cross.head_plan, &cross.compatibility));
        [(&stack.head_plan, &stack.compatibility)].into_iter().chain(cross)
    })
}

/// The type and the class that a plan is saved under: one of our own where `transformers` does not know its attention, or where
/// its norms stand.
fn model_type(plan: &ModelPlan) -> (&'static str, &'static str) {
    let family = family(plan.naming);
    let known = if is_known(plan) { family.class(plan).ok() } else { None };
    known.unwrap_or_else(|| (OWN_TYPE, family.own_class(plan)))
}

/// The class of the module beside the weights that computes a plan; none where `transformers` knows the plan, or the module does
/// not.
pub(super) fn module_class(plan: &ModelPlan) -> Option<&'static str> {
    let (model_type, class) = model_type(plan);
    let is_there = || own_module::SOURCE.contains(&format!("\nclass {class}("));
    // The module knows one design of every family: that of its preset.
    let is_usual = plan.stacks().all(|stack| stack.design == StackDesign::default());
    (model_type == OWN_TYPE && is_usual && !has_own_table(plan) && is_there()).then_some(class)
}

/// Behind why a model does not open by itself, where a module comes with it.
pub(super) const COMPUTED_THERE: &str =
    " An export's `modeling_headroom.py` computes it there (`trust_remote_code=True`).";

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
    let family = family(plan.naming);
    let other = attentions(plan).map(|(_, compatibility)| compatibility).find(|one| !family.knows(one));
    match other.unwrap_or(&stack.compatibility) {
        known if family.knows(known) => {}
        Compatibility::Standard(_) => {
            unknown.push("attention without some of its biases (attention.compatibility.biases)".to_owned());
        }
        other => unknown.push(format!("compatibility \"{}\" (attention.compatibility)", other.kind())),
    }
    if !stack.coverage.is_full() {
        unknown.push(format!("coverage \"{}\" (attention.coverage)", stack.coverage.kind()));
    }
    unknown.extend(family.class(plan).err().map(str::to_owned));
    let with_module = match module_class(plan) {
        Some(_) => COMPUTED_THERE,
        None => "",
    };
    let unknown = unknown.join(", nor ");
    InTransformers {
        opens: false,
        words: format!("It does not open in transformers by itself, which does not know {unknown}.{with_module}"),
    }
}

/// `generation_config.json` of a model that writes after an encoder: how texts begin and end. None of another model.
pub(super) fn generation_config_json(plan: &ModelPlan, special: &SpecialTokens) -> Option<String> {
    let end = end_of_text(special);
    if plan.encoder.is_none() || end.is_null() {
        return None;
    }
    let settings = json!({
        "bos_token_id": special.id("bos_token"),
        "decoder_start_token_id": family(plan.naming).start_of_text(special),
        "eos_token_id": end,
        "forced_eos_token_id": if family(plan.naming).forces_end() { end } else { Value::Null },
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
    let family = family(plan.naming);
    let mut config = family.settings(plan, special);
    let common = json!({
        "architectures": [class],
        "bos_token_id": special.id("bos_token"),
        "dtype": match precision { Precision::F64 => "float64", _ => "float32" },
        "eos_token_id": special.id("eos_token"),
        "initializer_range": 0.02,
        "model_type": model_type,
        "pad_token_id": special.id("pad_token"),
        "tie_word_embeddings": !has_own_table(plan),
        "vocab_size": plan.vocabulary(),
    });
    if let (Some(config), Value::Object(mut common)) = (config.as_object_mut(), common) {
        config.extend(labels::keys(plan, contents.labels));
        if let InputPlan::Patches { image, patch, channels, .. } = plan.input {
            for (key, number) in [("image_size", image), ("patch_size", patch), ("num_channels", channels)] {
                config.insert(key.to_owned(), json!(number));
            }
            common.retain(|key, _| !key.ends_with("_token_id") && key != "vocab_size");
        }
        config.extend(common);
        if model_type == OWN_TYPE {
            config.insert(NOTE.to_owned(), json!(in_transformers(plan).words));
            if let Some(class) = module_class(plan).filter(|_| contents.card.is_some()) {
                let module = own_module::MODULE_NAME;
                let (auto, _) = own_module::auto_class(plan);
                let map =
                    json!({ "AutoConfig": format!("{module}.HeadroomConfig"), auto: format!("{module}.{class}") });
                config.insert("auto_map".to_owned(), map);
            }
        }
        if !is_known(plan) || (model_type == OWN_TYPE && family.always_says_answers()) {
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

/// Whether the head has another table than the embeddings.
fn has_own_table(plan: &ModelPlan) -> bool {
    matches!(plan.head, OutputPlan::Vocabulary(head) if head.table.is_own())
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

/// Why a model with this `config.json` cannot be opened here, as far as that can be said without its weights; none where nothing
/// speaks against it. `name` stands in the sentence where the folder would.
pub fn refusal_of_config(text: &str, name: &str) -> Option<String> {
    described(text, None, Path::new(name)).err().map(|error| error.to_string())
}

/// A model as its settings and the names and numbers of its weights describe it.
#[derive(Debug)]
pub(super) struct Described {
    /// The architecture.
    pub plan: ModelPlan,
    /// Tensors that are held several times.
    pub tied: TiedTensors,
    /// Sentences on decisions against the settings.
    pub notes: Vec<String>,
}

/// The model that a `config.json` describes, with these weights where they are known.
pub(super) fn described(text: &str, weights: Option<&Weights<'_>>, dir: &Path) -> Result<Described, CheckpointError> {
    let settings = |why: String| CheckpointError::Settings { file: CONFIG.to_owned(), why, path: dir.to_owned() };
    let keys: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| settings(format!("it is no JSON object ({error}).")))?;
    let notes = RefCell::default();
    let (tensors, mut tied) = (weights.map(Weights::names).unwrap_or_default(), TiedTensors::default());
    let read = Keys { written: &keys, tensors: &tensors, tied: &tied, notes: &notes, dir };
    let found = read.word("model_type")?;
    let own: Option<OwnAttention> = match keys.get(ATTENTION).filter(|_| found == OWN_TYPE) {
        None => None,
        Some(value) => Some(
            serde_json::from_value(value.clone())
                .map_err(|error| settings(format!("its `{ATTENTION}` cannot be read ({error}).")))?,
        ),
    };
    let class = read.class().unwrap_or_default();
    let is_meant = |family: &&dyn Family| match (found.as_str(), &own) {
        (OWN_TYPE, Some(_)) => family.own_classes().contains(&class),
        // Plain attention, in a family of which `transformers` does not know where norms stand.
        (OWN_TYPE, None) => family.own_classes().contains(&class) && class.starts_with("HeadroomDecoder"),
        (found, _) => family.model_types().contains(&found),
    };
    let Some(family) = families().find(is_meant) else {
        let mut known: Vec<&str> = families().flat_map(Family::model_types).copied().collect();
        known.push(OWN_TYPE);
        known.sort_unstable();
        return Err(CheckpointError::UnknownModelType { nearest: nearest(&found), found, known, path: dir.to_owned() });
    };
    let own = match own {
        None => Own {
            norm: (found == OWN_TYPE).then_some(NormPlacement::Post),
            attention: AttentionConfig::default(),
            length: None,
        },
        Some(OwnAttention { norm, reuse, compatibility, coverage, encoder, cross, tokens }) => {
            let attention =
                AttentionConfig { reuse, compatibility, coverage, encoder, cross, ..AttentionConfig::default() };
            Own { norm: Some(norm), attention, length: tokens }
        }
    };
    if let Some((weights, ties)) = weights.zip(family.ties()) {
        tied = TiedTensors::of(&ties, weights, &notes, dir)?;
    }
    let read = Keys { written: &keys, tensors: &tensors, tied: &tied, notes: &notes, dir };
    let plan = family.plan(&read, &own)?;
    Ok(Described { plan, tied, notes: notes.into_inner() })
}

/// Types of models that do not open, each beside the type that opens and is nearest to it.
const NEAREST: [(&str, &str); 46] = [
    ("beit", "vit"),
    ("bert-generation", "bert"),
    ("big_bird", "bert"),
    ("biogpt", "gpt2"),
    ("blenderbot", "bart"),
    ("bloom", "gpt2"),
    ("canine", "bert"),
    ("codegen", "gpt2"),
    ("convbert", "bert"),
    ("data2vec-text", "roberta"),
    ("deberta", "bert"),
    ("dinov2", "vit"),
    ("ernie", "bert"),
    ("falcon", "llama"),
    ("flaubert", "bert"),
    ("funnel", "bert"),
    ("gemma", "llama"),
    ("gpt_bigcode", "gpt2"),
    ("gpt_neo", "gpt2"),
    ("gptj", "gpt2"),
    ("granite", "llama"),
    ("ibert", "roberta"),
    ("layoutlm", "bert"),
    ("led", "bart"),
    ("longformer", "roberta"),
    ("longt5", "t5"),
    ("luke", "roberta"),
    ("m2m_100", "bart"),
    ("mbart", "bart"),
    ("mixtral", "mistral"),
    ("mobilebert", "bert"),
    ("modernbert", "bert"),
    ("mpnet", "roberta"),
    ("nezha", "bert"),
    ("olmo", "llama"),
    ("opt", "gpt2"),
    ("pegasus", "bart"),
    ("phi", "llama"),
    ("plbart", "bart"),
    ("qwen", "qwen2"),
    ("smollm", "llama"),
    ("squeezebert", "bert"),
    ("stablelm", "llama"),
    ("switch_transformers", "t5"),
    ("umt5", "mt5"),
    ("xlm", "xlm-roberta"),
];

/// The type of models that opens and is nearest to one that does not: by its kin, or else by its name.
fn nearest(found: &str) -> Option<&'static str> {
    let found = found.to_lowercase();
    let kin = NEAREST.iter().filter(|(type_name, _)| found.starts_with(type_name));
    if let Some((_, nearest)) = kin.max_by_key(|(type_name, _)| type_name.len()) {
        return Some(nearest);
    }
    let known = || families().flat_map(Family::model_types).copied();
    let within = known().filter(|known| found.contains(known)).max_by_key(|known| known.len());
    let distances = || known().map(|known| (distance(&found, known), known));
    let near = || distances().min().filter(|(distance, known)| 3 * distance <= known.len()).map(|(_, known)| known);
    within.or_else(near)
}

/// Number of letters to change to make one word of another (Levenshtein), as far as a name of a type reaches.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, other) in row.iter_mut().skip(1).zip(&b) {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = *cell;
            left = changed.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_type_that_opens_is_named() {
        for (found, expected) in [
            ("deberta-v2", Some("bert")),
            ("qwen3", Some("qwen2")),
            ("gpt_neox", Some("gpt2")),
            ("umt5", Some("mt5")),
            ("mixtral", Some("mistral")),
            ("rembert", Some("bert")),
            ("xlm-roberta-xl", Some("xlm-roberta")),
            ("Llama4", Some("llama")),
            ("lama", Some("llama")),
            ("gtp2", None),
            ("wav2vec2", None),
            ("", None),
        ] {
            assert_eq!(nearest(found), expected, "{found}");
        }
        let known: Vec<&str> = families().flat_map(Family::model_types).copied().collect();
        for (type_name, nearest) in NEAREST {
            assert!(known.contains(&nearest) && !known.contains(&type_name), "{type_name} {nearest}");
        }
    }
}
