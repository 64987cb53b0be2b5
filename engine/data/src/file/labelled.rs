//! Tables of one or two texts with a label a row: `.tsv` (never quoted), `.csv`, `.jsonl`, each also gzipped, and `.parquet`.

use std::path::Path;

use serde_json::Value;

use super::find::{Format, Found, find, wrong};
use super::read::{read_text, require_lines, text_bytes};
use super::{jsonl, table};
use crate::config::{Column, nearest};
use crate::progress::advance;
use crate::{DataError, Documents, Progress, Reading, Silent, Stage, TableError, memory, open};

/// Files of up to so many bytes are read whole to judge them.
const SMALL_BYTES: u64 = 4 << 20;

/// The rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelledRows {
    /// The texts of each row, one row after the other, without white space around them.
    pub texts: Documents,
    /// The label of each row, with its line from 1.
    pub labels: Vec<(String, u64)>,
    /// Whether the first row was taken for the names of the columns.
    pub has_header: bool,
    /// Rows that were left out since a text is empty, and the line of the first.
    pub without_text: usize,
    pub first_without_text: u64,
    /// Rows that were left out since they have no label, and the line of the first.
    pub without_label: usize,
    pub first_without_label: u64,
    /// Columns that were chosen by their numbers, each with its first cell.
    pub numbered: Vec<(usize, String)>,
}

/// Whether what stands in the first row is a label, judged by the labels of the others: for tables without a word about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// A label is a number.
    Numbers,
    /// A label stands in another row, too.
    Classes,
}

impl Judged {
    pub(crate) fn of(objective: &crate::objective::Objective) -> Self {
        if objective.learns_numbers() { Self::Numbers } else { Self::Classes }
    }
}

/// The columns of a table that are read.
#[derive(Clone, Copy)]
pub(crate) struct TableColumns<'a> {
    /// Those of the texts.
    pub texts: &'a [Column],
    /// That of the label.
    pub label: &'a Column,
    /// True if the first row names the columns, where that is said.
    pub header: Option<bool>,
}

/// Reads the table at `path` with these columns.
///
/// # Errors
/// What is wrong, by file, line and field; a table all of whose labels are missing or -1.
pub(crate) fn load_rows(
    path: &Path,
    columns: TableColumns<'_>,
    judged: Judged,
    reading: &Reading,
    progress: &dyn Progress,
) -> Result<LabelledRows, DataError> {
    let found = found(path)?;
    let mut done = 0;
    let text = read_text(&found, &mut memory::Room::now(), |bytes| {
        done += bytes;
        advance(progress, Stage::Reading, done, found.bytes)
    })?;
    let rows = rows(&found, &text, columns, judged)?;
    advance(progress, Stage::Reading, found.bytes, found.bytes)?;
    let rule = reading.labels.unlabelled.as_deref();
    let is_missing = |label: &str| match rule {
        Some(text) => label.is_empty() || label == text,
        None => ["", "-", "-1"].contains(&label),
    };
    if rows.labels.is_empty() && rows.without_label == 0 {
        return Err(DataError::Empty { path: path.to_owned() });
    }
    if rows.labels.iter().all(|(label, _)| is_missing(label)) {
        return Err(TableError::Unlabelled { path: path.to_owned(), column: columns.label.to_string() }.into());
    }
    if let Some((_, line)) = rows.labels.iter().find(|(label, _)| label.is_empty() && rule != Some("")) {
        let column = columns.label.to_string();
        return Err(TableError::NoLabel { path: path.to_owned(), line: *line, column }.into());
    }
    Ok(rows)
}

/// What is wrong with a small table; of a large one, whether it can be opened.
pub(crate) fn probe_rows(
    path: &Path,
    columns: TableColumns<'_>,
    judged: Judged,
    reading: &Reading,
) -> Result<Option<LabelledRows>, DataError> {
    let found = found(path)?;
    if text_bytes(&found) > SMALL_BYTES {
        return open::open_file(path).map(|_| None).map_err(|error| wrong(path, &error));
    }
    load_rows(path, columns, judged, reading, &Silent).map(Some)
}

pub(super) fn found(path: &Path) -> Result<Found, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| wrong(path, &error))?;
    if metadata.is_dir() {
        return Err(DataError::NoFile { path: path.to_owned(), kind: "a folder" });
    }
    let no_table = || TableError::NoTable { path: path.to_owned() };
    let found = find(path).map_err(|error| match error {
        DataError::UnknownFormat { .. } => no_table().into(),
        other => other,
    })?;
    let found = found.files.into_iter().next().filter(|found| found.format != Format::Text);
    Ok(found.ok_or_else(no_table)?)
}

/// Cells of a row by the columns that are read: the texts, then the label.
struct Wanted<'a> {
    path: &'a Path,
    columns: Vec<(&'static str, &'a Column)>,
}

impl<'a> Wanted<'a> {
    fn new(path: &'a Path, columns: TableColumns<'a>) -> Self {
        let texts = columns.texts.iter().map(|column| ("data.text", column));
        Self { path, columns: texts.chain([("data.label", columns.label)]).collect() }
    }

    fn missing(&self, field: &'static str, column: &Column, line: u64, found: Vec<String>) -> TableError {
        TableError::MissingColumn {
            path: self.path.to_owned(),
            line,
            field,
            column: column.to_string(),
            nearest: nearest(&column.to_string(), found.iter().map(String::as_str)).map(str::to_owned),
            found,
        }
    }

    /// The places of the columns, by the first row, and whether that is known to be one of names.
    fn places(
        &self,
        first: &[&str],
        line: u64,
        header: Option<bool>,
    ) -> Result<(Vec<usize>, Option<bool>), TableError> {
        let (mut places, mut is_named) = (Vec::new(), false);
        for (field, column) in &self.columns {
            let name = column.to_string();
            let named = first.iter().position(|cell| cell.trim() == name).filter(|_| header != Some(false));
            let numbered = || column.number().filter(|place| *place < first.len());
            // A number that happens to stand in the first row is a name only where that row has names.
            let named = named.filter(|_| header == Some(true) || column.number().is_none());
            is_named |= named.is_some();
            if let Some(first_place) = named
                && let Some(second) = table::second_place(first, first_place)
            {
                let places = [first_place, second];
                return Err(TableError::TwiceColumn { path: self.path.to_owned(), line, field, column: name, places });
            }
            let found = || first.iter().map(|cell| (*cell).to_owned()).collect();
            places.push(named.or_else(numbered).ok_or_else(|| self.missing(field, column, line, found()))?);
        }
        Ok((places, header.or(is_named.then_some(true))))
    }

    /// Columns that are given by their numbers, each with its cell in the first row.
    fn numbered(&self, places: &[usize], first: &[&str], header: Option<bool>) -> Vec<(usize, String)> {
        let is_name = |column: &Column, place: usize| {
            header == Some(true) && first.get(place).is_some_and(|cell| cell.trim() == column.to_string())
        };
        let cell = |place: usize| first.get(place).map(|cell| cell.trim().to_owned()).unwrap_or_default();
        let numbered = places.iter().zip(&self.columns);
        let numbered = numbered.filter(|(place, (_, column))| column.number().is_some() && !is_name(column, **place));
        numbered.map(|(place, _)| (*place, cell(*place))).collect()
    }

    fn cells<'b>(&self, places: &[usize], row: &[&'b str], line: u64) -> Result<Vec<&'b str>, TableError> {
        let cell = |(place, (field, column)): (&usize, &(&'static str, &Column))| {
            row.get(*place).map(|cell| cell.trim()).ok_or_else(|| TableError::ShortRow {
                path: self.path.to_owned(),
                line,
                field,
                column: column.to_string(),
                cells: row.len(),
            })
        };
        places.iter().zip(&self.columns).map(cell).collect()
    }
}

impl LabelledRows {
    /// Counts a row that has no label.
    fn leave_out(&mut self, line: u64) {
        if self.without_label == 0 {
            self.first_without_label = line;
        }
        self.without_label += 1;
    }

    /// Leaves out the rows, of `texts` texts each, whose labels are not wanted.
    pub(crate) fn retain(self, texts: usize, is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut kept = Self { texts: Documents::new(), labels: Vec::new(), ..self };
        for (row, (label, line)) in self.labels.into_iter().enumerate() {
            if !is_wanted(&label) {
                let first = if kept.without_label == 0 { line } else { kept.first_without_label.min(line) };
                (kept.without_label, kept.first_without_label) = (kept.without_label + 1, first);
                continue;
            }
            for text in (row * texts..(row + 1) * texts).filter_map(|place| self.texts.get(place)) {
                kept.texts.push(text);
            }
            kept.labels.push((label, line));
        }
        kept
    }

    /// Adds a row: its texts, then its label, which may be missing.
    fn push(&mut self, texts: &[&str], label: Option<&str>, line: u64) {
        if texts.iter().any(|text| text.is_empty()) {
            if self.without_text == 0 {
                self.first_without_text = line;
            }
            self.without_text += 1;
            return;
        }
        let Some(label) = label else { return self.leave_out(line) };
        for text in texts {
            self.texts.push(text);
        }
        self.labels.push((label.to_owned(), line));
    }
}

/// What is done with a row, whose line comes first.
type EachRow<'a> = &'a mut dyn FnMut(u64, &[&str]) -> Result<(), DataError>;

pub(super) fn rows(
    found: &Found,
    text: &str,
    columns: TableColumns<'_>,
    judged: Judged,
) -> Result<LabelledRows, DataError> {
    let wanted = Wanted::new(&found.path, columns);
    let mut rows = LabelledRows::default();
    if found.format.is_of_objects() {
        objects(text, &wanted, &mut rows)?;
        return Ok(rows);
    }
    let each = |each: EachRow<'_>| match found.format {
        Format::Csv => table::csv_rows(text, &found.path, each),
        Format::Tsv | Format::Text | Format::JsonLines | Format::Parquet => table::tsv_rows(text, &found.path, each),
    };
    let mut places: Option<(Vec<usize>, Option<bool>)> = None;
    let mut first: Option<(String, bool)> = None;
    if places_are_judged(columns) {
        // Once more over the table: whether the first row's label stands in another one.
        each(&mut |line, row| {
            let (places, _) = match &mut places {
                Some(known) => known,
                none => none.insert(wanted.places(row, line, columns.header)?),
            };
            let label = places.last().and_then(|place| row.get(*place)).map(|cell| cell.trim()).unwrap_or_default();
            match &mut first {
                Some((known, is_label)) => *is_label |= known == label,
                none => *none = Some((label.to_owned(), false)),
            }
            Ok(())
        })?;
    }
    let is_header = first.is_some_and(|(label, stands_elsewhere)| {
        let is_number = label.parse::<f64>().is_ok();
        match judged {
            Judged::Numbers => !is_number,
            Judged::Classes => !is_number && !stands_elsewhere,
        }
    });
    let mut places: Option<Vec<usize>> = None;
    let mut has_header = false;
    each(&mut |line, row| {
        let places = if let Some(places) = &places {
            places
        } else {
            let (found, said) = wanted.places(row, line, columns.header)?;
            rows.numbered = wanted.numbered(&found, row, said);
            let found = places.insert(found);
            if said.unwrap_or(is_header) {
                has_header = true;
                return Ok(());
            }
            found
        };
        let cells = wanted.cells(places, row, line)?;
        if let Some((label, texts)) = cells.split_last() {
            rows.push(texts, Some(label), line);
        }
        Ok(())
    })?;
    rows.has_header = has_header;
    Ok(rows)
}

/// Whether nothing but the rows tells if the first one is a header.
fn places_are_judged(columns: TableColumns<'_>) -> bool {
    columns.header.is_none() && columns.texts.iter().chain([columns.label]).all(|column| column.number().is_some())
}

/// Rows that are JSON objects.
fn objects(text: &str, wanted: &Wanted<'_>, rows: &mut LabelledRows) -> Result<(), DataError> {
    require_lines(text, wanted.path)?;
    for (line, content) in (1..).zip(text.split('\n')) {
        if content.trim().is_empty() {
            continue;
        }
        let broken = |why: String| DataError::BrokenJson { path: wanted.path.to_owned(), line: line as usize, why };
        let object = jsonl::object(content).map_err(broken)?;
        let mut cells = Vec::with_capacity(wanted.columns.len());
        for (field, column) in &wanted.columns {
            let name = column.to_string();
            cells.push(match object.get(&name) {
                Some(Value::String(text)) => Some(text.trim().to_owned()),
                Some(Value::Number(number)) => Some(number.to_string()),
                Some(Value::Bool(is_so)) => Some(is_so.to_string()),
                Some(Value::Null) => None,
                Some(other) => {
                    let path = wanted.path.to_owned();
                    let found = jsonl::kind(other);
                    return Err(TableError::NoCell { path, line, field, column: name, found }.into());
                }
                None => return Err(wanted.missing(field, column, line, object.keys().cloned().collect()).into()),
            });
        }
        let mut cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        let label = cells.pop().flatten();
        rows.push(&cells.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(), label, line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use parquet::basic::Compression as Packing;
    use tempfile::TempDir;

    use super::super::parquet::tests::write;
    use super::*;
    use crate::config::TableSource;

    fn of(TableSource { text, label, header, .. }: &TableSource) -> TableColumns<'_> {
        TableColumns { texts: text, label, header: *header }
    }

    fn columns(text: &[&str], label: &str) -> TableSource {
        let text = text.iter().map(|name| Column::named(name)).collect();
        TableSource { text, label: Column::named(label), ..TableSource::default() }
    }

    fn load_as(name: &str, content: &str, source: &TableSource, judged: Judged) -> Result<LabelledRows, DataError> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut packed = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
            packed.write_all(content.as_bytes()).unwrap();
            packed.finish().unwrap();
        } else {
            std::fs::write(&path, content).unwrap();
        }
        load_rows(&path, of(source), judged, &Reading::default(), &Silent)
    }

    fn load(name: &str, content: &str, source: &TableSource) -> Result<Vec<String>, DataError> {
        let rows = load_as(name, content, source, Judged::Classes)?;
        let texts: Vec<&str> = rows.texts.iter().collect();
        let each = texts.chunks(source.text.len()).zip(&rows.labels);
        Ok(each.map(|(texts, (label, line))| format!("{line}: {} = {label}", texts.join(" | "))).collect())
    }

    #[test]
    fn tables_in_every_layout_are_read() {
        let one = columns(&["sentence"], "label");
        assert_eq!(
            load("a.tsv", "sentence\tlabel\nfine \t1\r\n\"bad\t0\n", &one).unwrap(),
            ["2: fine = 1", "3: \"bad = 0"]
        );
        assert_eq!(load("a.tsv.gz", "\u{feff}label\tsentence\n1\tfine\n", &one).unwrap(), ["2: fine = 1"]);
        let csv = "id,sentence,label\n1,\"fine, and\nso on\",good\n2,bad,\" poor\"\n";
        assert_eq!(load("a.csv", csv, &one).unwrap(), ["2: fine, and\nso on = good", "4: bad = poor"]);
        let two = columns(&["premise", "hypothesis"], "gold");
        let json = "{\"premise\": \"a\", \"gold\": 2, \"hypothesis\": \"b\"}\n\n{\"premise\":\"c\",\"hypothesis\":\"d\",\"gold\":\"x\"}";
        assert_eq!(load("a.jsonl", json, &two).unwrap(), ["1: a | b = 2", "3: c | d = x"]);
    }

    #[test]
    fn a_parquet_table_gives_the_rows_of_the_same_json_lines() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.parquet");
        let rows = [("ok, \"so\"\nsaid ", 1, Some(0.5)), ("no", 0, Some(-2.5)), (" ", 1, Some(1.0)), ("über", 1, None)];
        write(&path, &rows, Packing::SNAPPY);
        let load = |source: &TableSource, judged| load_rows(&path, of(source), judged, &Reading::default(), &Silent);
        let by_class = columns(&["sentence"], "label");
        let found = load(&by_class, Judged::Classes).unwrap();
        assert_eq!(found.texts.iter().collect::<Vec<_>>(), ["ok, \"so\"\nsaid", "no", "über"]);
        assert_eq!(found.labels, [("1".to_owned(), 1), ("0".to_owned(), 2), ("1".to_owned(), 4)]);
        assert_eq!((found.has_header, found.without_text, found.first_without_text), (false, 1, 3));
        let json = [
            r#"{"sentence": "ok, \"so\"\nsaid ", "label": 1}"#,
            r#"{"label": 0, "sentence": "no"}"#,
            r#"{"sentence": " ", "label": 1}"#,
            r#"{"sentence": "über", "label": 1}"#,
        ]
        .join("\n");
        assert_eq!(load_as("a.jsonl", &json, &by_class, Judged::Classes).unwrap(), found);
        // Numbers that are learnt; a row that has none.
        let by_mark = columns(&["sentence"], "mark");
        let found = load(&by_mark, Judged::Numbers).unwrap();
        assert_eq!((found.labels.len(), found.without_label, found.first_without_label), (2, 1, 4));
        write(&path, &rows[..2], Packing::UNCOMPRESSED);
        let found = load(&by_mark, Judged::Numbers).unwrap();
        assert_eq!(found.labels, [("0.5".to_owned(), 1), ("-2.5".to_owned(), 2)]);
        let told = load(&columns(&["sentense"], "label"), Judged::Classes).unwrap_err().to_string();
        let wanted = ["no column `sentense`", "Did you mean `sentence`?", "data.text", "a.parquet"];
        assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
    }

    #[test]
    fn a_header_is_told_from_a_row_by_the_labels() {
        let by_number = columns(&["3"], "1");
        // CoLA: no header.
        let cola = "gj04\t1\t\tOne.\ngj04\t0\t*\tTwo.\ngj04\t1\t\tThree.\n";
        assert_eq!(load("a.tsv", cola, &by_number).unwrap().len(), 3);
        assert_eq!(load("a.tsv", &format!("source\tlabel\tmark\ttext\n{cola}"), &by_number).unwrap().len(), 3);
        let words = "good\tfine\nbad\tpoor\ngood\tnice\n";
        let source = columns(&["1"], "0");
        assert_eq!(load("a.tsv", words, &source).unwrap().len(), 3);
        assert_eq!(load("a.tsv", &format!("label\ttext\n{words}"), &source).unwrap().len(), 3);
        let said = |header| TableSource { header: Some(header), ..source.clone() };
        assert_eq!(load("a.tsv", words, &said(true)).unwrap().len(), 2);
        assert_eq!(load("a.tsv", &format!("label\ttext\n{words}"), &said(false)).unwrap().len(), 4);
        let numbers = "score\ttext\n0.5\ta\n0.25\tb\n";
        assert_eq!(load_as("a.tsv", numbers, &source, Judged::Numbers).unwrap().labels.len(), 2);
        assert_eq!(load_as("a.tsv", &numbers[11..], &source, Judged::Numbers).unwrap().labels.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_told_by_file_line_and_field() {
        let source = columns(&["sentence"], "label");
        let said = |name: &str, content: &str| load(name, content, &source).unwrap_err().to_string();
        for (told, wanted) in [
            (
                said("a.tsv", "sentense\tlabel\nx\t1\n"),
                vec!["no column `sentence`", "Did you mean `sentense`?", "`label`", "data.text", "a.tsv"],
            ),
            (said("a.tsv", "sentence\ty\nx\t1\n"), vec!["no column `label`", "`sentence`, `y`", "data.label"]),
            (
                said("a.tsv", "sentence\tlabel\nx\t1\nz\n"),
                vec!["Line 3 has 1 cell", "column `label` (data.label)", "a.tsv"],
            ),
            (said("a.tsv", "sentence\tlabel\nx\t1\nz\t\n"), vec!["Line 3 has no label", "data.label"]),
            (said("a.tsv", "sentence\tlabel\nx\t-1\nz\t-1\n"), vec!["No row has a label", "headroom predict"]),
            (said("a.tsv", "sentence\tlabel\n"), vec!["There is no text in it"]),
            (said("a.tsv", "\n"), vec!["There is no text in it"]),
            (said("a.txt", "x"), vec![".tsv, .csv, .jsonl or .parquet"]),
            (said("a.orc", "x"), vec![".tsv, .csv, .jsonl or .parquet"]),
            (
                said("a.jsonl", "{\"sentence\": \"x\", \"label\": [1]}"),
                vec!["On line 1 `label` (data.label) is a list"],
            ),
            (said("a.jsonl", "{\"sentence\": \"x\"}"), vec!["no column `label`", "Line 1 has `sentence`"]),
            (said("a.jsonl", "x"), vec!["Line 1 is not a JSON object"]),
            (said("a.csv", "sentence,label\n\"x,1\ny,0\n"), vec!["never closed"]),
        ] {
            assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
        }
        let by_number = columns(&["0"], "7");
        assert!(load("a.tsv", "x\t1\n", &by_number).unwrap_err().to_string().contains("no column `7`"));
        let folder = TempDir::new().unwrap();
        let told = load_rows(folder.path(), of(&source), Judged::Classes, &Reading::default(), &Silent)
            .unwrap_err()
            .to_string();
        assert!(told.contains("It is a folder"), "{told}");
    }

    #[test]
    fn rows_without_text_are_left_out_and_counted() {
        let source = columns(&["a", "b"], "label");
        let rows =
            load_as("a.tsv", "a\tb\tlabel\nx\ty\t1\n \ty\t0\nx\t\t1\nx\tz\t0\n", &source, Judged::Classes).unwrap();
        assert_eq!((rows.labels.len(), rows.texts.len(), rows.without_text, rows.first_without_text), (2, 4, 2, 3));
    }
}
