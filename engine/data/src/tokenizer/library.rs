//! Calls of the library of tokenizers.

use crate::{DataError, guard, text::shortened};

/// Calls the library, whose panics are errors of the tokenizer.
pub(super) fn called<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, DataError> {
    match guard::guarded(call) {
        Ok(answer) => answer.map_err(failure),
        Err(panic) => Err(DataError::Tokenizer { why: panic.to_string() }),
    }
}

/// The library's errors are boxed; ours hold their text.
pub(super) fn failure(error: tokenizers::Error) -> DataError {
    DataError::Tokenizer { why: shortened(&error.to_string(), 400) }
}
