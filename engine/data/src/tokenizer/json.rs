use serde_json::{Value, json};

/// A whole `tokenizer.json` for a byte-level model with `specials` at ids 0.. . Encoders get the `[CLS] A [SEP]`
/// template, which needs BERT's special tokens.
pub(super) fn byte_level(specials: &[&str], model: Value) -> Value {
    let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    let template = if specials.contains(&"</s>") { bart_template(specials) } else { bert_template(specials) };
    let post_processor = if template.is_null() { byte_level.clone() } else { template };
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added(specials),
        "normalizer": null,
        "pre_tokenizer": byte_level,
        "post_processor": post_processor,
        "decoder": byte_level,
        "model": model,
    })
}

/// A whole `tokenizer.json` for a lower-casing WordPiece model as BERT has it.
pub(super) fn word_piece(specials: &[&str], model: Value) -> Value {
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added(specials),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": bert_template(specials),
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": model,
    })
}

/// A whole `tokenizer.json` for a model whose tokens are words between blanks, with BERT's special tokens.
pub(super) fn word_level(specials: &[&str], model: Value) -> Value {
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added(specials),
        "normalizer": null,
        "pre_tokenizer": { "type": "WhitespaceSplit" },
        "post_processor": bert_template(specials),
        "decoder": null,
        "model": model,
    })
}

fn added(specials: &[&str]) -> Value {
    let token = |(id, content): (usize, &&str)| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        })
    };
    specials.iter().enumerate().map(token).collect()
}

/// `A </s>` and `A </s> B </s>`, or null where that token is missing: what a model reads that translates.
fn bart_template(specials: &[&str]) -> Value {
    let Some(id) = specials.iter().position(|special| *special == "</s>") else { return Value::Null };
    let end = |type_id: u32| json!({ "SpecialToken": { "id": "</s>", "type_id": type_id } });
    let sequence = |name: &str, type_id: u32| json!({ "Sequence": { "id": name, "type_id": type_id } });
    json!({
        "type": "TemplateProcessing",
        "single": [sequence("A", 0), end(0)],
        "pair": [sequence("A", 0), end(0), sequence("B", 0), end(0)],
        "special_tokens": { "</s>": { "id": "</s>", "ids": [id], "tokens": ["</s>"] } },
    })
}

/// `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, or null where these tokens are missing.
fn bert_template(specials: &[&str]) -> Value {
    let id = |name: &str| specials.iter().position(|special| *special == name);
    let (Some(cls), Some(sep)) = (id("[CLS]"), id("[SEP]")) else { return Value::Null };
    let special = |name: &str, type_id: u32| json!({ "SpecialToken": { "id": name, "type_id": type_id } });
    let sequence = |name: &str, type_id: u32| json!({ "Sequence": { "id": name, "type_id": type_id } });
    json!({
        "type": "TemplateProcessing",
        "single": [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)],
        "pair": [
            special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1), special("[SEP]", 1),
        ],
        "special_tokens": {
            "[CLS]": { "id": "[CLS]", "ids": [cls], "tokens": ["[CLS]"] },
            "[SEP]": { "id": "[SEP]", "ids": [sep], "tokens": ["[SEP]"] },
        },
    })
}
