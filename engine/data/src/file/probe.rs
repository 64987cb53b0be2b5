use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::find::{Format, Found, find_among, wrong};
use super::load::push_documents;
use super::read::to_text;
use super::{parquet, table};
use crate::{DataError, open_file};

/// Bytes of text of a file that are read.
const BEGINNING: usize = 64 << 10;
/// Files of a folder that are looked into.
const FILES: usize = 16;
/// Files of a folder that are opened, at least.
const OPENED: usize = 512;
/// Files and folders below a folder that are listed.
const LISTED: usize = 5000;

/// What is wrong with the file or folder at `path`, as far as the beginnings of its first files tell: a second of work
/// at most. A short file is checked as when it is loaded.
pub(crate) fn probe_files(path: &Path, field: Option<&str>, column: Option<&str>) -> Result<(), DataError> {
    let findings = find_among(path, LISTED)?;
    let mut may_hold_text = findings.is_cut || findings.files.len() > FILES;
    for found in findings.files.iter().take(FILES) {
        may_hold_text |= probe(found, field, column)?;
    }
    for found in findings.files.iter().skip(FILES).take(OPENED) {
        open_file(&found.path).map_err(|error| wrong(&found.path, &error))?;
    }
    if may_hold_text { Ok(()) } else { Err(DataError::Empty { path: path.to_owned() }) }
}

/// Whether a file may hold text.
fn probe(found: &Found, field: Option<&str>, column: Option<&str>) -> Result<bool, DataError> {
    let path = &found.path;
    if found.format == Format::Parquet {
        let mut documents = 0;
        let mut count = |document: &str| documents += usize::from(!document.trim().is_empty());
        let (lines, is_whole) = parquet::json_lines(found, BEGINNING as u64, |_| Ok(()))?;
        push_documents(found, &lines, field, column, &mut count)?;
        return Ok(documents > 0 || !is_whole);
    }
    let file = open_file(path).map_err(|error| wrong(path, &error))?;
    let source: Box<dyn Read> = if found.gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut bytes = Vec::new();
    source.take(BEGINNING as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        if found.gzipped {
            DataError::BrokenGzip { path: path.clone(), why: error.to_string() }
        } else {
            wrong(path, &error)
        }
    })?;
    let mut documents = 0;
    let mut count = |document: &str| documents += usize::from(!document.trim().is_empty());
    if bytes.len() <= BEGINNING {
        push_documents(found, &to_text(bytes, path)?, field, column, &mut count)?;
        return Ok(documents > 0);
    }
    let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
    bytes.truncate(whole_lines.unwrap_or(BEGINNING));
    if whole_lines.is_none()
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        // A character that goes on behind what was read.
        bytes.truncate(error.valid_up_to());
    }
    let text = to_text(bytes, path)?;
    match found.format {
        Format::JsonLines if whole_lines.is_some() => {
            push_documents(found, &text, field, column, &mut count)?;
        }
        Format::JsonLines | Format::Text | Format::Parquet => {}
        Format::Csv => table::choose_csv_column(&text, column, path)?,
        Format::Tsv => table::choose_tsv_column(&text, column, path)?,
    }
    Ok(true)
}
