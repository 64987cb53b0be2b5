use std::{
    io::Read,
    path::{Path, PathBuf},
};

use crate::{DataError, open};

/// How a file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    JsonLines,
    Csv,
    Tsv,
    /// Columns, which are read as lines of JSON objects.
    Parquet,
}

impl Format {
    /// Whether its rows are read as JSON objects.
    pub(super) fn is_of_objects(self) -> bool {
        matches!(self, Self::JsonLines | Self::Parquet)
    }
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) gzipped: bool,
    /// Size on disk.
    pub(super) bytes: u64,
}

/// Text files at a path and how many files had other endings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) files: Vec<Found>,
    pub(super) skipped: usize,
    /// There was more than was searched.
    pub(super) is_cut: bool,
}

/// Finds the text files at `path`: itself, or everything below it, sorted by path. Hidden files, and folders behind
/// links, are passed over.
pub(super) fn find(path: &Path) -> Result<Findings, DataError> {
    find_among(path, usize::MAX)
}

/// As [`find`], but searches so many files and folders at most: what is typed on the way to a path may be a whole disk.
pub(super) fn find_among(path: &Path, most: usize) -> Result<Findings, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| wrong(path, &error))?;
    let mut findings = Findings::default();
    if let Some(kind) = open::special_kind(metadata.file_type()) {
        return Err(DataError::NoFile { path: path.to_owned(), kind });
    }
    if metadata.is_dir() {
        let mut left = most;
        walk(path, &mut findings, &mut left)?;
        if findings.files.is_empty() && !findings.is_cut {
            return Err(DataError::NothingUsable { path: path.to_owned(), skipped: findings.skipped });
        }
        findings.files.sort_by(|a, b| a.path.cmp(&b.path));
    } else {
        let (format, gzipped) = format(path).ok_or_else(|| unknown(path))?;
        findings.files.push(Found { path: path.to_owned(), format, gzipped, bytes: metadata.len() });
    }
    Ok(findings)
}

fn walk(folder: &Path, findings: &mut Findings, left: &mut usize) -> Result<(), DataError> {
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(folder, &error))? {
        let entry = entry.map_err(|error| wrong(folder, &error))?;
        if *left == 0 {
            findings.is_cut = true;
            return Ok(());
        }
        *left -= 1;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().map_err(|error| wrong(&path, &error))?.is_dir() {
            walk(&path, findings, left)?;
            continue;
        }
        // A link that leads nowhere is no text.
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        match (metadata, format(&path)) {
            (Some(metadata), Some((format, gzipped))) => {
                findings.files.push(Found { path, format, gzipped, bytes: metadata.len() });
            }
            _ => findings.skipped += 1,
        }
    }
    Ok(())
}

/// Bytes at the start of a file by which it is seen that it is no text.
const START: u64 = 1 << 16;

/// Why a file whose ending names no format is not read: another name would not make text of a picture or of weights.
fn unknown(path: &Path) -> DataError {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    match read.map_err(|error| wrong(path, &error)).and_then(|_| refuse_binary(&start, 0, path)) {
        Ok(()) => DataError::UnknownFormat { path: path.to_owned() },
        Err(why) => why,
    }
}

/// The format that a file's ending names, and whether it is gzipped.
pub(super) fn format(path: &Path) -> Option<(Format, bool)> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let (name, gzipped) = name.strip_suffix(".gz").map_or((name.as_str(), false), |plain| (plain, true));
    let format = match name.rsplit_once('.')?.1 {
        "txt" => Format::Text,
        "jsonl" => Format::JsonLines,
        "csv" => Format::Csv,
        "tsv" => Format::Tsv,
        // It packs its own columns.
        "parquet" if !gzipped => Format::Parquet,
        _ => return None,
    };
    Some((format, gzipped))
}

/// Says why the system refused.
pub(super) fn wrong(path: &Path, error: &std::io::Error) -> DataError {
    DataError::unreadable(path, error)
}

/// Refuses text of other encodings, by its first bytes, and bytes that no text has, by what came after the first `from`
/// bytes.
pub(super) fn refuse_binary(bytes: &[u8], from: usize, path: &Path) -> Result<(), DataError> {
    for (mark, encoding) in [
        ([0xff, 0xfe, 0, 0].as_slice(), "UTF-32"),
        (&[0, 0, 0xfe, 0xff], "UTF-32"),
        (&[0xff, 0xfe], "UTF-16"),
        (&[0xfe, 0xff], "UTF-16"),
    ] {
        if bytes.starts_with(mark) {
            return Err(DataError::OtherEncoding { path: path.to_owned(), encoding });
        }
    }
    match bytes.iter().skip(from).position(|byte| *byte == 0) {
        Some(offset) => Err(DataError::Binary { path: path.to_owned(), offset: from + offset }),
        None => Ok(()),
    }
}
