use std::path::Path;

use super::TextTokenizer;
use crate::config::Architecture;
use crate::data::DataError;

/// Opens a given `tokenizer.json` and checks that it serves the architecture.
pub(in crate::data) fn given(path: &Path, architecture: Architecture) -> Result<TextTokenizer, DataError> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => DataError::Missing { path: path.to_owned() },
        _ => DataError::Unreadable { path: path.to_owned(), why: error.to_string() },
    })?;
    let tokenizer = TextTokenizer::from_json(bytes).map_err(|error| match error {
        DataError::Tokenizer { why } => DataError::TokenizerFile { path: path.to_owned(), why },
        other => other,
    })?;
    if architecture == Architecture::Encoder && tokenizer.specials().mask.is_none() {
        return Err(DataError::NoMask { path: path.to_owned() });
    }
    Ok(tokenizer)
}
