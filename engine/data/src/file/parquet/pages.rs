//! Pages of a Parquet file: the sizes in their headers are held against the file before the library reads a part of it, and what
//! is in them before it is decoded.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
};

use parquet::{
    basic::{Compression, Encoding, Type},
    bloom_filter::Sbbf,
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
    file::{
        metadata::{ColumnChunkMetaData, RowGroupMetaData},
        reader::RowGroupReader,
    },
    record::reader::RowIter,
    schema::types::Type as SchemaType,
};

use super::thrift::{Compact, I32};
use crate::memory::words;

/// The most bytes of a page when unpacked, and of one whose values share their beginnings.
const LARGEST_PAGE: u64 = 256 << 20;
const LARGEST_SHARING_PAGE: usize = 8 << 20;

/// The most bytes of a page's header: texts in it are the least and the greatest value of the page.
const LARGEST_HEADER: u64 = 1 << 20;

/// Bytes of a header that are looked at first.
const USUAL_HEADER: u64 = 1 << 10;

/// Bytes that one value of a row takes beside its text.
const VALUE_BYTES: u64 = 64;

/// Copies of a value on its way: its page, the row and the line of JSON.
const COPIES: u64 = 3;

/// Largest ratio of unpacked to packed bytes.
fn most_unpacked(compression: Compression, packed: u64) -> u64 {
    packed.saturating_mul(match compression {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 32,
        Compression::GZIP(_) => 1100,
        _ => 1 << 16,
    })
}

/// Header of a page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    unpacked: i64,
    packed: i64,
    /// Bytes of the header itself.
    length: u64,
}

/// The header at the beginning of some bytes; none where it goes on behind them, or is damaged.
fn header(bytes: &[u8]) -> Option<Header> {
    let (mut compact, mut last, mut found) = (Compact::new(bytes), 0, Header::default());
    loop {
        match compact.field(&mut last)? {
            (_, 0) => break,
            (2, I32) => found.unpacked = compact.signed()?,
            (3, I32) => found.packed = compact.signed()?,
            (_, kind) => compact.skip(kind)?,
        }
    }
    found.length = compact.position() as u64;
    Some(found)
}

/// Bytes of the two largest pages of a column, unpacked: they are held at once, values and those that values point to.
///
/// # Errors
/// If a page is larger than the file has room for, or than any.
fn largest_pages(file: &File, bytes: u64, column: &ColumnChunkMetaData) -> std::result::Result<u64, String> {
    let damaged = || "its pages are damaged".to_owned();
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let (start, length) =
        u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok()).ok_or_else(damaged)?;
    let end = start.checked_add(length).filter(|end| *end <= bytes).ok_or_else(damaged)?;
    let (mut at, mut largest, mut second) = (start, 0, 0);
    while at < end {
        let page = read_header(file, at, end)?;
        let sizes = u64::try_from(page.packed).ok().zip(u64::try_from(page.unpacked).ok());
        let (packed, unpacked) = sizes.ok_or_else(damaged)?;
        let next = at.checked_add(page.length).and_then(|at| at.checked_add(packed));
        at = next.filter(|next| *next <= end).ok_or_else(damaged)?;
        if unpacked > LARGEST_PAGE {
            return Err(format!(
                "a page of it has {}, more than the {} that are read",
                words(unpacked),
                words(LARGEST_PAGE)
            ));
        }
        if unpacked > most_unpacked(column.compression(), packed) {
            return Err(format!("a page of {} cannot become {}", words(packed), words(unpacked)));
        }
        if unpacked > largest {
            (largest, second) = (unpacked, largest);
        } else {
            second = second.max(unpacked);
        }
    }
    Ok(largest + second)
}

fn read_header(mut file: &File, at: u64, end: u64) -> std::result::Result<Header, String> {
    for most in [USUAL_HEADER, LARGEST_HEADER] {
        let mut bytes = Vec::new();
        let _ = file.seek(SeekFrom::Start(at)).map_err(|error| error.to_string())?;
        let _ = file.take((end - at).min(most)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if let Some(found) = header(&bytes) {
            return Ok(found);
        }
    }
    Err("the header of a page is damaged, or larger than any".to_owned())
}

/// Checks the pages of a part of a file of so many bytes, and returns the memory that reading its rows takes.
///
/// # Errors
/// Fault of a page, as the end of a sentence.
pub(super) fn check(file: &File, bytes: u64, group: &RowGroupMetaData) -> std::result::Result<u64, String> {
    if group.num_columns() == 0 {
        return Err("it has no columns".to_owned());
    }
    let mut needed: u64 = 0;
    for column in group.columns() {
        needed = needed.saturating_add(largest_pages(file, bytes, column)?);
    }
    Ok(needed.saturating_mul(COPIES))
}

/// A part of a file whose pages are checked before they are decoded.
pub(super) struct CheckedGroup<'a> {
    group: Box<dyn RowGroupReader + 'a>,
    /// Bytes that the values of one column may take in one row.
    most_in_row: u64,
}

impl<'a> CheckedGroup<'a> {
    /// Rows may take so much memory.
    pub(super) fn new(group: Box<dyn RowGroupReader + 'a>, memory: u64) -> Self {
        let repeated = group.metadata().columns().iter().filter(|column| column.column_descr().max_rep_level() > 0);
        let most_in_row = memory / COPIES / repeated.count().max(1) as u64;
        Self { group, most_in_row }
    }
}

impl RowGroupReader for CheckedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.group.metadata()
    }

    fn num_columns(&self) -> usize {
        self.group.num_columns()
    }

    fn get_column_page_reader(&self, column: usize) -> Result<Box<dyn PageReader>> {
        let pages = self.group.get_column_page_reader(column)?;
        let described = self.metadata().column(column).column_descr();
        Ok(Box::new(CheckedPages {
            pages,
            kind: described.physical_type(),
            width: u64::try_from(described.type_length()).unwrap_or_default(),
            levels: [described.max_rep_level(), described.max_def_level()],
            most_in_row: self.most_in_row,
            largest_text: 0,
            in_row: 0,
        }))
    }

    fn get_column_bloom_filter(&self, _column: usize) -> Option<&Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

/// Pages of a column, each checked before it is handed on.
struct CheckedPages {
    pages: Box<dyn PageReader>,
    kind: Type,
    /// Bytes of a value of fixed length.
    width: u64,
    /// The deepest repetition and definition.
    levels: [i16; 2],
    most_in_row: u64,
    /// Bytes of the longest text that values point to.
    largest_text: u64,
    /// Values of the row that the last page ended in.
    in_row: u64,
}

fn refused<T>(why: &str) -> Result<T> {
    Err(ParquetError::General(why.to_owned()))
}

impl CheckedPages {
    fn check(&mut self, page: &Page) -> Result<()> {
        let values = u64::from(page.num_values());
        let bytes = page.buffer().as_ref();
        if let Page::DictionaryPage { .. } = page {
            return self.check_dictionary(values, bytes);
        }
        let (repetition, rest) =
            self.split(page, bytes).ok_or(()).or_else(|()| refused("the levels of a page are damaged"))?;
        let [deepest, _] = self.levels;
        if deepest > 0 {
            let longest = self.longest_row(repetition, deepest.unsigned_abs().ilog2() + 1, values);
            if longest.saturating_mul(VALUE_BYTES + self.largest_text) > self.most_in_row {
                return refused("a row of it takes more memory than is free");
            }
        }
        match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => lengths(rest, values).map(drop),
            Encoding::DELTA_BYTE_ARRAY if bytes.len() > LARGEST_SHARING_PAGE => {
                refused("a page of texts that share their beginnings is larger than any")
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let behind = lengths(rest, values)?;
                lengths(rest.get(behind..).unwrap_or_default(), values).map(drop)
            }
            Encoding::PLAIN
            | Encoding::PLAIN_DICTIONARY
            | Encoding::RLE
            | Encoding::RLE_DICTIONARY
            | Encoding::DELTA_BINARY_PACKED
            | Encoding::BYTE_STREAM_SPLIT => Ok(()),
            other => refused(&format!("the encoding {other} is not read")),
        }
    }

    /// Values that others point to: as many as there are bytes for.
    fn check_dictionary(&mut self, values: u64, bytes: &[u8]) -> Result<()> {
        let least = match self.kind {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => self.width.max(1),
        };
        if values.saturating_mul(least) > bytes.len() as u64 {
            return refused("a page says more values than it has");
        }
        let mut rest = bytes;
        while self.kind == Type::BYTE_ARRAY
            && let Some((length, after)) = rest.split_first_chunk::<4>()
        {
            let length = u32::from_le_bytes(*length) as usize;
            let Some(after) = after.get(length..) else { break };
            (self.largest_text, rest) = (self.largest_text.max(length as u64), after);
        }
        Ok(())
    }

    /// The levels of repetition of a page, and its values.
    fn split<'a>(&self, page: &Page, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        if let Page::DataPageV2 { rep_levels_byte_len, def_levels_byte_len, .. } = page {
            let (repetition, rest) = bytes.split_at_checked(*rep_levels_byte_len as usize)?;
            return Some((repetition, rest.get(*def_levels_byte_len as usize..)?));
        }
        let (mut levels, mut rest) = ([&[][..]; 2], bytes);
        for (most, own) in self.levels.iter().zip(&mut levels) {
            if *most > 0 {
                let (length, after) = rest.split_first_chunk::<4>()?;
                (*own, rest) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            }
        }
        Some((levels[0], rest))
    }

    /// Values of the longest row as far as this page shows, by its levels of repetition of `width` bits: 0 begins a row.
    fn longest_row(&mut self, mut levels: &[u8], width: u32, values: u64) -> u64 {
        let (mut longest, mut left) = (self.in_row, values);
        let bytes = width.div_ceil(8) as usize;
        while left > 0 {
            let Some((run, after)) = varint(levels) else { break };
            if run & 1 == 0 {
                let Some((level, after)) = after.split_at_checked(bytes) else { break };
                let count = (run >> 1).min(left);
                if count == 0 {
                    levels = after;
                    continue;
                }
                self.in_row = if level.iter().all(|byte| *byte == 0) { 1 } else { self.in_row.saturating_add(count) };
                longest = longest.max(self.in_row);
                (left, levels) = (left - count, after);
            } else {
                let count = usize::try_from(run >> 1).unwrap_or(usize::MAX).saturating_mul(width as usize);
                let (packed, after) = after.split_at_checked(count).unwrap_or((after, &[]));
                for bit in (0..packed.len() * 8).step_by(width as usize) {
                    if left == 0 {
                        break;
                    }
                    let is_set = |bit: usize| packed.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
                    self.in_row = if (bit..bit + width as usize).any(is_set) { self.in_row + 1 } else { 1 };
                    longest = longest.max(self.in_row);
                    left -= 1;
                }
                levels = after;
            }
        }
        // Levels that are not understood are those of one row.
        self.in_row = self.in_row.saturating_add(left);
        longest.max(self.in_row)
    }
}

/// A number of seven bits a byte, and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut found = 0_u64;
    for (shift, (place, byte)) in (0..64).step_by(7).zip(bytes.iter().enumerate()) {
        found |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((found, bytes.get(place + 1..)?));
        }
    }
    None
}

/// End of lengths that are packed as differences, if there are no more than `values` of them.
fn lengths(bytes: &[u8], values: u64) -> Result<usize> {
    let found = differences(bytes).ok_or(()).or_else(|()| refused("the lengths in a page are damaged"))?;
    let (count, end) = found;
    if count > values { refused("a page says more values than it has") } else { Ok(end) }
}

/// Count and bytes of numbers that are packed as differences: blocks of parts, each with a width of its own.
fn differences(bytes: &[u8]) -> Option<(u64, usize)> {
    let (block, rest) = varint(bytes)?;
    let (parts, rest) = varint(rest)?;
    let (count, rest) = varint(rest)?;
    let (_, mut rest) = varint(rest)?;
    let of_part = block.checked_div(parts)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        if of_part == 0 {
            return None;
        }
        let (_, after) = varint(rest)?;
        let (widths, after) = after.split_at_checked(usize::try_from(parts).ok()?)?;
        rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            let bytes = u64::from(*width).checked_mul(of_part)? / 8;
            // The last part may be cut short.
            rest = rest.get(usize::try_from(bytes).ok()?..).unwrap_or_default();
            left = left.saturating_sub(of_part);
        }
    }
    Some((count, bytes.len() - rest.len()))
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(levels: [i16; 2]) -> CheckedPages {
        struct None;
        impl Iterator for None {
            type Item = Result<Page>;
            fn next(&mut self) -> Option<Self::Item> {
                Option::None
            }
        }
        impl PageReader for None {
            fn get_next_page(&mut self) -> Result<Option<Page>> {
                Ok(Option::None)
            }
            fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
                Ok(Option::None)
            }
            fn skip_next_page(&mut self) -> Result<()> {
                Ok(())
            }
        }
        CheckedPages {
            pages: Box::new(None),
            kind: Type::BYTE_ARRAY,
            width: 0,
            levels,
            most_in_row: 1 << 20,
            largest_text: 0,
            in_row: 0,
        }
    }

    fn dictionary(values: u32, bytes: &[u8]) -> Page {
        Page::DictionaryPage {
            buf: bytes.to_vec().into(),
            num_values: values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }
    }

    fn data(values: u32, encoding: Encoding, bytes: Vec<u8>) -> Page {
        Page::DataPage {
            buf: bytes.into(),
            num_values: values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn a_page_has_room_for_its_values() {
        let texts = [&2_u32.to_le_bytes()[..], b"ab", &5_u32.to_le_bytes(), b"cdefg"].concat();
        let mut pages = pages([0, 0]);
        assert!(pages.check(&dictionary(2, &texts)).is_ok());
        assert_eq!(pages.largest_text, 5);
        assert!(pages.check(&dictionary(u32::MAX, &texts)).is_err());
        // Block 128, 4 parts, 3 numbers, the first 1; then their differences in a part of width 1.
        let three = [vec![0x80, 1, 4, 3, 2, 0, 1, 0, 0, 0], vec![0; 4]].concat();
        assert_eq!(differences(&three), Some((3, three.len())));
        let with = |values, encoding| data(values, encoding, [three.clone(), three.clone()].concat());
        for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
            assert!(pages.check(&with(3, encoding)).is_ok() && pages.check(&with(2, encoding)).is_err());
        }
        let many = |bytes: usize| data(3, Encoding::DELTA_BYTE_ARRAY, [three.repeat(2), vec![0; bytes - 28]].concat());
        assert!(pages.check(&many(LARGEST_SHARING_PAGE)).is_ok());
        assert!(pages.check(&many(LARGEST_SHARING_PAGE + 1)).unwrap_err().to_string().contains("larger than any"));
        assert!(pages.check(&with(3, Encoding::ALP)).unwrap_err().to_string().contains("ALP is not read"));
        for end in 0..three.len() - 4 {
            assert!(lengths(&three[..end], 3).is_err(), "{end}");
        }
        assert!(differences(&[0x80, 1, 0, 3, 2]).is_none(), "no parts");
    }

    /// A row of two thousand million values in some thirty bytes.
    #[test]
    fn the_longest_row_is_known_before_it_is_made() {
        let row = |pages: &mut CheckedPages, levels: &[u8], values| {
            let bytes = [&(levels.len() as u32).to_le_bytes()[..], levels].concat();
            pages.check(&data(values, Encoding::PLAIN, bytes))
        };
        // One 0, then a run of 1.
        let run = |count: u32| {
            let head = [
                count << 1 & 0x7f | 0x80,
                count >> 6 & 0x7f | 0x80,
                count >> 13 & 0x7f | 0x80,
                count >> 20 & 0x7f | 0x80,
                count >> 27,
            ];
            [&[2, 0][..], &head.map(|byte| byte as u8), &[1]].concat()
        };
        let most = (1 << 20) / VALUE_BYTES as u32;
        assert!(row(&mut pages([1, 0]), &run(most - 1), most).is_ok());
        assert!(row(&mut pages([1, 0]), &run(most), most + 1).is_err());
        assert!(row(&mut pages([1, 0]), &run(u32::MAX - 1), u32::MAX).is_err());
        // It goes on from page to page.
        let mut several = pages([1, 0]);
        assert!(row(&mut several, &run(most / 2), most / 2 + 1).is_ok());
        assert!(row(&mut several, &run(most)[2..], most).is_err());
        // Packed by bits: rows of two values.
        let packed = [&[0x80 | 1, 1][..], &[0b1010_1010; 64]].concat();
        let mut bits = pages([1, 0]);
        assert_eq!((bits.longest_row(&packed, 1, 512), bits.in_row), (2, 2));
        // A long text that every value points to counts with each.
        let mut texts = pages([1, 0]);
        texts.largest_text = 1 << 10;
        assert!(row(&mut texts, &run(most - 1), most).unwrap_err().to_string().contains("memory"));
        assert!(row(&mut pages([1, 0]), &[], most + 1).is_err(), "without levels");
    }

    #[test]
    fn headers_of_pages_are_read() {
        // {1: 0, 2: 100, 3: 50, 5: {1: 7}}
        let bytes = [0x15, 0, 0x15, 200, 1, 0x15, 100, 0x2c, 0x15, 14, 0, 0, 9];
        assert_eq!(header(&bytes), Some(Header { unpacked: 100, packed: 50, length: 12 }));
        assert_eq!(header(&bytes[..11]), None);
    }
}
