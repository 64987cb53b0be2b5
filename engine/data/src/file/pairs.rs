//! Pairs of texts from disk: two files with a text a line, a table separated by tabs, or one of JSON objects (`.jsonl`, `.parquet`).
//! Each but the last may be gzipped, whatever its name ends in otherwise.
//!
//! Texts are taken without white space around them. A line without text on both sides is passed over; one without text on
//! one side is an error, since what stands there is no pair.

use std::path::{Path, PathBuf};

use super::find::{Format, Found, format, wrong};
use super::jsonl;
use super::preview::read_beginning;
use super::read::{read_text, require_lines, text_bytes};
use super::table::second_place;
use serde_json::Value;

use crate::config::nearest;
use crate::progress::advance;
use crate::{DataError, Documents, Progress, Silent, Stage, memory, open};

/// Where pairs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PairFiles {
    /// Texts and their translations, line by line.
    Aligned(PathBuf, PathBuf),
    /// A table, with the names or numbers of its columns.
    Table(PathBuf, Option<[String; 2]>),
}

impl PairFiles {
    /// Every file.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Aligned(source, target) => vec![source, target],
            Self::Table(path, _) => vec![path],
        }
    }
}

/// Reads pairs: each text and then its translation.
pub(crate) fn load_pairs(files: &PairFiles, progress: &dyn Progress) -> Result<Documents, DataError> {
    let mut room = memory::Room::now();
    let found = files.paths().into_iter().map(found).collect::<Result<Vec<_>, DataError>>()?;
    let total = found.iter().map(|found| found.bytes).sum();
    let mut done = 0;
    let mut read = |found: &Found| {
        read_text(found, &mut room, |bytes| {
            done += bytes;
            advance(progress, Stage::Reading, done, total)
        })
    };
    let texts = found.iter().map(&mut read).collect::<Result<Vec<_>, DataError>>()?;
    let mut pairs = Documents::new();
    match (files, texts.as_slice()) {
        (PairFiles::Aligned(source, target), [sources, targets]) => {
            aligned([sources, targets], [source, target], &mut pairs)?;
        }
        (PairFiles::Table(path, text), [table]) => {
            let is_of_objects = found.first().is_some_and(|found| found.format.is_of_objects());
            table_pairs(table, text.as_ref(), (path, is_of_objects), &mut pairs)?;
        }
        _ => {}
    }
    let first = files.paths().first().map(|path| (*path).to_owned()).unwrap_or_default();
    if pairs.is_empty() {
        return Err(DataError::Empty { path: first });
    }
    advance(progress, Stage::Reading, total, total)?;
    Ok(pairs)
}

/// The pairs that the beginnings of the files hold, some megabytes of each, and whether these are all.
pub(crate) fn pairs_beginning(files: &PairFiles) -> Result<(Documents, bool), DataError> {
    let all = files.paths().into_iter().map(found).collect::<Result<Vec<_>, _>>()?;
    let texts = all.iter().map(read_beginning).collect::<Result<Vec<_>, _>>()?;
    let is_whole = texts.iter().all(|(_, is_whole)| *is_whole);
    let mut pairs = Documents::new();
    match (files, texts.as_slice()) {
        (PairFiles::Aligned(source, target), [(sources, _), (targets, _)]) => {
            // Of a long file as many lines as of the other.
            let common = [sources, targets].map(|text| lines(text).count()).into_iter().min().unwrap_or_default();
            let cut = |text: &String| {
                if is_whole { text.clone() } else { lines(text).take(common).collect::<Vec<_>>().join("\n") }
            };
            aligned([&cut(sources), &cut(targets)], [source, target], &mut pairs)?;
        }
        (PairFiles::Table(path, text), [(table, _)]) => {
            let is_of_objects = all.first().is_some_and(|found| found.format.is_of_objects());
            table_pairs(table, text.as_ref(), (path, is_of_objects), &mut pairs)?;
        }
        _ => {}
    }
    Ok((pairs, is_whole))
}

/// Files of up to so many bytes are read whole to judge them.
const SMALL_BYTES: u64 = 4 << 20;

/// What is wrong with a file of texts, as far as its kind tells.
pub(crate) fn probe_pair_file(path: &Path) -> Result<(), DataError> {
    found(path)?;
    open::open_file(path).map(drop).map_err(|error| wrong(path, &error))
}

/// What is wrong with pairs of small files; nothing with large ones, which are judged when they are loaded, nor with files
/// that are not there, of which [`probe_pair_file`] tells.
pub(crate) fn probe_pairs(files: &PairFiles) -> Result<(), DataError> {
    let small = |path: &Path| found(path).is_ok_and(|found| text_bytes(&found) <= SMALL_BYTES);
    if files.paths().into_iter().all(small) { load_pairs(files, &Silent).map(drop) } else { Ok(()) }
}

fn found(path: &Path) -> Result<Found, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| wrong(path, &error))?;
    let kind = if metadata.is_dir() { Some("a folder") } else { open::special_kind(metadata.file_type()) };
    if let Some(kind) = kind {
        return Err(DataError::NoFile { path: path.to_owned(), kind });
    }
    let gzipped = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    let format = format(path).map(|(format, _)| format).filter(|format| format.is_of_objects());
    Ok(Found { path: path.to_owned(), format: format.unwrap_or(Format::Text), gzipped, bytes: metadata.len() })
}

/// Lines, of which the last one may lack its end.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::trim)
}

fn aligned(
    [sources, targets]: [&String; 2],
    [source_path, target_path]: [&PathBuf; 2],
    pairs: &mut Documents,
) -> Result<(), DataError> {
    require_lines(sources, source_path)?;
    require_lines(targets, target_path)?;
    let counts = [sources, targets].map(|text| lines(text).count());
    if counts[0] != counts[1] {
        return Err(DataError::UnequalLines {
            source_lines: counts[0],
            target_lines: counts[1],
            source_path: source_path.clone(),
            path: target_path.clone(),
        });
    }
    for ((line, source), target) in (1..).zip(lines(sources)).zip(lines(targets)) {
        push(pairs, source, target, line, [source_path, target_path])?;
    }
    Ok(())
}

fn table_pairs(
    table: &str,
    text: Option<&[String; 2]>,
    (path, is_of_objects): (&Path, bool),
    pairs: &mut Documents,
) -> Result<(), DataError> {
    require_lines(table, path)?;
    if is_of_objects { objects(table, text, path, pairs) } else { rows(table, text, path, pairs) }
}

/// Fields of the texts and of their translations where none are named.
const USUAL_FIELDS: [&str; 2] = ["source", "target"];

/// Rows that are JSON objects. A field within another one is written with a point; null is no text.
fn objects(table: &str, text: Option<&[String; 2]>, path: &Path, pairs: &mut Documents) -> Result<(), DataError> {
    let named = text.is_some();
    let fields = text.map_or(USUAL_FIELDS, |[source, target]| [source.trim(), target.trim()]);
    for (line, content) in (1..).zip(table.split('\n')) {
        if content.trim().is_empty() {
            continue;
        }
        let broken = |why: String| DataError::BrokenJson { path: path.to_owned(), line, why };
        let object = jsonl::object(content).map_err(broken)?;
        let found = || object.keys().cloned().collect::<Vec<String>>();
        let mut sides = [String::new(), String::new()];
        for (side, field) in sides.iter_mut().zip(fields) {
            let within = || field.split_once('.').and_then(|(outer, inner)| object.get(outer)?.get(inner));
            *side = match object.get(field).or_else(within) {
                Some(Value::String(text)) => text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" "),
                Some(Value::Null) => String::new(),
                Some(other) => {
                    let (path, field, found) = (path.to_owned(), field.to_owned(), jsonl::kind(other));
                    return Err(DataError::NoPairText { path, line, field, found });
                }
                None if !named => return Err(DataError::WhichPairFields { path: path.to_owned(), found: found() }),
                None => {
                    return Err(DataError::MissingPairColumn {
                        path: path.to_owned(),
                        column: field.to_owned(),
                        nearest: nearest(field, object.keys().map(String::as_str)).map(str::to_owned),
                        found: found(),
                    });
                }
            };
        }
        push(pairs, sides[0].trim(), sides[1].trim(), line, [path, path])?;
    }
    Ok(())
}

fn rows(table: &str, text: Option<&[String; 2]>, path: &Path, pairs: &mut Documents) -> Result<(), DataError> {
    let mut columns = None;
    for (line, row) in (1..).zip(table.split('\n')) {
        let row = row.strip_suffix('\r').unwrap_or(row);
        if row.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = row.split('\t').map(str::trim).collect();
        let [source, target] = if let Some(columns) = columns {
            columns
        } else {
            let (chosen, is_header) = choose(&cells, text, path)?;
            columns = Some(chosen);
            if is_header {
                continue;
            }
            chosen
        };
        let cell = |column: usize| {
            cells.get(column).copied().ok_or_else(|| DataError::ShortPairRow {
                path: path.to_owned(),
                line,
                cells: cells.len(),
                column,
            })
        };
        push(pairs, cell(source)?, cell(target)?, line, [path, path])?;
    }
    Ok(())
}

/// The places of both columns, and whether the first row is one of names.
fn choose(first: &[&str], text: Option<&[String; 2]>, path: &Path) -> Result<([usize; 2], bool), DataError> {
    let found = || first.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let Some(text) = text else {
        return match first.len() {
            2 => Ok(([0, 1], false)),
            _ => Err(DataError::WhichPairColumns { path: path.to_owned(), found: found() }),
        };
    };
    let numbers = text.iter().map(|column| column.trim().parse::<usize>().ok()).collect::<Option<Vec<_>>>();
    let is_header = numbers.is_none();
    let place = |column: &String| {
        let place = match numbers {
            Some(_) => column.trim().parse::<usize>().ok().filter(|place| *place < first.len()),
            None => first.iter().position(|cell| *cell == column.trim()),
        };
        place.ok_or_else(|| DataError::MissingPairColumn {
            path: path.to_owned(),
            column: column.clone(),
            nearest: nearest(column, first.iter().copied()).map(str::to_owned),
            found: found(),
        })
    };
    let places = [place(&text[0])?, place(&text[1])?];
    if is_header {
        for (column, first_place) in text.iter().zip(places) {
            if let Some(second) = second_place(first, first_place) {
                let (path, column, places) = (path.to_owned(), column.trim().to_owned(), [first_place, second]);
                return Err(DataError::TwiceColumn { path, field: "data.text", column, places, from: 0 });
            }
        }
    }
    Ok((places, is_header))
}

fn push(
    pairs: &mut Documents,
    source: &str,
    target: &str,
    line: usize,
    [source_path, target_path]: [&Path; 2],
) -> Result<(), DataError> {
    let empty = match (source.is_empty(), target.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => Some(source_path),
        (false, true) => Some(target_path),
        (false, false) => None,
    };
    if let Some(path) = empty {
        let side = if source.is_empty() { "text" } else { "translation" };
        return Err(DataError::EmptySide { path: path.to_owned(), line, side });
    }
    pairs.push(source);
    pairs.push(target);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;
    use crate::Silent;

    fn written(folder: &TempDir, name: &str, content: &str) -> PathBuf {
        let path = folder.path().join(name);
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut packed = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
            packed.write_all(content.as_bytes()).unwrap();
            packed.finish().unwrap();
        } else {
            std::fs::write(&path, content).unwrap();
        }
        path
    }

    fn two(source: &str, target: &str) -> Result<Vec<String>, DataError> {
        let folder = TempDir::new().unwrap();
        let files = PairFiles::Aligned(written(&folder, "a.en", source), written(&folder, "a.de.gz", target));
        Ok(load_pairs(&files, &Silent)?.iter().map(str::to_owned).collect())
    }

    fn table(content: &str, text: Option<[&str; 2]>) -> Result<Vec<String>, DataError> {
        let folder = TempDir::new().unwrap();
        let files = PairFiles::Table(written(&folder, "a.tsv", content), text.map(|text| text.map(str::to_owned)));
        Ok(load_pairs(&files, &Silent)?.iter().map(str::to_owned).collect())
    }

    #[test]
    fn lines_of_two_files_are_pairs() {
        assert_eq!(two("one\r\n two \n\n", "eins\nzwei\n\n").unwrap(), ["one", "eins", "two", "zwei"]);
        assert_eq!(two("\u{feff}one", "eins\n").unwrap(), ["one", "eins"]);
    }

    #[test]
    fn rows_of_a_table_are_pairs() {
        assert_eq!(table("one\teins\n\ntwo\tzwei", None).unwrap(), ["one", "eins", "two", "zwei"]);
        let content = "id\tde\ten\n1\teins\tone\r\n";
        assert_eq!(table(content, Some(["en", "de"])).unwrap(), ["one", "eins"]);
        assert_eq!(table("1\teins\tone\n", Some(["2", "1"])).unwrap(), ["one", "eins"]);
    }

    #[test]
    fn what_is_no_pair_is_refused_by_its_line() {
        let said = |outcome: Result<Vec<String>, DataError>| outcome.unwrap_err().to_string();
        for (told, wanted) in [
            (said(two("one\ntwo\n", "eins\n")), ["2 lines", "1 line"]),
            (said(two("one\n\n", "eins\nzwei\n")), ["Line 2 has no text", "a.en"]),
            (said(two("one\ntwo\n", "eins\n \n")), ["Line 2 has no translation", "a.de.gz"]),
            (said(two("\n", "\n")), ["There is no text in it", "a.en"]),
            (said(two("one\0", "eins")), ["This is not text", "a.en"]),
            (said(table("a\tb\tc\n", None)), ["3 columns", "data.text"]),
            (said(table("a\tb\n", Some(["a", "x"]))), ["no column `x`", "`b`"]),
            (said(table("a\tb\n", Some(["0", "2"]))), ["no column `2`", "from 0"]),
            (said(table("a\tb\nx\n", Some(["a", "b"]))), ["Line 2 has 1 cell", "a.tsv"]),
        ] {
            assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
        }
        let folder = TempDir::new().unwrap();
        let here = PairFiles::Table(folder.path().to_owned(), None);
        assert!(load_pairs(&here, &Silent).unwrap_err().to_string().contains("It is a folder"));
        let none = PairFiles::Table(folder.path().join("none.tsv"), None);
        assert!(matches!(load_pairs(&none, &Silent), Err(DataError::Missing { .. })));
    }
}
