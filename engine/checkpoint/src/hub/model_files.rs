//! Files of a model in a repository.

use std::path::Path;

/// Files beside the weights that say how a model computes and reads text.
pub(super) const MODEL_FILES: [&str; 18] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "source.spm",
    "target.spm",
    "target_vocab.json",
    "preprocessor_config.json",
    "headroom.toml",
    "headroom.json",
];

/// Weights in one file, and in several: their name, their index, and how the names of the parts begin and end. The first that is
/// there is taken.
pub(super) const WEIGHTS: [(&str, &str, &str, &str); 2] = [
    ("model.safetensors", "model.safetensors.index.json", "model-", ".safetensors"),
    ("pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-", ".bin"),
];

/// Whether `rest` is `00001-of-00003` with the ending.
pub(super) fn is_part(rest: &str, end: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    rest.strip_suffix(end)
        .and_then(|numbers| numbers.split_once("-of-"))
        .is_some_and(|(part, parts)| is_number(part) && is_number(parts))
}

/// Whether a folder holds weights under one of the names that are fetched.
pub(super) fn has_weights(folder: &Path) -> bool {
    WEIGHTS.iter().any(|(whole, index, ..)| folder.join(whole).is_file() || folder.join(index).is_file())
}

/// Whether a file of this name belongs to a model that is uploaded.
pub(super) fn is_model_file(name: &str) -> bool {
    let is_weights = WEIGHTS.iter().any(|(whole, index, start, end)| {
        [*whole, *index].contains(&name) || name.strip_prefix(start).is_some_and(|rest| is_part(rest, end))
    });
    is_weights || MODEL_FILES.contains(&name)
}
