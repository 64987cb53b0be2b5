//! Tokens with a meaning for generation, as `transformers` keeps them.

use std::path::Path;

use serde_json::{Map, Value};

use super::{CONFIG, CheckpointError, GENERATION_CONFIG, load::text};
use crate::generate::Marks;

/// The marks of a model directory. Where nobody says how a decoder begins, it is with the token that begins a text.
pub(super) fn marks(dir: &Path) -> Result<Marks, CheckpointError> {
    let mut found = Map::new();
    for file in [CONFIG, GENERATION_CONFIG] {
        let Some(text) = text(dir, file)? else { continue };
        let settings: Map<String, Value> = serde_json::from_str(&text).map_err(|error| CheckpointError::Settings {
            file: file.to_owned(),
            why: error.to_string(),
            path: dir.to_owned(),
        })?;
        found.extend(settings.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let get = |key: &str| found.get(key).and_then(id);
    let end = match found.get("eos_token_id") {
        Some(Value::Array(ids)) => ids.iter().filter_map(id).collect(),
        Some(value) => id(value).into_iter().collect(),
        None => Vec::new(),
    };
    Ok(Marks {
        start: get("decoder_start_token_id").or_else(|| get("bos_token_id")),
        end,
        forced_first: get("forced_bos_token_id"),
        forced_last: get("forced_eos_token_id"),
    })
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
            r#"{"eos_token_id": 2, "bos_token_id": 0, "forced_eos_token_id": 2, "forced_bos_token_id": null}"#,
        );
        let found = marks(folder.path()).unwrap();
        assert_eq!(found, Marks { start: Some(0), end: vec![2], forced_first: None, forced_last: Some(2) });
        write(GENERATION_CONFIG, r#"{"eos_token_id": [2, 5], "decoder_start_token_id": 7, "bos_token_id": null}"#);
        let found = marks(folder.path()).unwrap();
        assert_eq!((found.start, found.end), (Some(7), vec![2, 5]));
        write(GENERATION_CONFIG, "no JSON");
        assert!(marks(folder.path()).unwrap_err().to_string().contains(GENERATION_CONFIG));
    }
}
