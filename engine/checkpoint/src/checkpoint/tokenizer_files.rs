//! A tokenizer of a model directory: `tokenizer.json`, or made of the files that older models have in its place.

use std::{io, path::Path};

use serde_json::{Map, Value, json};

use super::{
    CheckpointError, TOKENIZER, TOKENIZER_CONFIG,
    sentence_pieces::tokenizer_of,
    text_files::{BYTE_PAIRS, MERGES, PIECES, WORD_PIECES, text},
};
use crate::data::{check_tokenizer, read_file};

/// A file of pieces is smaller than this, in bytes.
const LARGEST_PIECES: u64 = 1 << 24;

/// The text of `tokenizer.json`; else one made of `vocab.txt` (word pieces, as in BERT), or of `vocab.json` and `merges.txt` (pairs of bytes, as
/// in GPT-2 and `RoBERTa`), or of `spiece.model` (pieces of sentences, as in T5 and ALBERT). None where there is none of them.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub(super) fn tokenizer_json(dir: &Path) -> Result<Option<String>, CheckpointError> {
    if let Some(whole) = text(dir, TOKENIZER)? {
        return checked(whole, TOKENIZER, dir).map(Some);
    }
    let settings: Map<String, Value> =
        text(dir, TOKENIZER_CONFIG)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let (made, file) = if let Some(words) = text(dir, WORD_PIECES)? {
        (word_pieces(&words, settings.get("do_lower_case").and_then(Value::as_bool).unwrap_or(true)), WORD_PIECES)
    } else if let (Some(vocabulary), Some(merges)) = (text(dir, BYTE_PAIRS)?, text(dir, MERGES)?) {
        let vocabulary: Map<String, Value> = serde_json::from_str(&vocabulary).map_err(|error| {
            CheckpointError::Damaged { file: BYTE_PAIRS.to_owned(), why: error.to_string(), path: dir.to_owned() }
        })?;
        let prefix_space = settings.get("add_prefix_space").and_then(Value::as_bool).unwrap_or(false);
        (byte_pairs(vocabulary, &merges, prefix_space), BYTE_PAIRS)
    } else if let Some(bytes) = pieces(dir)? {
        let made = tokenizer_of(&bytes, &settings).map_err(|why| CheckpointError::Settings {
            file: PIECES.to_owned(),
            why: format!("{why}. Save the tokenizer once more with `transformers`, which writes tokenizer.json."),
            path: dir.to_owned(),
        })?;
        (made, PIECES)
    } else {
        return Ok(None);
    };
    checked(made.to_string(), file, dir).map(Some)
}

/// The text of a tokenizer within its bounds, which came from `file`.
fn checked(json: String, file: &str, dir: &Path) -> Result<String, CheckpointError> {
    match check_tokenizer(&json) {
        Ok(()) => Ok(json),
        Err(why) => Err(CheckpointError::Settings {
            file: file.to_owned(),
            why: format!("{why}. Take the file from where it came once more, or use another model."),
            path: dir.to_owned(),
        }),
    }
}

/// The file of pieces, if there is one.
fn pieces(dir: &Path) -> Result<Option<Vec<u8>>, CheckpointError> {
    match read_file(&dir.join(PIECES), LARGEST_PIECES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(CheckpointError::Damaged {
            file: PIECES.to_owned(),
            why: "it is larger than any table of pieces".to_owned(),
            path: dir.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CheckpointError::io(&format!("read {PIECES}"), dir)(error)),
    }
}

/// Special tokens as `tokenizer.json` lists them.
fn added(tokens: &[&str], id_of: impl Fn(&str) -> Option<u64>) -> Value {
    let one = |token: &&str| {
        let id = id_of(token)?;
        Some(json!({
            "id": id, "content": token, "single_word": false, "lstrip": *token == "<mask>", "rstrip": false,
            "normalized": false, "special": true,
        }))
    };
    let mut found: Vec<Value> = tokens.iter().filter_map(one).collect();
    found.sort_by_key(|token| token.get("id").and_then(Value::as_u64));
    Value::Array(found)
}

/// A token a line, in the order of their ids.
fn word_pieces(text: &str, lowercase: bool) -> Value {
    let vocabulary: Map<String, Value> =
        text.lines().zip(0_u64..).map(|(token, id)| (token.trim_end_matches('\r').to_owned(), json!(id))).collect();
    let id_of = |token: &str| vocabulary.get(token).and_then(Value::as_u64);
    let around = match (id_of("[CLS]"), id_of("[SEP]")) {
        (Some(start), Some(end)) => json!({
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
            ],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [start], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [end], "tokens": ["[SEP]"]},
            },
        }),
        _ => Value::Null,
    };
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added(&["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], id_of),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": around,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// A vocabulary with the pairs that are merged, the first before the second.
fn byte_pairs(vocabulary: Map<String, Value>, merges: &str, prefix_space: bool) -> Value {
    let id_of = |token: &str| vocabulary.get(token).and_then(Value::as_u64);
    let merges: Vec<&str> =
        merges.lines().filter(|line| !line.starts_with("#version") && !line.trim().is_empty()).collect();
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": true, "use_regex": true});
    let around = match (id_of("<s>"), id_of("</s>")) {
        (Some(start), Some(end)) => json!({
            "type": "RobertaProcessing", "sep": ["</s>", end], "cls": ["<s>", start], "trim_offsets": true,
            "add_prefix_space": prefix_space,
        }),
        _ => bytes.clone(),
    };
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added(&["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"], id_of),
        "normalizer": null,
        "pre_tokenizer": bytes,
        "post_processor": around,
        "decoder": bytes,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": merges,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TextTokenizer;

    /// The golden's own `tokenizer.json` and the one made of its `vocab.txt` read texts alike.
    #[test]
    fn word_pieces_are_those_of_the_whole_file() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/hf/bert_mlm");
        let golden = Path::new(golden);
        let whole = TextTokenizer::from_json(tokenizer_json(golden).unwrap().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tokenizer_json(folder.path()).unwrap(), None);
        for file in [WORD_PIECES, TOKENIZER_CONFIG] {
            let _ = std::fs::copy(golden.join(file), folder.path().join(file)).unwrap();
        }
        let made = TextTokenizer::from_json(tokenizer_json(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(made.vocabulary_size(), whole.vocabulary_size());
        for text in ["the cat sat", "A dog, and its Bone!", "zzz [MASK] 12"] {
            assert_eq!(made.encode_framed(text).unwrap(), whole.encode_framed(text).unwrap(), "{text}");
        }
    }

    /// What the library of `SentencePiece` itself makes of texts: `tests/golden/sentencepiece/make.py`.
    #[test]
    fn pieces_are_those_of_sentencepiece() {
        let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/sentencepiece"));
        let folder = tempfile::tempdir().unwrap();
        let _ = std::fs::copy(golden.join(PIECES), folder.path().join(PIECES)).unwrap();
        let made = TextTokenizer::from_json(tokenizer_json(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(made.vocabulary_size(), 58 + 100, "a hundred tokens for gaps");
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(golden.join("expected.json")).unwrap()).unwrap();
        let mut unknown = 0;
        for one in expected.as_array().unwrap() {
            let (text, ids) = (one["text"].as_str().unwrap(), one["ids"].as_array().unwrap());
            let ids: Vec<u64> = ids.iter().map(|id| id.as_u64().unwrap()).collect();
            let found: Vec<u64> = made.encode_framed(text).unwrap().iter().map(|id| u64::from(*id)).collect();
            assert_eq!(found, ids, "{text}");
            unknown += ids.iter().filter(|id| **id == 2).count();
        }
        assert!(unknown > 0);
        // Cut anywhere, it is refused or has fewer pieces; nothing panics.
        let whole = std::fs::read(golden.join(PIECES)).unwrap();
        for end in (0..whole.len()).step_by(37) {
            std::fs::write(folder.path().join(PIECES), &whole[..end]).unwrap();
            if let Err(error) = tokenizer_json(folder.path()) {
                assert!(error.to_string().contains(PIECES), "{error}");
            }
        }
    }

    #[test]
    fn pairs_of_bytes_are_merged_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = ["<s>", "<pad>", "</s>", "l", "o", "w", "e", "r", "Ġ", "lo", "low", "er", "Ġlow"];
        let vocabulary: Map<String, Value> =
            tokens.iter().zip(0_u64..).map(|(token, id)| ((*token).to_owned(), json!(id))).collect();
        std::fs::write(folder.path().join(BYTE_PAIRS), json!(vocabulary).to_string()).unwrap();
        std::fs::write(folder.path().join(MERGES), "#version: 0.2\nl o\nlo w\ne r\nĠ low\n").unwrap();
        let made = TextTokenizer::from_json(tokenizer_json(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(made.encode_framed("lower low").unwrap(), [0, 10, 11, 12, 2]);
        std::fs::write(folder.path().join(BYTE_PAIRS), "no JSON").unwrap();
        assert!(tokenizer_json(folder.path()).unwrap_err().to_string().contains(BYTE_PAIRS));
    }
}
