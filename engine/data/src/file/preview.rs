//! What a table holds, before anything is trained on it.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::find::{Format, Found, wrong};
use super::labelled::{Judged, LabelledRows, TableColumns, found, rows};
use super::read::to_text;
use super::{jsonl, parquet, table};
use crate::{DataError, TableError, open_file};

/// Bytes of text of a table that are read.
const BEGINNING: u64 = 4 << 20;
/// Letters of the longest name that a column may have.
const LONGEST_NAME: usize = 40;

/// The beginning of a table.
pub(crate) struct Beginning {
    /// The columns: their names, or their numbers from 0 where the first row does not name them; each with what stands in it in
    /// the first row of data.
    pub columns: Vec<(String, String)>,
    /// The rows by the columns of the source.
    ///
    /// # Errors
    /// As when it is loaded: a column that is not there, a row that cannot be read.
    pub rows: Result<LabelledRows, DataError>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// Reads the beginning of the table at `path`: some megabytes.
///
/// # Errors
/// If it cannot be read, or is no table.
pub(crate) fn beginning(path: &Path, wanted: TableColumns<'_>, judged: Judged) -> Result<Beginning, DataError> {
    let found = found(path)?;
    let (mut text, is_whole) = read_beginning(&found)?;
    let mut read = rows(&found, &text, wanted, judged);
    let broken = match &read {
        Err(DataError::BrokenCsv { line, .. } | DataError::Table(TableError::ShortRow { line, .. })) => Some(*line),
        _ => None,
    };
    if let Some(line) = broken.filter(|line| !is_whole && found.format == Format::Csv && *line > 1) {
        // It may be a cell that goes on behind what was read.
        let end = text.match_indices('\n').nth(line as usize - 2).map_or(0, |(at, _)| at + 1);
        text.truncate(end);
        read = rows(&found, &text, wanted, judged);
    }
    // Once rows could be read, it is known what the first of them is.
    let has_header = read.as_ref().ok().map(|rows| rows.has_header);
    let columns = columns(&found, &text, wanted.header.or(has_header), wanted);
    Ok(Beginning { columns, rows: read, is_whole })
}

/// Whole lines of the beginning, and whether that is all.
pub(super) fn read_beginning(found: &Found) -> Result<(String, bool), DataError> {
    let path = &found.path;
    if found.format == Format::Parquet {
        return parquet::json_lines(found, BEGINNING, |_| Ok(()));
    }
    let file = open_file(path).map_err(|error| wrong(path, &error))?;
    let source: Box<dyn Read> = if found.gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut bytes = Vec::new();
    source.take(BEGINNING + 1).read_to_end(&mut bytes).map_err(|error| {
        if found.gzipped {
            DataError::BrokenGzip { path: path.clone(), why: error.to_string() }
        } else {
            wrong(path, &error)
        }
    })?;
    let is_whole = bytes.len() as u64 <= BEGINNING;
    if !is_whole {
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    }
    Ok((to_text(bytes, path)?, is_whole))
}

fn columns(found: &Found, text: &str, header: Option<bool>, wanted: TableColumns<'_>) -> Vec<(String, String)> {
    if found.format.is_of_objects() {
        let first = text.split('\n').find(|line| !line.trim().is_empty()).unwrap_or_default();
        let Ok(object) = jsonl::object(first) else { return Vec::new() };
        let sample = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Array(_) | Value::Object(_) => jsonl::kind(value).to_owned(),
            other => other.to_string(),
        };
        return object.iter().map(|(name, value)| (name.clone(), sample(value))).collect();
    }
    let mut first: Vec<Vec<String>> = Vec::new();
    // The second row ends the search: what comes of the rest is told by the rows themselves.
    let take = &mut |_: u64, cells: &[&str]| {
        first.push(cells.iter().map(|cell| cell.trim().to_owned()).collect());
        if first.len() < 2 { Ok(()) } else { Err(DataError::Stopped) }
    };
    drop(match found.format {
        Format::Csv => table::csv_rows(text, &found.path, take),
        Format::Tsv | Format::Text | Format::JsonLines | Format::Parquet => table::tsv_rows(text, &found.path, take),
    });
    let mut first = first.into_iter();
    let (Some(head), second) = (first.next(), first.next()) else { return Vec::new() };
    let is_named = header.unwrap_or_else(|| is_header(&head, wanted));
    if is_named {
        let mut samples = second.unwrap_or_default().into_iter();
        return head.into_iter().map(|name| (name, samples.next().unwrap_or_default())).collect();
    }
    head.into_iter().enumerate().map(|(number, sample)| (number.to_string(), sample)).collect()
}

/// Whether the first row looks like one of names, for whom nobody said so.
fn is_header(head: &[String], columns: TableColumns<'_>) -> bool {
    let mut wanted = columns.texts.iter().chain([columns.label]);
    if wanted.any(|column| column.number().is_none() && head.contains(&column.to_string())) {
        return true;
    }
    let is_name = |cell: &String| {
        let letters = cell.chars().count();
        (1..=LONGEST_NAME).contains(&letters) && cell.parse::<f64>().is_err() && !cell.ends_with(['.', '!', '?'])
    };
    let differ = head.iter().enumerate().all(|(place, name)| !head.iter().skip(place + 1).any(|other| other == name));
    head.len() > 1 && differ && head.iter().all(is_name)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::config::{Column, TableSource};

    fn read(name: &str, content: &str, source: &TableSource) -> Beginning {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        beginning(
            &path,
            TableColumns { texts: &source.text, label: &source.label, header: source.header },
            Judged::Classes,
        )
        .unwrap()
    }

    fn named(found: &Beginning) -> Vec<(&str, &str)> {
        found.columns.iter().map(|(name, sample)| (name.as_str(), sample.as_str())).collect()
    }

    #[test]
    fn columns_have_names_where_the_first_row_gives_some() {
        let usual = TableSource::default();
        let found = read("a.tsv", "sentence\tmark\nA film.\t1\n", &usual);
        assert_eq!(named(&found), [("sentence", "A film."), ("mark", "1")]);
        assert!(found.rows.is_err_and(|error| error.to_string().contains("no column `text`")));
        // CoLA names nothing.
        let cola = "gj04\t1\t\tOur friends left.\ngj04\t0\t*\tLeft friends our.\n";
        assert_eq!(
            named(&read("a.tsv", cola, &usual)),
            [("0", "gj04"), ("1", "1"), ("2", ""), ("3", "Our friends left.")]
        );
        let said = TableSource { header: Some(false), ..usual.clone() };
        assert_eq!(named(&read("a.csv", "a,b\nc,d\n", &said)), [("0", "a"), ("1", "b")]);
        let found = read("a.jsonl", "{\"label\": 1, \"premise\": \"x\", \"all\": []}\n", &usual);
        assert_eq!(named(&found), [("all", "a list"), ("label", "1"), ("premise", "x")]);
    }

    #[test]
    fn of_a_long_table_whole_rows_of_its_beginning_are_read() {
        let source = TableSource { text: vec![Column::named("text")], ..TableSource::default() };
        let row = format!("\"a line\nand {}\",yes\n", "more ".repeat(2000));
        let found = read("a.csv", &format!("text,label\n{}", row.repeat(600)), &source);
        let rows = found.rows.unwrap().labels.len();
        assert!(!found.is_whole && (300..600).contains(&rows), "{rows}");
        let found = read("a.csv", &format!("text,label\n{}", row.repeat(3)), &source);
        assert!(found.is_whole && found.rows.unwrap().labels.len() == 3);
    }
}
