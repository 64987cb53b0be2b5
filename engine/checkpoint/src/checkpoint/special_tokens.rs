//! Special tokens, found in a `tokenizer.json` by their usual names.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Roles in `transformers`, with the usual names of their tokens, most usual first.
const ROLES: [(&str, &[&str]); 7] = [
    ("bos_token", &["<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>"]),
    ("cls_token", &["[CLS]", "<cls>"]),
    ("eos_token", &["<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>", "[EOS]"]),
    ("mask_token", &["[MASK]", "<mask>", "<|mask|>"]),
    ("pad_token", &["[PAD]", "<pad>", "<|pad|>", "<|padding|>"]),
    ("sep_token", &["[SEP]", "<sep>"]),
    ("unk_token", &["[UNK]", "<unk>", "<|unk|>"]),
];

/// Special tokens by role, such as `pad_token`: their text and id.
pub(super) struct SpecialTokens(Vec<(&'static str, String, u64)>);

impl SpecialTokens {
    /// Looks among the added tokens of a tokenizer; empty when there is none.
    pub fn find(tokenizer_json: Option<&str>) -> Self {
        // The vocabulary, which may be large, is passed over.
        #[derive(Default, Deserialize)]
        struct Parsed {
            #[serde(default)]
            added_tokens: Vec<Added>,
        }
        #[derive(Deserialize)]
        struct Added {
            content: String,
            id: u64,
        }
        let parsed: Option<Parsed> = tokenizer_json.and_then(|text| serde_json::from_str(text).ok());
        let added: Vec<(String, u64)> =
            parsed.unwrap_or_default().added_tokens.into_iter().map(|token| (token.content, token.id)).collect();
        let find = |names: &[&str]| names.iter().find_map(|name| added.iter().find(|(content, _)| content == name));
        Self(
            ROLES
                .iter()
                .filter_map(|(role, names)| find(names).map(|(content, id)| (*role, content.clone(), *id)))
                .collect(),
        )
    }

    /// The id of a role's token, null when there is none: as `config.json` wants it.
    pub fn id(&self, role: &str) -> Value {
        self.0.iter().find(|(other, _, _)| *other == role).map_or(Value::Null, |(_, _, id)| json!(id))
    }

    /// Role and text: `special_tokens_map.json`.
    pub fn map(&self) -> Map<String, Value> {
        self.0.iter().map(|(role, content, _)| ((*role).to_owned(), json!(content))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_tokens_by_their_usual_names() {
        let text = r#"{"added_tokens": [{"id": 0, "content": "<|endoftext|>"}, {"id": 3, "content": "[MASK]"}]}"#;
        let found = SpecialTokens::find(Some(text));
        assert_eq!(
            (found.id("eos_token"), found.id("bos_token"), found.id("mask_token")),
            (json!(0), json!(0), json!(3))
        );
        assert_eq!(found.id("pad_token"), Value::Null);
        assert_eq!(found.map()["mask_token"], "[MASK]");
        assert!(SpecialTokens::find(None).map().is_empty());
        assert!(SpecialTokens::find(Some("no JSON")).map().is_empty());
    }
}
