use serde_json::{Map, Value, json};

use super::TextTokenizer;
use super::json::byte_level;
use crate::DataError;
use crate::config::SpecialTokens;

/// The tokenizer with one token a byte: the special tokens, then byte `b` at `specials + b`.
pub(crate) fn bytes(specials: SpecialTokens) -> Result<TextTokenizer, DataError> {
    let specials = specials.names;
    let mut vocabulary = Map::new();
    for (id, token) in specials.iter().map(|name| (*name).to_owned()).chain(alphabet().map(String::from)).enumerate() {
        vocabulary.insert(token, json!(id));
    }
    let model = json!({ "type": "BPE", "vocab": Value::Object(vocabulary), "merges": [] });
    let json = byte_level(specials, model).to_string();
    TextTokenizer::open(json.as_bytes(), Some(specials.len() as u32))
}

/// The visible character that stands for each byte in a byte-level vocabulary, in byte order (GPT-2's table):
/// printable Latin-1 stands for itself, the other bytes for U+0100 onwards.
pub(super) fn alphabet() -> impl Iterator<Item = char> {
    let mut next = 0x100_u32;
    (0..=u8::MAX).map(move |byte| match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        _ => {
            let stand_in = char::from_u32(next).unwrap_or(char::REPLACEMENT_CHARACTER);
            next += 1;
            stand_in
        }
    })
}
