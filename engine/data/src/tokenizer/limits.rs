//! Bounds of a `tokenizer.json` from outside, checked before the library makes rules of it, and of what its rules make of a text.

use std::{cell::Cell, fmt};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use tokenizers::{NormalizedString, Normalizer as _, NormalizerWrapper};

use crate::{guard, text::Bounded};

/// The largest `tokenizer.json` that is read, in bytes; those of large models have some 30 MB.
pub const LARGEST_TOKENIZER: u64 = 1 << 27;

/// The most rules that change a text, cut it, frame it or put it together again, of each kind.
const MOST_RULES: usize = 64;

/// The most rules that write a text in other characters before it is cut, each of which makes it longer.
const MOST_REWRITES: usize = 2;

/// The longest text in a rule, in bytes, and the longest pattern.
const LONGEST_TEXT: usize = 256;
const LONGEST_PATTERN: usize = 4096;

/// The most tokens that a template puts around texts.
const MOST_FRAMING: usize = 1024;

/// The most added tokens, and the bytes of their texts together.
const MOST_ADDED: usize = 1 << 16;
const MOST_ADDED_BYTES: usize = 1 << 20;

/// The longest word that is looked up piece by piece, in characters.
const LONGEST_WORD: u64 = 10_000;

/// The largest id of a token.
const LARGEST_ID: u64 = (1 << 24) - 1;

/// Bytes of rules in memory, a table of characters among them.
const RULES_BYTES: usize = 16 << 20;

/// Largest growth of any text by rules in theory, and of a given one in fact, as factors.
const MOST_GROWTH: f64 = 4096.0;
const MOST_GROWTH_OF_TEXT: usize = 36;

/// Bytes of a text whose growth is looked at at once, and bytes that it may always grow by.
const SLICE: usize = 4 << 10;
const SMALL: usize = 4 << 10;

/// Rules that change a text before it is cut into tokens, one by one, where they might make one much longer.
#[derive(Clone)]
pub(super) struct Growth {
    rules: Vec<NormalizerWrapper>,
    /// True if text in ASCII may become much longer, too.
    is_any_text_checked: bool,
}

impl Growth {
    /// Refuses a text that rules make much longer, by applying them to small parts of it, rule by rule.
    ///
    /// # Errors
    /// In words: how much longer, or why a rule fails.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        let mut rest = text;
        while !rest.is_empty() {
            let (slice, after) = rest.split_at(rest.floor_char_boundary(SLICE));
            rest = after;
            if slice.is_ascii() && !self.is_any_text_checked {
                continue;
            }
            let most = slice.len() * MOST_GROWTH_OF_TEXT + SMALL;
            let mut changed = NormalizedString::from(slice);
            for rule in &self.rules {
                guard::guarded(|| rule.normalize(&mut changed))
                    .map_err(|panic| panic.to_string())?
                    .map_err(|error| error.to_string())?;
                if changed.len() > most {
                    return Err(format!(
                        "its rules make a text more than {MOST_GROWTH_OF_TEXT} times as long; take the tokenizer.json from \
                         where it came, or another one"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Refuses a `tokenizer.json` that is beyond a bound. What is no JSON is told by whoever needs the tokenizer.
///
/// # Errors
/// In words: what is.
pub fn check_tokenizer(json: &str) -> Result<(), String> {
    match parts(json.as_bytes()) {
        Err(error) if !error.is_data() => Ok(()),
        _ => check(json.as_bytes()).map(drop),
    }
}

/// The parser's words without a line, since such a file is one line.
fn reason(error: &serde_json::Error) -> String {
    let words = error.to_string();
    crate::text::shortened(words.split(" at line ").next().unwrap_or(&words), 200)
}

fn parts(json: &[u8]) -> serde_json::Result<Parts> {
    let mut parts = Parts::default();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    parts.deserialize(&mut deserializer).and_then(|()| deserializer.end())?;
    Ok(parts)
}

/// Checks the parts of a `tokenizer.json` that could take memory beyond its own size. None where no text becomes much longer.
///
/// # Errors
/// In words: what is beyond a bound.
pub(super) fn check(json: &[u8]) -> Result<Option<Growth>, String> {
    let Parts { normalizer, pre_tokenizer, post_processor, decoder } = parts(json).map_err(|error| reason(&error))?;
    let cutting = leaves(&pre_tokenizer, "pretokenizers")?;
    for kind in ["ByteLevel", "Metaspace"] {
        let count = cutting.iter().filter(|rule| kind_of(rule) == kind).count();
        if count > MOST_REWRITES {
            return Err(format!(
                "it writes text in other characters (`{kind}`) {count} times, where {MOST_REWRITES} are the most"
            ));
        }
    }
    for rule in cutting {
        check_texts(rule)?;
    }
    for rule in leaves(&decoder, "decoders")? {
        check_texts(rule)?;
    }
    require_growth(&growth(&leaves(&decoder, "decoders")?)?)?;
    for rule in leaves(&post_processor, "processors")? {
        check_template(rule)?;
    }
    let rules = leaves(&normalizer, "normalizers")?;
    let factors = growth(&rules)?;
    let any: f64 = factors.iter().map(|(any, _)| any).product();
    require_growth(&factors)?;
    if any <= MOST_GROWTH_OF_TEXT as f64 {
        return Ok(None);
    }
    let ascii: f64 = factors.iter().map(|(_, ascii)| ascii).product();
    let rules = rules.into_iter().map(|rule| serde_json::from_value(rule.clone())).collect::<Result<_, _>>();
    let rules: Vec<NormalizerWrapper> = rules.map_err(|error| crate::text::shortened(&error.to_string(), 200))?;
    Ok(Some(Growth { rules, is_any_text_checked: ascii > MOST_GROWTH_OF_TEXT as f64 }))
}

fn require_growth(factors: &[(f64, f64)]) -> Result<(), String> {
    let factor: f64 = factors.iter().map(|(any, _)| any).product();
    if factor <= MOST_GROWTH {
        return Ok(());
    }
    Err(format!("its rules together could make a text {factor:.0} times as long, where {MOST_GROWTH} is the most"))
}

fn kind_of(rule: &Value) -> &str {
    rule.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The rules of a part in order; those inside of sequences stand under `key`.
fn leaves<'a>(part: &'a Value, key: &str) -> Result<Vec<&'a Value>, String> {
    let (mut found, mut open) = (Vec::new(), vec![part]);
    while let Some(rule) = open.pop() {
        match rule.get(key).and_then(Value::as_array) {
            Some(inner) if kind_of(rule) == "Sequence" => open.extend(inner.iter().rev()),
            _ if rule.is_null() => {}
            _ => found.push(rule),
        }
        if found.len() + open.len() > MOST_RULES {
            return Err(format!("it has more than {MOST_RULES} {key}"));
        }
    }
    Ok(found)
}

/// Checks the texts and patterns of a rule.
fn check_texts(rule: &Value) -> Result<(), String> {
    for (key, value) in rule.as_object().into_iter().flatten() {
        let (length, most) = match value {
            Value::String(_) if key == "precompiled_charsmap" => continue,
            Value::String(text) => (text.len(), LONGEST_TEXT),
            Value::Object(pattern) => {
                (pattern.values().filter_map(Value::as_str).map(str::len).max().unwrap_or_default(), LONGEST_PATTERN)
            }
            _ => continue,
        };
        if length > most {
            return Err(format!("`{key}` of a rule has {length} bytes, where {most} are the most"));
        }
    }
    Ok(())
}

/// Largest factor by which each rule can lengthen a text, and one in ASCII.
fn growth(rules: &[&Value]) -> Result<Vec<(f64, f64)>, String> {
    let factor = |rule: &&Value| {
        check_texts(rule)?;
        Ok(match kind_of(rule) {
            "Replace" => {
                let content = rule.get("content").and_then(Value::as_str).unwrap_or_default().len() as f64;
                let pattern = rule.get("pattern");
                let text = pattern.and_then(|pattern| pattern.get("String")).and_then(Value::as_str);
                let factor = match text.map(str::len) {
                    // What matches nothing does so between all characters.
                    Some(0) | None => 1.0 + content,
                    Some(length) => (content / length as f64).max(1.0),
                };
                (factor, factor)
            }
            "Precompiled" => {
                let map = rule.get("precompiled_charsmap").and_then(Value::as_str).unwrap_or_default();
                (longest_entry(map)?, ascii_growth(rule)?)
            }
            "NFKC" | "NFKD" => (12.0, 1.0),
            "NFC" | "NFD" => (3.0, 1.0),
            "BertNormalizer" => (6.0, 1.0),
            "Lowercase" => (2.0, 1.0),
            "ByteLevel" => (2.0, 2.0),
            _ => (1.0, 1.0),
        })
    };
    rules.iter().map(factor).collect()
}

/// Bytes of the longest text that a table of characters puts in the place of one.
fn longest_entry(map: &str) -> Result<f64, String> {
    let damaged = || "its table of characters is damaged".to_owned();
    let bytes = BASE64_STANDARD.decode(map).map_err(|_| damaged())?;
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let texts = rest.get(u32::from_le_bytes(*length) as usize..).ok_or_else(damaged)?;
    let longest = texts.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or_default();
    if longest > LONGEST_TEXT {
        return Err(format!(
            "its table of characters puts {longest} bytes in the place of one, where {LONGEST_TEXT} are the most"
        ));
    }
    Ok((longest as f64).max(1.0))
}

/// Largest factor by which a rule lengthens a character of ASCII.
fn ascii_growth(rule: &Value) -> Result<f64, String> {
    let rule: NormalizerWrapper =
        serde_json::from_value(rule.clone()).map_err(|error| crate::text::shortened(&error.to_string(), 200))?;
    let mut longest = 1;
    for character in (0..128_u8).map(char::from) {
        let mut text = NormalizedString::from(character.to_string());
        guard::guarded(|| rule.normalize(&mut text))
            .map_err(|panic| panic.to_string())?
            .map_err(|error| error.to_string())?;
        longest = longest.max(text.get().len());
    }
    Ok(longest as f64)
}

/// Checks how many tokens a template puts around texts.
fn check_template(rule: &Value) -> Result<(), String> {
    let length = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
    let pieces = length(rule.get("single")).max(length(rule.get("pair")));
    let tokens = rule.get("special_tokens").and_then(Value::as_object);
    let ids = tokens.into_iter().flatten().map(|(_, token)| length(token.get("ids"))).max().unwrap_or_default();
    if pieces.saturating_mul(ids.max(1)) > MOST_FRAMING {
        return Err(format!("its template puts more than {MOST_FRAMING} tokens around a text"));
    }
    Ok(())
}

/// The parts of a `tokenizer.json` that are checked; everything else is passed over.
#[derive(Default)]
struct Parts {
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
}

impl<'de> DeserializeSeed<'de> for &mut Parts {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Parts {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a tokenizer as the library saves it")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let budget = Cell::new(RULES_BYTES);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "normalizer" => self.normalizer = map.next_value_seed(Bounded(&budget))?,
                "pre_tokenizer" => self.pre_tokenizer = map.next_value_seed(Bounded(&budget))?,
                "post_processor" => self.post_processor = map.next_value_seed(Bounded(&budget))?,
                "decoder" => self.decoder = map.next_value_seed(Bounded(&budget))?,
                "added_tokens" => {
                    let _ = map.next_value::<Option<AddedTokens>>()?;
                }
                "model" => {
                    let _ = map.next_value::<Model>()?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Added tokens within their bounds.
struct AddedTokens;

impl<'de> Deserialize<'de> for AddedTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Added {
            #[serde(default)]
            id: u64,
            #[serde(default)]
            content: String,
        }
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = AddedTokens;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of added tokens")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AddedTokens, A::Error> {
                let refused = |why: String| Err(serde::de::Error::custom(why));
                let (mut count, mut bytes) = (0, 0);
                while let Some(Added { id, content }) = list.next_element()? {
                    (count, bytes) = (count + 1, bytes + content.len());
                    if count > MOST_ADDED || bytes > MOST_ADDED_BYTES {
                        return refused(format!("it adds more than {MOST_ADDED} tokens, or more than 1 MiB of them"));
                    }
                    if id > LARGEST_ID {
                        return refused(format!("the id {id} of a token is larger than {LARGEST_ID}"));
                    }
                }
                Ok(AddedTokens)
            }
        }
        deserializer.deserialize_seq(All)
    }
}

/// A model of tokens whose settings are within their bounds; its vocabulary is as large as the file.
struct Model;

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Settings;
        impl<'de> Visitor<'de> for Settings {
            type Value = Model;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a model of tokens")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Model, A::Error> {
                let refused = |why: String| Err(serde::de::Error::custom(why));
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "continuing_subword_prefix" | "end_of_word_suffix" | "unk_token" => {
                            let text = map.next_value::<Option<String>>()?.unwrap_or_default();
                            if text.len() > LONGEST_TEXT {
                                return refused(format!(
                                    "`{key}` has {} bytes, where {LONGEST_TEXT} are the most",
                                    text.len()
                                ));
                            }
                        }
                        "max_input_chars_per_word" => {
                            let longest = map.next_value::<Option<u64>>()?.unwrap_or_default();
                            if longest > LONGEST_WORD {
                                return refused(format!("`{key}` is {longest}, where {LONGEST_WORD} is the most"));
                            }
                        }
                        "vocab" => {
                            let _ = map.next_value::<Vocabulary>()?;
                        }
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Model)
            }
        }
        deserializer.deserialize_map(Settings)
    }
}

/// A vocabulary whose ids are within their bound: a table of ids, or a list in the order of them.
struct Vocabulary;

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tokens;
        impl<'de> Visitor<'de> for Tokens {
            type Value = Vocabulary;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a vocabulary")
            }

            fn visit_unit<E>(self) -> Result<Vocabulary, E> {
                Ok(Vocabulary)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
                while let Some((_, id)) = map.next_entry::<IgnoredAny, u64>()? {
                    if id > LARGEST_ID {
                        return Err(serde::de::Error::custom(format!(
                            "the id {id} of a token is larger than {LARGEST_ID}"
                        )));
                    }
                }
                Ok(Vocabulary)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vocabulary, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Vocabulary)
            }
        }
        deserializer.deserialize_any(Tokens)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(part: &str, value: &Value) -> Result<Option<Growth>, String> {
        let mut whole = json!({
            "version": "1.0", "added_tokens": [],
            "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        });
        whole[part] = value.clone();
        check(whole.to_string().as_bytes())
    }

    fn refused(part: &str, value: &Value) -> String {
        checked(part, value)
            .err()
            .unwrap_or_else(|| panic!("{part} {}", crate::text::shortened(&value.to_string(), 99)))
    }

    fn sequence(rules: Vec<Value>) -> Value {
        json!({"type": "Sequence", "normalizers": rules})
    }

    fn replace(pattern: &str, content: &str) -> Value {
        json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
    }

    /// A dozen rules of a few letters took 3.9 GB.
    #[test]
    fn rules_that_multiply_text_are_refused() {
        let doubling = |count: usize| sequence(vec![replace("a", "aa"); count]);
        assert!(checked("normalizer", &doubling(5)).unwrap().is_none());
        assert!(checked("normalizer", &doubling(12)).unwrap().is_some());
        assert!(refused("normalizer", &doubling(13)).contains("8192 times as long"));
        let regex = |pattern: &str, content: &str| json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content});
        assert!(checked("normalizer", &regex(" {2,}", "\u{2581}")).unwrap().is_none());
        assert!(refused("normalizer", &sequence(vec![regex("", &"b".repeat(100)); 2])).contains("10201 times"));
        assert!(refused("normalizer", &sequence(vec![regex("c*", &"b".repeat(100)); 2])).contains("10201 times"));
        let folded = sequence(vec![json!({"type": "NFKD"}); 4]);
        assert!(refused("normalizer", &folded).contains("20736 times"));
        let longest = json!({"type": "Prepend", "prepend": "x".repeat(LONGEST_TEXT)});
        assert!(checked("normalizer", &longest).is_ok());
        let longer = json!({"type": "Prepend", "prepend": "x".repeat(LONGEST_TEXT + 1)});
        assert!(refused("normalizer", &longer).contains("has 257 bytes"));
        assert!(refused("normalizer", &replace("a", &"x".repeat(LONGEST_TEXT + 1))).contains("`content`"));
        assert!(refused("normalizer", &regex(&"x".repeat(LONGEST_PATTERN + 1), "")).contains("`pattern`"));
        let many = |count: usize| sequence(vec![json!({"type": "Nmt"}); count]);
        assert!(checked("normalizer", &many(MOST_RULES)).is_ok());
        assert!(refused("normalizer", &many(MOST_RULES + 1)).contains("more than 64 normalizers"));
        let decoders = json!({"type": "Sequence", "decoders": vec![replace("a", &"b".repeat(200)); 2]});
        assert!(refused("decoder", &decoders).contains("40000 times"));
    }

    /// The growth of a text by its rules is measured before it is normalised.
    #[test]
    fn a_text_that_rules_would_multiply_is_refused() {
        let growth = checked("normalizer", &sequence(vec![replace("a", "aa"); 12])).unwrap().unwrap();
        assert_eq!(growth.check(&"b".repeat(100_000)), Ok(()));
        assert_eq!(growth.check("a"), Ok(()), "4,096 bytes");
        let error = growth.check(&format!("{}{}", "b".repeat(50_000), "a".repeat(1000))).unwrap_err();
        assert!(error.contains("36 times as long"), "{error}");
    }

    #[test]
    fn other_parts_are_bounded() {
        let rewrites = |count: usize| {
            let one = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
            json!({"type": "Sequence", "pretokenizers": vec![one; count]})
        };
        assert!(checked("pre_tokenizer", &rewrites(MOST_REWRITES)).is_ok());
        assert!(refused("pre_tokenizer", &rewrites(MOST_REWRITES + 1)).contains("3 times"));
        let template = |pieces: usize| {
            let piece = json!({"SpecialToken": {"id": "a", "type_id": 0}});
            json!({"type": "TemplateProcessing", "single": vec![piece; pieces], "pair": [],
                   "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}})
        };
        assert!(checked("post_processor", &template(MOST_FRAMING)).is_ok());
        assert!(refused("post_processor", &template(MOST_FRAMING + 1)).contains("1024 tokens"));
        let added = |count: usize, content: &str, id: u64| {
            let token = json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                               "normalized": false, "special": true});
            json!(vec![token; count])
        };
        assert!(checked("added_tokens", &added(MOST_ADDED, "a", LARGEST_ID)).is_ok());
        assert!(refused("added_tokens", &added(MOST_ADDED + 1, "a", 0)).contains("65536 tokens"));
        assert!(checked("added_tokens", &added(1, &"a".repeat(MOST_ADDED_BYTES), 0)).is_ok());
        assert!(refused("added_tokens", &added(1, &"a".repeat(MOST_ADDED_BYTES + 1), 0)).contains("1 MiB"));
        assert!(refused("added_tokens", &added(1, "a", LARGEST_ID + 1)).contains("16777215"));
        let model = |key: &str, value: Value| {
            let mut model = json!({"type": "WordPiece", "vocab": {"a": 0}});
            model[key] = value;
            model
        };
        assert!(refused("model", &model("vocab", json!({"a": 4_000_000_000_u64}))).contains("16777215"));
        assert!(refused("model", &model("max_input_chars_per_word", json!(10_001))).contains("10000"));
        assert!(refused("model", &model("unk_token", json!("x".repeat(LONGEST_TEXT + 1)))).contains("257 bytes"));
        assert!(refused("normalizer", &json!("x".repeat(RULES_BYTES))).contains("larger than any"));
        let table = |entry: usize| {
            let bytes = [&0_u32.to_le_bytes()[..], &vec![b'x'; entry], &[0]].concat();
            json!({"type": "Precompiled", "precompiled_charsmap": BASE64_STANDARD.encode(bytes)})
        };
        assert!(refused("normalizer", &table(LONGEST_TEXT + 1)).contains("puts 257 bytes"));
    }
}
