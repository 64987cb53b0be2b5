use std::path::Path;

use super::read::require_lines;
use crate::DataError;
use crate::config::nearest;

/// Names that columns of text often have.
pub(crate) const USUAL_TEXTS: [&str; 7] =
    ["sentence", "text", "sentence1", "question1", "premise", "review", "content"];

/// The cells of one column of tab-separated text, and its cell in the first row. Nothing is quoted: `"` is a character like any other.
pub(super) fn tsv_documents(
    text: &str,
    column: Option<&str>,
    path: &Path,
    push: &mut impl FnMut(&str),
) -> Result<Option<String>, DataError> {
    let mut chosen = None;
    tsv_rows(text, path, |line, cells| take(&mut chosen, cells, column, line, path, push))?;
    Ok(chosen.map(|(_, first)| first))
}

/// The cells of one column of comma-separated text, quoted as usual (RFC 4180), and its cell in the first row.
pub(super) fn csv_documents(
    text: &str,
    column: Option<&str>,
    path: &Path,
    push: &mut impl FnMut(&str),
) -> Result<Option<String>, DataError> {
    let mut chosen = None;
    csv_rows(text, path, |line, cells| take(&mut chosen, cells, column, line, path, push))?;
    Ok(chosen.map(|(_, first)| first))
}

/// The most columns of a table.
const MOST_COLUMNS: usize = 1 << 16;

/// Bytes of comma-separated text up to which its columns are not counted first.
const SMALL: usize = 16 << 20;

/// Refuses comma-separated text with a row of more columns than any table has, which takes many times its own size.
fn require_columns(text: &str, path: &Path) -> Result<(), DataError> {
    if text.len() <= SMALL {
        return Ok(());
    }
    let mut reader = csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
    let (mut rest, mut cell, mut columns) = (text.as_bytes(), vec![0; 1 << 12], 0);
    loop {
        let line = reader.line();
        let (result, read, _) = reader.read_field(rest, &mut cell);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
            csv_core::ReadFieldResult::Field { record_end } => {
                columns = if record_end { 0 } else { columns + 1 };
                if columns >= MOST_COLUMNS {
                    return Err(DataError::ManyColumns { path: path.to_owned(), line, most: MOST_COLUMNS });
                }
            }
            csv_core::ReadFieldResult::End => return Ok(()),
        }
    }
}

/// Every row of tab-separated text that is not empty, with its line from 1.
pub(super) fn tsv_rows(
    text: &str,
    path: &Path,
    mut each: impl FnMut(u64, &[&str]) -> Result<(), DataError>,
) -> Result<(), DataError> {
    require_lines(text, path)?;
    for (line, content) in (1..).zip(text.split('\n')) {
        let content = content.strip_suffix('\r').unwrap_or(content);
        if content.is_empty() {
            continue;
        }
        let cells: Vec<&str> = content.split('\t').take(MOST_COLUMNS + 1).collect();
        if cells.len() > MOST_COLUMNS {
            return Err(DataError::ManyColumns { path: path.to_owned(), line, most: MOST_COLUMNS });
        }
        each(line, &cells)?;
    }
    Ok(())
}

/// Every row of comma-separated text that is not empty, with the line that it begins in, from 1.
pub(super) fn csv_rows(
    text: &str,
    path: &Path,
    mut each: impl FnMut(u64, &[&str]) -> Result<(), DataError>,
) -> Result<(), DataError> {
    require_lines(text, path)?;
    require_columns(text, path)?;
    let mut reader = reader(text);
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        let broken = |why: String| DataError::BrokenCsv { path: path.to_owned(), line, why };
        if !reader.read_record(&mut record).map_err(|error| broken(error.to_string()))? {
            return Ok(());
        }
        let position = record.position();
        let line = position.map_or(line, csv::Position::line);
        // The reader takes the rest of the file for one cell when a quote is never closed.
        if reader.position().byte() >= text.len() as u64 {
            let start = position.map_or(0, |position| position.byte() as usize);
            let tail = text.get(start..).unwrap_or_default();
            if tail.trim_end().contains('\n') && !tail.matches('"').count().is_multiple_of(2) {
                let why = "a quote that opens there is never closed".to_owned();
                return Err(DataError::BrokenCsv { path: path.to_owned(), line, why });
            }
        }
        let mut cells: Vec<&str> = record.iter().collect();
        if let Some(cell) = cells.last_mut() {
            *cell = cell.strip_suffix('\r').unwrap_or(cell);
        }
        if cells.iter().all(|cell| cell.is_empty()) {
            continue;
        }
        each(line, &cells)?;
    }
}

/// Whether the column is there, by the first row of text that is cut off somewhere behind it.
pub(super) fn choose_csv_column(text: &str, column: Option<&str>, path: &Path) -> Result<(), DataError> {
    let mut reader = reader(text);
    let mut record = csv::StringRecord::new();
    // A first row that does not end here, or cannot be read, is judged when all of it is there.
    while reader.read_record(&mut record).unwrap_or(false) && reader.position().byte() < text.len() as u64 {
        let mut cells: Vec<&str> = record.iter().collect();
        if let Some(cell) = cells.last_mut() {
            *cell = cell.strip_suffix('\r').unwrap_or(cell);
        }
        if cells.iter().any(|cell| !cell.is_empty()) {
            return choose(&cells, column, path).map(drop);
        }
    }
    Ok(())
}

/// As [`choose_csv_column`], for tabs.
pub(super) fn choose_tsv_column(text: &str, column: Option<&str>, path: &Path) -> Result<(), DataError> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let first = whole.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).find(|line| !line.is_empty());
    first.map_or(Ok(()), |line| choose(&line.split('\t').collect::<Vec<_>>(), column, path).map(drop))
}

fn reader(text: &str) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text.as_bytes())
}

/// Chooses the column at the first row, and hands on the text of every row that holds some.
fn take(
    chosen: &mut Option<(usize, String)>,
    cells: &[&str],
    column: Option<&str>,
    line: u64,
    path: &Path,
    push: &mut impl FnMut(&str),
) -> Result<(), DataError> {
    let index = if let Some((index, _)) = chosen {
        *index
    } else {
        let (index, is_header) = choose(cells, column, path)?;
        *chosen = Some((index, cells.get(index).map(|cell| cell.trim().to_owned()).unwrap_or_default()));
        if is_header {
            return Ok(());
        }
        index
    };
    let cell = cells.get(index).ok_or_else(|| DataError::ShortRow {
        path: path.to_owned(),
        line,
        cells: cells.len(),
        column: index + 1,
    })?;
    push(cell);
    Ok(())
}

/// The next place at which the name of a column stands.
pub(super) fn second_place(first: &[&str], place: usize) -> Option<usize> {
    let name = first.get(place)?.trim();
    first.iter().skip(place + 1).position(|cell| cell.trim() == name).map(|more| place + 1 + more)
}

/// The column's index from 0, and whether the first row is a header.
fn choose(first: &[&str], column: Option<&str>, path: &Path) -> Result<(usize, bool), DataError> {
    let found = || first.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let named = |name: &str| first.iter().position(|cell| cell.trim() == name);
    let once = |place: usize| match second_place(first, place) {
        Some(other) => Err(DataError::TwiceColumn {
            path: path.to_owned(),
            field: "data.column",
            column: first.get(place).map(|cell| cell.trim().to_owned()).unwrap_or_default(),
            places: [place, other],
            from: 1,
        }),
        None => Ok((place, true)),
    };
    let Some(column) = column else {
        let usual: Vec<usize> = USUAL_TEXTS.iter().filter_map(|name| named(name)).collect();
        return match (named("text"), usual.as_slice(), first.len()) {
            (Some(index), ..) if first.len() > 1 => once(index),
            (Some(index), ..) => Ok((index, true)),
            // Alone, such a word may as well be the first text.
            (None, [index], 2..) => once(*index),
            (None, _, 1) => Ok((0, false)),
            (None, ..) => Err(DataError::WhichColumn { path: path.to_owned(), found: found() }),
        };
    };
    let index = match column.trim().parse::<usize>() {
        Ok(number) => number.checked_sub(1).filter(|index| *index < first.len()).map(|index| (index, false)),
        Err(_) => named(column.trim()).map(once).transpose()?,
    };
    index.ok_or_else(|| DataError::MissingColumn {
        path: path.to_owned(),
        column: column.to_owned(),
        nearest: nearest(column, first.iter().copied()).map(str::to_owned),
        found: found(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of nothing but separators took 24 times its size.
    #[test]
    fn columns_are_bounded() {
        let path = Path::new("a.csv");
        let count = |text: &str, separator: &str| {
            let mut most = 0;
            let mut each = |_: u64, cells: &[&str]| {
                most = most.max(cells.len());
                Ok(())
            };
            match separator {
                "\t" => tsv_rows(text, path, &mut each)?,
                _ => csv_rows(text, path, &mut each)?,
            }
            Ok::<_, DataError>(most)
        };
        for separator in ["\t", ","] {
            // Text that is large enough to be counted, in rows of two columns.
            let rows = format!("some text{separator}b\n").repeat(SMALL / 12 + 1);
            let with = |cells: usize| format!("{rows}{}a\n", format!("a{separator}").repeat(cells - 1));
            assert_eq!(count(&with(MOST_COLUMNS), separator).unwrap(), MOST_COLUMNS);
            let error = count(&with(MOST_COLUMNS + 1), separator).unwrap_err().to_string();
            assert!(error.contains("more than 65536 columns"), "{error}");
        }
    }
}
