//! A tokenizer of `SentencePiece` (Kudo and Richardson, 2018): `spiece.model`, a message in protocol buffers of which a few fields count.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

/// A table of pieces is smaller than this, in pieces.
const MOST_PIECES: usize = 1 << 19;

/// The most tokens for gaps; T5 has a hundred.
const MOST_GAPS: u64 = 1000;

/// What stands for a space.
const SPACE: &str = "\u{2581}";

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Text,
    Unknown,
    /// Never found in a text: it frames one.
    Control,
    /// Always whole.
    Whole,
}

#[derive(Clone, Debug, PartialEq)]
struct Piece {
    text: String,
    score: f32,
    used: Use,
}

/// What counts of the message.
#[derive(Debug, PartialEq)]
struct Pieces {
    all: Vec<Piece>,
    /// The map of characters by which text is normalised, as it stands in the message.
    characters: Vec<u8>,
    /// Whether a space is put before a text.
    begins_with_space: bool,
    /// Whether spaces at the ends are removed and others stand alone.
    tidies_spaces: bool,
}

/// A value of the message.
enum Field<'a> {
    Number(u64),
    Bits(u32),
    Bytes(&'a [u8]),
}

/// The next field of a message: its number and its value. None at the end.
fn next<'a>(bytes: &mut &'a [u8]) -> Result<Option<(u64, Field<'a>)>, &'static str> {
    const CUT: &str = "it is cut off or no message of SentencePiece";
    fn number(bytes: &mut &[u8]) -> Result<u64, &'static str> {
        let mut found = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some((first, rest)) = bytes.split_first() else { return Err(CUT) };
            *bytes = rest;
            found |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(found);
            }
        }
        Err(CUT)
    }
    fn taken<'a>(bytes: &mut &'a [u8], count: u64) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = usize::try_from(count).ok().and_then(|count| bytes.split_at_checked(count)).ok_or(CUT)?;
        *bytes = rest;
        Ok(taken)
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let tag = number(bytes)?;
    let field = match tag & 7 {
        0 => Field::Number(number(bytes)?),
        1 => Field::Bytes(taken(bytes, 8)?),
        2 => {
            let length = number(bytes)?;
            Field::Bytes(taken(bytes, length)?)
        }
        5 => Field::Bits(u32::from_le_bytes(taken(bytes, 4)?.try_into().map_err(|_| CUT)?)),
        _ => return Err(CUT),
    };
    Ok(Some((tag >> 3, field)))
}

fn piece(mut bytes: &[u8]) -> Result<Piece, &'static str> {
    let mut piece = Piece { text: String::new(), score: 0.0, used: Use::Text };
    while let Some((number, field)) = next(&mut bytes)? {
        match (number, field) {
            (1, Field::Bytes(text)) => {
                str::from_utf8(text).map_err(|_| "a piece in it is no text")?.clone_into(&mut piece.text);
            }
            (2, Field::Bits(bits)) => piece.score = f32::from_bits(bits),
            (3, Field::Number(kind)) => {
                piece.used = match kind {
                    1 => Use::Text,
                    2 => Use::Unknown,
                    3 | 5 => Use::Control,
                    4 => Use::Whole,
                    _ => return Err("it falls back on bytes, which is not read"),
                }
            }
            _ => {}
        }
    }
    if piece.score.is_finite() { Ok(piece) } else { Err("a score in it is no number") }
}

fn read(mut bytes: &[u8]) -> Result<Pieces, &'static str> {
    let mut found = Pieces { all: Vec::new(), characters: Vec::new(), begins_with_space: true, tidies_spaces: true };
    while let Some((number, field)) = next(&mut bytes)? {
        match (number, field) {
            (1, Field::Bytes(bytes)) if found.all.len() < MOST_PIECES => found.all.push(piece(bytes)?),
            (1, _) => return Err("it has too many pieces"),
            // How it was trained: field 3 is the kind of the model.
            (2, Field::Bytes(mut of)) => {
                while let Some((number, field)) = next(&mut of)? {
                    if let (3, Field::Number(kind)) = (number, field)
                        && kind != 1
                    {
                        return Err(
                            "it merges pairs, or its pieces are words or characters, where only a unigram model is read",
                        );
                    }
                }
            }
            // How text is normalised.
            (3, Field::Bytes(mut of)) => {
                while let Some((number, field)) = next(&mut of)? {
                    match (number, field) {
                        (2, Field::Bytes(characters)) => characters.clone_into(&mut found.characters),
                        (3, Field::Number(is)) => found.begins_with_space = is != 0,
                        (4, Field::Number(is)) => found.tidies_spaces = is != 0,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if found.all.is_empty() { Err("it has no pieces") } else { Ok(found) }
}

/// `tokenizer.json` of a `spiece.model` and the `tokenizer_config.json` beside it. Texts end with `</s>`, as in T5, or stand between `[CLS]`
/// and `[SEP]`, as in ALBERT.
///
/// # Errors
/// What is wrong with the file, as the end of a sentence.
pub(super) fn tokenizer_of(bytes: &[u8], settings: &Map<String, Value>) -> Result<Value, &'static str> {
    let Pieces { all: mut pieces, characters, begins_with_space, tidies_spaces } = read(bytes)?;
    let set = |key: &str, usual: bool| settings.get(key).and_then(Value::as_bool).unwrap_or(usual);
    let is_there = |pieces: &[Piece], text: &str| pieces.iter().any(|piece| piece.text == text);
    let is_albert = is_there(&pieces, "[CLS]") && is_there(&pieces, "[SEP]");
    let has_end = is_there(&pieces, "</s>");
    // T5 has a hundred tokens for gaps after its pieces, the last one first.
    let gaps = if is_albert || !has_end { 0 } else { settings.get("extra_ids").and_then(Value::as_u64).unwrap_or(100) };
    if gaps > MOST_GAPS {
        return Err("`extra_ids` of tokenizer_config.json are more than a thousand");
    }
    for gap in (0..gaps).rev() {
        pieces.push(Piece { text: format!("<extra_id_{gap}>"), score: 0.0, used: Use::Control });
    }
    let id_of = |text: &str| pieces.iter().position(|piece| piece.text == text);
    let unknown = pieces.iter().position(|piece| piece.used == Use::Unknown);
    let named = ["[MASK]", "<mask>", "[PAD]", "<pad>"];
    let added: Vec<Value> = pieces
        .iter()
        .enumerate()
        .filter(|(_, piece)| piece.used != Use::Text || named.contains(&piece.text.as_str()))
        .map(|(id, piece)| {
            json!({
                "id": id, "content": piece.text, "single_word": false, "lstrip": piece.text == "[MASK]", "rstrip": false,
                "normalized": false, "special": piece.used != Use::Whole,
            })
        })
        .collect();
    let mut normalizers = Vec::new();
    if is_albert {
        normalizers.push(json!({"type": "Replace", "pattern": {"String": "``"}, "content": "\""}));
        normalizers.push(json!({"type": "Replace", "pattern": {"String": "''"}, "content": "\""}));
        if !set("keep_accents", false) {
            normalizers.extend([json!({"type": "NFKD"}), json!({"type": "StripAccents"})]);
        }
        if set("do_lower_case", true) {
            normalizers.push(json!({"type": "Lowercase"}));
        }
    }
    if !characters.is_empty() {
        let map = BASE64_STANDARD.encode(&characters);
        normalizers.push(json!({"type": "Precompiled", "precompiled_charsmap": map}));
    }
    if tidies_spaces {
        normalizers.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
        normalizers.push(json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}));
    }
    let token = |text: &str, of: u8| json!({"SpecialToken": {"id": text, "type_id": of}});
    let text = |name: &str, of: u8| json!({"Sequence": {"id": name, "type_id": of}});
    let known = |names: &[&str]| -> Map<String, Value> {
        let known =
            |name: &&str| Some(((*name).to_owned(), json!({"id": name, "ids": [id_of(name)?], "tokens": [name]})));
        names.iter().filter_map(known).collect()
    };
    let frame = if is_albert {
        json!({
            "type": "TemplateProcessing",
            "single": [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)],
            "pair": [token("[CLS]", 0), text("A", 0), token("[SEP]", 0), text("B", 1), token("[SEP]", 1)],
            "special_tokens": known(&["[CLS]", "[SEP]"]),
        })
    } else if has_end {
        json!({
            "type": "TemplateProcessing",
            "single": [text("A", 0), token("</s>", 0)],
            "pair": [text("A", 0), token("</s>", 0), text("B", 0), token("</s>", 0)],
            "special_tokens": known(&["</s>"]),
        })
    } else {
        Value::Null
    };
    let spaces = json!({
        "type": "Metaspace", "replacement": SPACE, "prepend_scheme": if begins_with_space { "always" } else { "never" },
        "split": true,
    });
    let vocabulary: Vec<Value> = pieces.iter().map(|piece| json!([piece.text, f64::from(piece.score)])).collect();
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": spaces,
        "post_processor": frame,
        "decoder": spaces,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": false},
    }))
}
