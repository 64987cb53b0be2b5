//! Tokens as people read them.

use super::{TextTokenizer, byte_level::alphabet};

/// The most tokens that one character, or several that run into each other, are joined from.
const LONGEST_GROUP: usize = 16;

/// Replacement for bytes that are no character.
const REPLACEMENT: char = '\u{fffd}';

impl TextTokenizer {
    /// A token as people read it: its text, with bytes that are no whole character as `<0xC3>`.
    pub fn piece(&self, id: u32) -> String {
        self.whole_piece(&[id]).unwrap_or_else(|| self.bytes_of_piece(id))
    }

    /// Tokens of a text as people read them. Those that are a character only together have its number of the group behind it: `á 1/2`,
    /// `á 2/2`.
    pub fn pieces(&self, ids: &[u32]) -> Vec<String> {
        let mut pieces = Vec::with_capacity(ids.len());
        let mut rest = ids;
        while let Some((first, after)) = rest.split_first() {
            if let Some(whole) = self.whole_piece(&[*first]) {
                pieces.push(whole);
                rest = after;
                continue;
            }
            let most = rest.len().min(LONGEST_GROUP);
            let group = (2..=most).find_map(|count| {
                let (group, after) = rest.split_at_checked(count)?;
                Some((self.whole_piece(group)?, count, after))
            });
            let behind = if let Some((text, count, behind)) = group {
                pieces.extend((1..=count).map(|number| format!("{text} {number}/{count}")));
                behind
            } else {
                pieces.push(self.bytes_of_piece(*first));
                after
            };
            rest = behind;
        }
        pieces
    }

    /// The text of tokens; none where it is none or not whole.
    fn whole_piece(&self, ids: &[u32]) -> Option<String> {
        self.decode_with_specials(ids).ok().filter(|text| !text.is_empty() && !text.contains(REPLACEMENT))
    }

    /// A token that is no text by itself: its bytes where its spelling stands for some, else the spelling.
    fn bytes_of_piece(&self, id: u32) -> String {
        let Some(token) = self.token(id) else { return id.to_string() };
        let alphabet: Vec<char> = alphabet().collect();
        let byte = |letter: char| u8::try_from(alphabet.iter().position(|known| *known == letter)?).ok();
        let bytes: Option<Vec<u8>> = token.chars().map(byte).collect();
        let Some(bytes) = bytes.filter(|_| !token.is_ascii()) else { return token };
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            text += chunk.valid();
            text.extend(chunk.invalid().iter().map(|byte| format!("<0x{byte:02X}>")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every byte and ` old`, by the letters of GPT-2.
    fn byte_level() -> TextTokenizer {
        let letters: Vec<char> = alphabet().collect();
        let mut vocabulary: serde_json::Map<String, serde_json::Value> =
            letters.iter().enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
        for (id, token) in [(256, "Ġo"), (257, "Ġol"), (258, "Ġold")] {
            let _ = vocabulary.insert(token.to_owned(), json!(id));
        }
        let json = json!({
            "version": "1.0",
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {
                "type": "BPE", "vocab": vocabulary, "unk_token": null, "merges": [["Ġ", "o"], ["Ġo", "l"], ["Ġol", "d"]],
            },
        });
        TextTokenizer::from_json(json.to_string()).unwrap()
    }

    #[test]
    fn tokens_of_bytes_are_read_as_text() {
        let tokenizer = byte_level();
        let pieces = |text: &str| tokenizer.pieces(&tokenizer.encode_plain(text).unwrap());
        assert_eq!(pieces("x old"), ["x", " old"]);
        assert_eq!(pieces("xá"), ["x", "á 1/2", "á 2/2"]);
        assert_eq!(pieces("€a"), ["€ 1/3", "€ 2/3", "€ 3/3", "a"]);
        let ids = tokenizer.encode_plain("á").unwrap();
        // Half of a character.
        assert_eq!(tokenizer.pieces(&ids[..1]), ["<0xC3>"]);
        assert_eq!(ids.iter().map(|id| tokenizer.piece(*id)).collect::<Vec<_>>(), ["<0xC3>", "<0xA1>"]);
        assert_eq!(tokenizer.pieces(&[]), [""; 0]);
        assert_eq!(tokenizer.piece(9999), "9999");
    }
}
