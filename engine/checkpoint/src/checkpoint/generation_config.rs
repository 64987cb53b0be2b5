//! Settings of generation, as `transformers` keeps them: tokens with a meaning, and settings of `generate`.

use std::path::Path;

use serde_json::{Map, Value};

use super::{CONFIG, CheckpointError, GENERATION_CONFIG, directory::recovered, text_files::text};
use crate::generate::{EarlyStopping, LogitsProcessors, Marks, SearchSettings};

/// Settings of generation in a model directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationConfig {
    /// Tokens with a meaning, and what is done with the scores of others.
    pub marks: Marks,
    /// Settings of a search, as far as it has them.
    pub search: SearchSettings,
    /// Keys that change what `transformers` generates and that have no effect here, in the order of the alphabet.
    pub unused: Vec<String>,
}

/// Keys that change no token, or only where the one beside them does.
const WITHOUT_EFFECT: [&str; 37] = [
    "_commit_hash",
    "_from_model_config",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "bos_token_id",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "continuous_batching_config",
    "decoder_start_token_id",
    "disable_compile",
    "eos_token_id",
    "is_assistant",
    "low_memory",
    "max_cache_len",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "remove_invalid_values",
    "return_dict",
    "return_dict_in_generate",
    "return_legacy_cache",
    "speculation_type",
    "target_lookbehind",
    "trust_remote_code",
    "transformers_version",
    "use_cache",
    "use_mtp",
];

/// Keys of `generate` that are not honoured, with the value that changes nothing. Older models have them in `config.json`, where other
/// keys stand too.
const NOT_HONOURED: [(&str, f64); 11] = [
    ("constraints", f64::NAN),
    ("dola_layers", f64::NAN),
    ("force_words_ids", f64::NAN),
    ("forced_decoder_ids", f64::NAN),
    ("guidance_scale", 1.0),
    ("max_time", f64::NAN),
    ("num_return_sequences", 1.0),
    ("penalty_alpha", 0.0),
    ("stop_strings", f64::NAN),
    ("token_healing", f64::NAN),
    ("watermarking_config", f64::NAN),
];

/// Settings of generation in a model directory. Where it has no `generation_config.json`, the keys stand in `config.json`, as older
/// `transformers` wrote them.
///
/// # Errors
/// If one of the files cannot be read.
pub fn read_generation_config(dir: &Path) -> Result<GenerationConfig, CheckpointError> {
    read(&recovered(dir))
}

/// As [`read_generation_config`], of a directory that is whole.
pub(super) fn read(dir: &Path) -> Result<GenerationConfig, CheckpointError> {
    let settings =
        |file: &str| -> Result<Option<Map<String, Value>>, CheckpointError> {
            let Some(text) = text(dir, file)? else { return Ok(None) };
            let settings: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
                CheckpointError::Settings { file: file.to_owned(), why: error.to_string(), path: dir.to_owned() }
            })?;
            Ok(Some(settings.into_iter().filter(|(_, value)| !value.is_null()).collect()))
        };
    let model = settings(CONFIG)?.unwrap_or_default();
    let own = settings(GENERATION_CONFIG)?;
    Ok(Reader { is_own: own.is_some(), keys: own.as_ref().unwrap_or(&model), model: &model, unused: Vec::new() }.read())
}

/// Keys that are being read.
struct Reader<'a> {
    keys: &'a Map<String, Value>,
    /// True where they are those of `generation_config.json`.
    is_own: bool,
    /// Settings of `config.json`.
    model: &'a Map<String, Value>,
    unused: Vec<String>,
}

impl Reader<'_> {
    fn read(mut self) -> GenerationConfig {
        // Whoever leaves out how texts begin and end means what the model says.
        let token = |key: &str| self.keys.get(key).or(self.model.get(key));
        let start = token("decoder_start_token_id").and_then(|value| ids(value).first().copied());
        let start = start.or_else(|| token("bos_token_id").and_then(id));
        let end = token("eos_token_id").map(ids).unwrap_or_default();
        let pad = token("pad_token_id").and_then(id);
        let mut forced_first = self.take("forced_bos_token_id", id);
        if !self.is_own && forced_first.is_none() && self.flag("force_bos_token_to_be_generated") == Some(true) {
            forced_first = token_of(self.keys, "bos_token_id");
        }
        let forced_last = self.take("forced_eos_token_id", some_ids).unwrap_or_default();
        let processors = self.processors();
        let search = self.search();
        let unused = self.unused();
        let marks = Marks { start, end, pad, forced_first, forced_last, processors };
        GenerationConfig { marks, search, unused }
    }

    fn processors(&mut self) -> LogitsProcessors {
        let usual = LogitsProcessors::default();
        let share = |value: &Value| number(value).filter(|p| (0.0..=1.0).contains(p));
        let penalty = |value: &Value| number(value).filter(|x| *x > 0.0);
        LogitsProcessors {
            sequence_bias: self.take("sequence_bias", biases).unwrap_or_default(),
            bad_words: self.take("bad_words_ids", words).unwrap_or_default(),
            suppressed: self.take("suppress_tokens", listed_ids).unwrap_or_default(),
            suppressed_first: self.take("begin_suppress_tokens", listed_ids).unwrap_or_default(),
            repetition_penalty: self.take("repetition_penalty", penalty).unwrap_or(usual.repetition_penalty),
            encoder_repetition_penalty: self
                .take("encoder_repetition_penalty", penalty)
                .unwrap_or(usual.encoder_repetition_penalty),
            encoder_no_repeat: self.take("encoder_no_repeat_ngram_size", size).unwrap_or_default(),
            length_decay: self.take("exponential_decay_length_penalty", decay),
            renormalises: self.flag("renormalize_logits").unwrap_or_default(),
            min_p: self.take("min_p", share),
            top_h: self.take("top_h", share).filter(|h| *h > 0.0),
            // 0 and 1 leave all tokens.
            typical_p: self.take("typical_p", share).filter(|p| *p > 0.0 && *p < 1.0),
            epsilon_cutoff: self.take("epsilon_cutoff", share).filter(|p| *p > 0.0 && *p < 1.0),
            eta_cutoff: self.take("eta_cutoff", share).filter(|p| *p > 0.0 && *p < 1.0),
        }
    }

    fn search(&mut self) -> SearchSettings {
        let mut search = SearchSettings {
            max_new_tokens: self.take("max_new_tokens", size),
            max_length: self.take("max_length", size),
            min_new_tokens: self.take("min_new_tokens", size),
            min_length: self.take("min_length", size),
            beams: self.take("num_beams", size),
            groups: self.take("num_beam_groups", size),
            diversity: self.take("diversity_penalty", number),
            length_penalty: self.take("length_penalty", number),
            early_stopping: self.take("early_stopping", stopping),
            no_repeat: self.take("no_repeat_ngram_size", size),
            draws: self.flag("do_sample"),
            temperature: self.take("temperature", number),
            top_k: self.take("top_k", size),
            top_p: self.take("top_p", number),
        };
        // Of these a value without a meaning is the usual one, in a model that draws nothing.
        let draws = search.draws == Some(true);
        let dropped = search.drop_impossible();
        let is_told = |key: &&str| draws || !["temperature", "top_p"].contains(key);
        self.unused.extend(dropped.into_iter().filter(is_told).map(str::to_owned));
        search
    }

    /// The value of a key; one that cannot be read is told as unused.
    fn take<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.keys.get(key)?;
        let found = read(value);
        if found.is_none() {
            self.unused.push(key.to_owned());
        }
        found
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        self.take(key, Value::as_bool)
    }

    /// Keys that have no effect, with those that could not be read.
    fn unused(mut self) -> Vec<String> {
        let changes = |key: &str, value: &Value| {
            if let Some((_, usual)) = NOT_HONOURED.iter().find(|(known, _)| *known == key) {
                return value.as_f64() != Some(*usual);
            }
            self.is_own && !WITHOUT_EFFECT.contains(&key) && !HONOURED.contains(&key)
        };
        let is_off = |value: &Value| *value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty);
        let others = self.keys.iter().filter(|(key, value)| changes(key, value) && !is_off(value));
        self.unused.extend(others.map(|(key, _)| key.clone()));
        // Contrastive search needs both.
        if token_of(self.keys, "top_k").is_none_or(|k| k < 2) {
            self.unused.retain(|key| key != "penalty_alpha");
        }
        // The first of several is taken.
        if self.keys.get("decoder_start_token_id").and_then(Value::as_array).is_some_and(|starts| starts.len() > 1) {
            self.unused.push("decoder_start_token_id".to_owned());
        }
        self.unused.sort();
        self.unused.dedup();
        self.unused
    }
}

/// Keys that are honoured.
const HONOURED: [&str; 31] = [
    "bad_words_ids",
    "begin_suppress_tokens",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "encoder_repetition_penalty",
    "epsilon_cutoff",
    "eta_cutoff",
    "exponential_decay_length_penalty",
    "force_bos_token_to_be_generated",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
    "min_p",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "renormalize_logits",
    "repetition_penalty",
    "sequence_bias",
    "suppress_tokens",
    "temperature",
    "top_h",
    "top_k",
    "top_p",
    "typical_p",
];

fn token_of(keys: &Map<String, Value>, key: &str) -> Option<u32> {
    keys.get(key).and_then(id)
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// One id or several.
fn ids(value: &Value) -> Vec<u32> {
    match value {
        Value::Array(values) => values.iter().filter_map(id).collect(),
        one => id(one).into_iter().collect(),
    }
}

/// The same, and none where there is none.
fn some_ids(value: &Value) -> Option<Vec<u32>> {
    Some(ids(value)).filter(|ids| !ids.is_empty())
}

fn listed_ids(value: &Value) -> Option<Vec<u32>> {
    value.as_array()?.iter().map(id).collect()
}

fn words(value: &Value) -> Option<Vec<Vec<u32>>> {
    value.as_array()?.iter().map(|word| listed_ids(word).filter(|ids| !ids.is_empty())).collect()
}

fn size(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// `[[ids, bias], ..]`
fn biases(value: &Value) -> Option<Vec<(Vec<u32>, f64)>> {
    let bias = |pair: &Value| match pair.as_array()?.as_slice() {
        [sequence, bias] => Some((listed_ids(sequence).filter(|ids| !ids.is_empty())?, number(bias)?)),
        _ => None,
    };
    value.as_array()?.iter().map(bias).collect()
}

/// `[start, factor]`
fn decay(value: &Value) -> Option<(usize, f64)> {
    match value.as_array()?.as_slice() {
        [start, factor] => Some((size(start)?, number(factor)?)),
        _ => None,
    }
}

fn stopping(value: &Value) -> Option<EarlyStopping> {
    match value {
        Value::Bool(true) => Some(EarlyStopping::Yes),
        Value::Bool(false) => Some(EarlyStopping::No),
        Value::String(word) if word == "never" => Some(EarlyStopping::Never),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_generation_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
        write(
            CONFIG,
            r#"{"eos_token_id": 2, "bos_token_id": 0, "forced_eos_token_id": 2, "forced_bos_token_id": null, "num_beams": 3}"#,
        );
        let found = read_generation_config(folder.path()).unwrap();
        let expected = Marks { start: Some(0), end: vec![2], forced_last: vec![2], ..Marks::default() };
        assert_eq!((found.marks, found.search.beams), (expected, Some(3)));
        write(GENERATION_CONFIG, r#"{"eos_token_id": [2, 5], "decoder_start_token_id": 7, "bos_token_id": null}"#);
        let found = read_generation_config(folder.path()).unwrap();
        assert_eq!((found.marks.start, found.marks.end), (Some(7), vec![2, 5]));
        // As in transformers, where one file takes the place of the other.
        assert_eq!((found.marks.forced_last, found.search.beams), (Vec::new(), None));
        write(GENERATION_CONFIG, "no JSON");
        let error = read_generation_config(folder.path()).unwrap_err().to_string();
        assert!(error.contains(GENERATION_CONFIG));
    }

    #[test]
    fn what_is_not_honoured_is_named() {
        let of = |keys: Value| {
            let Value::Object(keys) = keys else { panic!() };
            Reader { keys: &keys, is_own: true, model: &Map::new(), unused: Vec::new() }.read()
        };
        let found = of(serde_json::json!({
            "num_beams": 4, "bad_words_ids": [[3], [4, 5]], "early_stopping": "never", "use_cache": true, "top_k": 50,
            "do_sample": true, "exponential_decay_length_penalty": [4, 1.1], "sequence_bias": [[[7], -2.5]],
            "guidance_scale": 1.5, "num_return_sequences": 1, "penalty_alpha": 0.6, "stop_strings": ["."],
            "max_window_size": 8, "typical_p": 3.0, "num_beam_groups": "two", "token_healing": false,
        }));
        assert_eq!(
            found.unused,
            ["guidance_scale", "max_window_size", "num_beam_groups", "penalty_alpha", "stop_strings", "typical_p"]
        );
        let processors = &found.marks.processors;
        assert_eq!(processors.bad_words, [vec![3], vec![4, 5]]);
        assert_eq!((&processors.sequence_bias, processors.length_decay), (&vec![(vec![7], -2.5)], Some((4, 1.1))));
        assert_eq!((found.search.beams, found.search.early_stopping), (Some(4), Some(EarlyStopping::Never)));
        assert!(of(serde_json::json!({ "top_p": 0.0, "temperature": 0.0, "do_sample": false })).unused.is_empty());
        assert_eq!(of(serde_json::json!({ "temperature": 0.0, "do_sample": true })).unused, ["temperature"]);
    }
}
