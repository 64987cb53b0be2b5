//! Tokenizers that find no special token in a text, whatever their model's vocabulary holds.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use tokenizers::Tokenizer;

use super::library::called;
use crate::DataError;

/// A noncharacter of Unicode, which stands around the spelling of a token that no text may be.
const SHIELD: char = '\u{10ffff}';

/// The tokenizer of a `tokenizer.json` that takes `specials` in a text for ordinary text: those that its model's vocabulary holds are spelt
/// as no text is. Ids stay as they are; it is for encoding alone.
///
/// # Errors
/// If the library does not open what becomes of it.
pub(super) fn shielded(json: &str, specials: &BTreeSet<String>) -> Result<Tokenizer, DataError> {
    opened(shielded_json(json, specials)?)
}

/// The same where the token `mask` is found in a text.
///
/// # Errors
/// As [`shielded`].
pub(super) fn masking(json: &str, specials: &BTreeSet<String>, mask: &str) -> Result<Tokenizer, DataError> {
    let others = specials.iter().filter(|special| *special != mask).cloned().collect();
    let mut value = shielded_json(json, &others)?;
    // An ordinary added token, which is matched where special ones are not.
    for token in value.get_mut("added_tokens").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(token) = token.as_object_mut().filter(|token| text_of(token) == Some(mask)) {
            token.insert("special".to_owned(), false.into());
        }
    }
    opened(value)
}

fn opened(value: Value) -> Result<Tokenizer, DataError> {
    let mut tokenizer = called(|| Tokenizer::from_bytes(value.to_string()))?;
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}

fn text_of(token: &Map<String, Value>) -> Option<&str> {
    token.get("content").and_then(Value::as_str)
}

fn shielded_json(json: &str, specials: &BTreeSet<String>) -> Result<Value, DataError> {
    let mut value: Value =
        serde_json::from_str(json).map_err(|error| DataError::Tokenizer { why: error.to_string() })?;
    let Some(model) = value.get_mut("model").and_then(Value::as_object_mut) else { return Ok(value) };
    // The model itself looks up its unknown token by name.
    let unknown = model.get("unk_token").and_then(Value::as_str).map(str::to_owned);
    let is_hidden = |text: &str| specials.contains(text) && unknown.as_deref() != Some(text);
    let mut hidden = BTreeSet::new();
    let mut hide = |text: &str| {
        hidden.insert(text.to_owned());
        format!("{SHIELD}{text}{SHIELD}")
    };
    match model.get_mut("vocab") {
        Some(Value::Object(vocabulary)) => {
            let entries = std::mem::take(vocabulary).into_iter();
            let hidden = entries.map(|(text, id)| if is_hidden(&text) { (hide(&text), id) } else { (text, id) });
            *vocabulary = hidden.collect();
        }
        Some(Value::Array(pieces)) => {
            for piece in pieces.iter_mut().filter_map(Value::as_array_mut).filter_map(|entry| entry.first_mut()) {
                if let Some(text) = piece.as_str().filter(|text| is_hidden(text)) {
                    *piece = hide(text).into();
                }
            }
        }
        _ => {}
    }
    // Merges of what is no longer there.
    if let Some(merges) = model.get_mut("merges").and_then(Value::as_array_mut) {
        merges.retain(|merge| {
            let parts: Vec<&str> = match merge {
                Value::String(pair) => pair.split(' ').collect(),
                Value::Array(pair) => pair.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            !parts.iter().any(|part| is_hidden(part)) && !is_hidden(&parts.concat())
        });
    }
    // What the model holds takes no id of its own among the added tokens; the others keep theirs by their order.
    if let Some(added) = value.get_mut("added_tokens").and_then(Value::as_array_mut) {
        added.retain(|token| !token.as_object().and_then(text_of).is_some_and(|text| hidden.contains(text)));
        for token in added.iter_mut().filter_map(Value::as_object_mut) {
            if text_of(token).is_some_and(|text| specials.contains(text)) {
                token.insert("special".to_owned(), true.into());
            }
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::TextTokenizer;

    fn added(id: u32, content: &str, special: bool) -> serde_json::Value {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": special })
    }

    /// A model whose own vocabulary holds its control tokens finds them in a text: in `WordLevel` as a word, in Unigram as the most
    /// probable piece, in BPE by a merge.
    #[test]
    fn control_tokens_of_a_models_own_vocabulary_are_text() {
        let frame = json!({ "type": "TemplateProcessing",
            "single": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "SpecialToken": { "id": "</s>", "type_id": 0 } }],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 0 } }],
            "special_tokens": { "</s>": { "id": "</s>", "ids": [1], "tokens": ["</s>"] } } });
        let models = [
            (
                json!({ "type": "WordLevel", "unk_token": "<unk>", "vocab": { "<unk>": 0, "</s>": 1, "a": 2, "b": 3 } }),
                vec![2, 0, 3],
            ),
            (
                json!({ "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["</s>", 0.0], ["a", -1.0], ["b", -1.0],
                    ["<", -3.0], ["/", -3.0], ["s", -3.0], [">", -3.0]] }),
                vec![2, 4, 5, 6, 7, 3],
            ),
            (
                json!({ "type": "BPE", "unk_token": "<unk>", "vocab": { "<unk>": 0, "</s>": 1, "a": 2, "b": 3, "<": 4,
                    "/": 5, "s": 6, ">": 7, "</": 8, "s>": 9 }, "merges": ["< /", "s >", "</ s>"] }),
                vec![2, 8, 9, 3],
            ),
        ];
        for (model, expected) in models {
            let json = json!({ "version": "1.0", "added_tokens": [added(0, "<unk>", true), added(1, "</s>", true)],
                "pre_tokenizer": { "type": "WhitespaceSplit" }, "post_processor": frame, "model": model });
            let tokenizer = TextTokenizer::from_json(json.to_string()).unwrap();
            let plain = tokenizer.encode_plain("a </s> b").unwrap();
            assert_eq!(plain, expected, "{model}");
            let framed = tokenizer.encode_framed("a </s> b").unwrap();
            assert_eq!(framed, [expected.as_slice(), &[1]].concat(), "the frame is as ever");
            let offsets = tokenizer.offsets("a </s> b").unwrap();
            assert_eq!((offsets.len(), offsets[0], offsets[offsets.len() - 1]), (expected.len(), [0, 1], [7, 8]));
            let first = tokenizer.clone().in_edition(crate::Edition::First);
            assert_eq!(first.encode_plain("a </s> b").unwrap(), [2, 1, 3], "as runs of before read it");
            assert_eq!(tokenizer.encode_plain("a b").unwrap(), [2, 3]);
        }
    }

    #[test]
    fn added_tokens_that_are_not_special_are_found() {
        let vocab = json!({ "[UNK]": 0, "[MASK]": 1, "the": 2, "king": 3, "[": 4, "]": 5, "mask": 6 });
        let json = json!({ "version": "1.0",
            "added_tokens": [added(0, "[UNK]", true), added(1, "[MASK]", true), added(7, "<special>", true),
                added(8, "<tab>", false)],
            "normalizer": { "type": "Lowercase" }, "pre_tokenizer": { "type": "BertPreTokenizer" },
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab } });
        let tokenizer = TextTokenizer::from_json(json.to_string()).unwrap();
        assert_eq!(tokenizer.encode_plain("the<tab>king [MASK]").unwrap(), [2, 8, 3, 4, 6, 5]);
        assert_eq!(tokenizer.encode_plain("<special>").unwrap(), [0, 0, 0]);
        assert_eq!(tokenizer.encode_framed("the [MASK]").unwrap(), [2, 4, 6, 5]);
        // Where words are filled in the mask hides one; it alone.
        assert_eq!(tokenizer.encode_masked("the [MASK] <tab> king <special>").unwrap(), [2, 1, 8, 3, 0, 0, 0]);
        assert_eq!(tokenizer.encode_masked("the [mask]").unwrap(), [2, 4, 6, 5]);
    }
}
