//! Parquet tables, read as lines of JSON objects: what comes after them need not know that they were columns.

mod footer;
mod pages;
mod thrift;

use std::fs::File;
use std::path::Path;

use parquet::{
    errors::ParquetError,
    file::{
        properties::ReaderProperties,
        reader::{FileReader as _, RowGroupReader as _},
        serialized_reader::{ReadOptionsBuilder, SerializedFileReader},
    },
    record::{Field, Row, reader::TreeBuilder},
};
use serde_json::{Map, Number, Value};

use super::find::{Found, wrong};
use crate::progress::CHUNK;
use crate::text::shortened;
use crate::{DataError, guard, memory, open_file};

/// Values of a column that are decoded at once: texts that share their beginnings are small in the file alone.
const BATCH: usize = 64;

/// Rows as a JSON object a line, in the order of the file; null where a row has no value. `take` is told of every megabyte of them,
/// and of the rest. Ends behind the first row with which there are more than `most` bytes; the second value is whether all rows
/// are there.
///
/// # Errors
/// What cannot be opened or is no Parquet file; what `take` says.
pub(super) fn json_lines(
    found: &Found,
    most: u64,
    mut take: impl FnMut(u64) -> Result<(), DataError>,
) -> Result<(String, bool), DataError> {
    let path = &found.path;
    let (file, reader) = reader(path)?;
    let bytes = file.metadata().map_err(|error| wrong(path, &error))?.len();
    let available_bytes = memory::free_bytes().unwrap_or(u64::MAX);
    guarded(path, || {
        let (mut lines, mut told) = (String::new(), 0);
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number).map_err(|error| broken(path, &error))?;
            let needed_bytes = pages::check(&file, bytes, group.metadata())
                .map_err(|why| DataError::BrokenParquet { path: path.to_owned(), why })?;
            if needed_bytes > available_bytes {
                return Err(DataError::TooLarge { path: Some(path.to_owned()), needed_bytes, available_bytes });
            }
            let group = pages::CheckedGroup::new(group, available_bytes - needed_bytes);
            let columns = group.metadata().schema_descr_ptr();
            let rows = TreeBuilder::new().with_batch_size(BATCH).as_iter(columns, &group);
            for row in rows.map_err(|error| broken(path, &error))? {
                if lines.len() as u64 > most {
                    return Ok((lines, false));
                }
                lines.push_str(&object(&row.map_err(|error| broken(path, &error))?).to_string());
                lines.push('\n');
                if lines.len() - told >= CHUNK {
                    take((lines.len() - told) as u64)?;
                    told = lines.len();
                }
            }
        }
        take((lines.len() - told) as u64)?;
        Ok((lines, true))
    })
}

/// Bytes of a file's columns, unpacked; its size on disk where it cannot be told.
pub(super) fn unpacked_bytes(found: &Found) -> u64 {
    let told: Result<u64, DataError> = reader(&found.path).map(|(_, reader)| {
        let groups = reader.metadata().row_groups();
        groups.iter().map(|group| u64::try_from(group.total_byte_size()).unwrap_or_default()).sum()
    });
    told.unwrap_or_default().max(found.bytes)
}

/// Opens a file whose footer was checked; the first of the two is for what is read beside the library.
fn reader(path: &Path) -> Result<(File, SerializedFileReader<File>), DataError> {
    let mut file = open_file(path).map_err(|error| wrong(path, &error))?;
    let bytes = file.metadata().map_err(|error| wrong(path, &error))?.len();
    footer::check(&mut file, bytes).map_err(|why| DataError::BrokenParquet { path: path.to_owned(), why })?;
    // Statistics of pages would be taken at the length that they say.
    let properties = ReaderProperties::builder().set_read_page_statistics(false).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
    let second = open_file(path).map_err(|error| wrong(path, &error))?;
    let reader = guarded(path, || {
        SerializedFileReader::new_with_options(second, options).map_err(|error| broken(path, &error))
    })?;
    Ok((file, reader))
}

/// The library checks most of what a damaged file says, and not all of it: where it gives up, the file is broken.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, DataError>) -> Result<T, DataError> {
    guard::guarded(read).unwrap_or_else(|_| {
        let why = "its pages are damaged".to_owned();
        Err(DataError::BrokenParquet { path: path.to_owned(), why })
    })
}

fn broken(path: &Path, error: &ParquetError) -> DataError {
    let why = error.to_string();
    let why = why.strip_prefix("Parquet error: ").unwrap_or(&why).trim_end_matches('.');
    let why = shortened(why, 300);
    DataError::BrokenParquet { path: path.to_owned(), why }
}

fn object(row: &Row) -> Value {
    Value::Object(row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
}

/// A cell. Numbers that JSON has not (NaN, infinities) are null; bytes are text where they are UTF-8, and else null.
fn value(field: &Field) -> Value {
    let real = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    match field {
        Field::Null => Value::Null,
        Field::Bool(is_so) => Value::Bool(*is_so),
        Field::Byte(number) => (*number).into(),
        Field::Short(number) => (*number).into(),
        Field::Int(number) | Field::Date(number) | Field::TimeMillis(number) => (*number).into(),
        Field::Long(number)
        | Field::TimestampMillis(number)
        | Field::TimestampMicros(number)
        | Field::TimeMicros(number) => (*number).into(),
        Field::UByte(number) => (*number).into(),
        Field::UShort(number) => (*number).into(),
        Field::UInt(number) => (*number).into(),
        Field::ULong(number) => (*number).into(),
        Field::Float16(number) => real(f64::from(*number)),
        // The shortest decimal of the number that was written, not of its nearest double.
        Field::Float(number) => number.to_string().parse().map_or(Value::Null, real),
        Field::Double(number) => real(*number),
        Field::Decimal(_) => field.to_string().parse().map_or(Value::Null, real),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => bytes.as_utf8().map_or(Value::Null, |text| Value::String(text.to_owned())),
        Field::Group(row) => object(row),
        Field::ListInternal(list) => Value::Array(list.elements().iter().map(value).collect()),
        Field::MapInternal(map) => {
            let entry = |(key, found): &(Field, Field)| {
                let key = value(key);
                (key.as_str().map_or_else(|| key.to_string(), str::to_owned), value(found))
            };
            Value::Object(map.entries().iter().map(entry).collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs::File, sync::Arc};

    use parquet::{
        basic::{Compression, ZstdLevel},
        data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };
    use tempfile::TempDir;

    use super::super::find::Format;
    use super::*;

    /// Writes sentences with a label and a mark, which some have not.
    pub fn write(path: &Path, rows: &[(&str, i64, Option<f64>)], compression: Compression) {
        let schema =
            "message rows { REQUIRED BYTE_ARRAY sentence (UTF8); REQUIRED INT64 label; OPTIONAL DOUBLE mark; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut file = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
        // Two groups of rows, as larger files have.
        for rows in rows.chunks(rows.len().div_ceil(2).max(1)) {
            let mut group = file.next_row_group().unwrap();
            let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row.0)).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
            column.close().unwrap();
            let labels: Vec<i64> = rows.iter().map(|row| row.1).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&labels, None, None).unwrap();
            column.close().unwrap();
            let marks: Vec<f64> = rows.iter().filter_map(|row| row.2).collect();
            let there: Vec<i16> = rows.iter().map(|row| i16::from(row.2.is_some())).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(&marks, Some(&there), None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        file.close().unwrap();
    }

    fn found(path: &Path) -> Found {
        let bytes = std::fs::metadata(path).unwrap().len();
        Found { path: path.to_owned(), format: Format::Parquet, gzipped: false, bytes }
    }

    const ROWS: [(&str, i64, Option<f64>); 3] =
        [("fine, \"so\"\nsaid", 1, Some(0.5)), ("bad", 0, None), ("über", 1, Some(f64::NAN))];

    #[test]
    fn rows_become_objects_however_they_are_packed() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.parquet");
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
            write(&path, &ROWS, compression);
            let mut bytes = 0;
            let count = |line| -> Result<(), DataError> {
                bytes += line;
                Ok(())
            };
            let (lines, is_whole) = json_lines(&found(&path), u64::MAX, count).unwrap();
            let expected = [
                r#"{"label":1,"mark":0.5,"sentence":"fine, \"so\"\nsaid"}"#,
                r#"{"label":0,"mark":null,"sentence":"bad"}"#,
                r#"{"label":1,"mark":null,"sentence":"über"}"#,
            ];
            assert_eq!((lines.lines().collect::<Vec<_>>(), is_whole), (expected.to_vec(), true));
            assert_eq!(bytes, lines.len() as u64);
            let (beginning, is_whole) = json_lines(&found(&path), 1, |_| Ok(())).unwrap();
            assert_eq!((beginning.lines().count(), is_whole), (1, false));
            assert!(unpacked_bytes(&found(&path)) >= found(&path).bytes);
        }
    }

    #[test]
    fn what_is_damaged_is_told_wherever_it_is_cut_or_changed() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.parquet");
        let many: Vec<(String, i64)> = (0..200).map(|n| (format!("a text, number {n}"), n % 3)).collect();
        let rows: Vec<_> = many.iter().map(|(text, label)| (text.as_str(), *label, Some(1.5))).collect();
        write(&path, &rows, Compression::SNAPPY);
        let whole = std::fs::read(&path).unwrap();
        let read = || json_lines(&found(&path), u64::MAX, |_| Ok(()));
        for length in (0..whole.len()).step_by(97) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let told = read().unwrap_err().to_string();
            assert!(told.contains("Parquet") && told.ends_with("a.parquet"), "{length}: {told}");
        }
        // A changed byte may go unnoticed, as in a text; it never ends the program.
        for place in (0..whole.len()).step_by(41) {
            let mut changed = whole.clone();
            changed[place] ^= 0xff;
            std::fs::write(&path, changed).unwrap();
            if let Err(error) = read() {
                assert!(error.to_string().ends_with("a.parquet"), "{place}: {error}");
            }
        }
    }
}
