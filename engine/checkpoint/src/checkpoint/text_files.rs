//! Text files of a model directory.

use std::{io, path::Path};

use super::{CheckpointError, RUN_CONFIG, TOKENIZER};
use crate::data::{LARGEST_TOKENIZER, read_text_file};

pub(super) const WORD_PIECES: &str = "vocab.txt";

pub(super) const BYTE_PAIRS: &str = "vocab.json";

pub(super) const MERGES: &str = "merges.txt";

pub(super) const PIECES: &str = "spiece.model";

/// What a tokenizer is made of where there is no `tokenizer.json`.
pub(super) const OLDER_TOKENIZERS: [&str; 4] = [WORD_PIECES, BYTE_PAIRS, MERGES, PIECES];

/// The largest files of a model directory that are read, in bytes: settings, the config of a run, the tokenizer, and the tables of
/// older tokenizers. As values they take many times as much.
const LARGEST_SETTINGS: u64 = 4 << 20;

const LARGEST_RUN_CONFIG: u64 = 16 << 20;

const LARGEST_TABLE: u64 = 16 << 20;

/// The most bytes that are read of a file.
fn largest(file: &str) -> u64 {
    match file {
        TOKENIZER => LARGEST_TOKENIZER,
        RUN_CONFIG => LARGEST_RUN_CONFIG,
        _ if OLDER_TOKENIZERS.contains(&file) => LARGEST_TABLE,
        _ => LARGEST_SETTINGS,
    }
}

/// The text of a file; none when it is not there.
pub(super) fn text(dir: &Path, file: &str) -> Result<Option<String>, CheckpointError> {
    match read_text_file(&dir.join(file), largest(file)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(CheckpointError::Damaged {
            file: file.to_owned(),
            why: format!("{error}, which is the most that is read of it"),
            path: dir.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(CheckpointError::Damaged {
            file: file.to_owned(),
            why: "it is not UTF-8 text".to_owned(),
            path: dir.to_owned(),
        }),
        Err(error) => Err(CheckpointError::io(&format!("read {file}"), dir)(error)),
    }
}
