use std::path::Path;

use super::find::{Format, Found, find};
use super::read::{read_text, require_lines, text_bytes};
use super::{jsonl, table, txt};
use crate::progress::advance;
use crate::{DataError, Documents, Progress, Stage, memory};

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The documents, file by file in the order of their paths.
    pub documents: Documents,
    /// Files that were read.
    pub files: usize,
    /// Files in the folder whose ending names no text format.
    pub skipped_files: usize,
    /// The first cell of the column that was chosen in the first table.
    pub first_cell: Option<String>,
}

/// Reads the file or folder at `path`. `field` is the JSONL field (`text` when absent); `column` is the name of a
/// CSV or TSV column as in the first line, or its number from 1 (then the first line counts as text). When absent,
/// the column is the one called `text`, the only one with another usual name of a text such as `sentence`, or the only one.
pub fn load_files(
    path: &Path,
    field: Option<&str>,
    column: Option<&str>,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    load_within(path, field, column, progress, memory::Room::now())
}

/// As [`load_files`], with room for so much.
pub(super) fn load_within(
    path: &Path,
    field: Option<&str>,
    column: Option<&str>,
    progress: &dyn Progress,
    mut room: memory::Room,
) -> Result<Loaded, DataError> {
    let findings = find(path)?;
    room.check(findings.files.iter().map(text_bytes).sum(), Some(path))?;
    let total = findings.files.iter().map(|found| found.bytes).sum();
    let mut done = 0;
    let (mut documents, mut first_cell) = (Documents::new(), None);
    for found in &findings.files {
        let text = read_text(found, &mut room, |bytes| {
            done += bytes;
            advance(progress, Stage::Reading, done, total)
        })?;
        if found.format == Format::Text {
            require_lines(&text, &found.path)?;
        }
        if found.format == Format::Text && documents.is_empty() {
            // The one large file keeps its place in memory.
            documents = txt::into_documents(text);
            continue;
        }
        let mut push = |document: &str| {
            if !document.trim().is_empty() {
                documents.push(document);
            }
        };
        let first = push_documents(found, &text, field, column, &mut push)?;
        first_cell = first_cell.or(first);
    }
    if documents.is_empty() {
        return Err(DataError::Empty { path: path.to_owned() });
    }
    advance(progress, Stage::Reading, total, total)?;
    Ok(Loaded { documents, files: findings.files.len(), skipped_files: findings.skipped, first_cell })
}

/// Cuts the text of a file into documents; of a table with the first cell of the chosen column.
pub(super) fn push_documents(
    found: &Found,
    text: &str,
    field: Option<&str>,
    column: Option<&str>,
    push: &mut impl FnMut(&str),
) -> Result<Option<String>, DataError> {
    match found.format {
        Format::Text => {
            txt::documents(text, push);
            Ok(None)
        }
        Format::JsonLines | Format::Parquet => {
            jsonl::documents(text, field.unwrap_or("text"), &found.path, push).map(|()| None)
        }
        Format::Csv => table::csv_documents(text, column, &found.path, push),
        Format::Tsv => table::tsv_documents(text, column, &found.path, push),
    }
}
