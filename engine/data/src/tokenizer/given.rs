use std::path::Path;

use super::{TextTokenizer, limits::LARGEST_TOKENIZER};
use crate::{DataError, read_file};
use crate::{
    config::NeededTokens,
    objective::{LearnedTask, Objective},
};

impl TextTokenizer {
    /// Opens a `tokenizer.json`.
    pub fn open_file(path: &Path) -> Result<Self, DataError> {
        let bytes = read_file(path, LARGEST_TOKENIZER).map_err(|error| DataError::unreadable(path, &error))?;
        Self::from_json(bytes).map_err(|error| match error {
            DataError::Tokenizer { why } => DataError::TokenizerFile { path: path.to_owned(), why },
            other => other,
        })
    }
}

/// Opens a given `tokenizer.json` and checks that it serves the objective.
pub(crate) fn given(path: &Path, objective: &Objective) -> Result<TextTokenizer, DataError> {
    let tokenizer = TextTokenizer::open_file(path)?;
    if !objective.task().serves(tokenizer.specials()) {
        let path = path.to_owned();
        return Err(match objective.needs() {
            NeededTokens::Mask => DataError::NoMask { path },
            NeededTokens::End => DataError::NoEnd { path },
            NeededTokens::Frame => DataError::NoFrame { path },
        });
    }
    Ok(tokenizer)
}

/// The tokenizer of a model, from the text of its `tokenizer.json`, if it serves the objective.
pub(crate) fn of_model(json: Option<&str>, objective: &Objective) -> Result<TextTokenizer, DataError> {
    let tokenizer = TextTokenizer::from_json(json.ok_or(DataError::NoModelTokenizer)?)?;
    if objective.task().serves(tokenizer.specials()) {
        return Ok(tokenizer);
    }
    Err(DataError::UnservingModelTokenizer {
        lacks: match objective.needs() {
            NeededTokens::Mask => "a mask token, such as [MASK]",
            NeededTokens::End => "a token that ends a text, such as </s>",
            NeededTokens::Frame => "tokens that begin an example and end a text, such as [CLS] and [SEP]",
        },
    })
}
