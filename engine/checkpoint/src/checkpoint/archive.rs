//! Zip archives as `torch.save` writes them: entries that are stored as they are, one behind the other, and a directory at the
//! end. Each size is held against the file's before anything is read.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

use crate::data::memory::words;

/// Marks of the records of an archive.
const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";

/// Bytes of the fixed parts of these records.
const END_BYTES: usize = 22;
const END_64_BYTES: usize = 56;
const LOCATOR_64_BYTES: usize = 20;
const ENTRY_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;

/// The longest comment behind the end of an archive.
const LONGEST_COMMENT: usize = 65_535;

/// The most bytes of the directory: some hundred thousand entries.
const LARGEST_DIRECTORY: u64 = 16 << 20;

/// A number that says: it stands in the extra field of 64 bits.
const ELSEWHERE: u64 = u32::MAX as u64;

/// Reason why an archive is refused, as the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    #[error("it is no file of weights as PyTorch writes them; save it again, best as safetensors")]
    NoArchive,
    #[error("its directory of entries has {}, more than the {} that are read", words(*.0), words(LARGEST_DIRECTORY))]
    LargeDirectory(u64),
    #[error("its directory of entries is cut off or damaged")]
    Damaged,
    #[error("an entry of it is packed or encrypted, which PyTorch never does; save it again, best as safetensors")]
    Packed,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Place of an entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Offset of its own record.
    start: u64,
    bytes: u64,
    is_stored: bool,
}

/// An open archive.
pub(super) struct Archive {
    source: File,
    bytes: u64,
    entries: HashMap<String, Entry>,
}

/// A little-endian number of some bytes at a place of a record; 0 where the record is shorter.
fn number(record: &[u8], place: usize, bytes: usize) -> u64 {
    let found = record.get(place..place.saturating_add(bytes)).unwrap_or_default();
    found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads so many bytes at a place of a file.
fn read_at(mut source: &File, place: u64, bytes: u64) -> Result<Vec<u8>, ArchiveError> {
    let _ = source.seek(SeekFrom::Start(place))?;
    let mut read = Vec::new();
    let taken = source.take(bytes).read_to_end(&mut read)?;
    if taken as u64 == bytes { Ok(read) } else { Err(ArchiveError::Damaged) }
}

impl Archive {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// If it is none, or its directory is damaged or larger than any.
    pub fn open(source: File) -> Result<Self, ArchiveError> {
        let bytes = source.metadata()?.len();
        let (start, length) = directory(&source, bytes)?;
        if length > LARGEST_DIRECTORY {
            return Err(ArchiveError::LargeDirectory(length));
        }
        if start.checked_add(length).is_none_or(|end| end > bytes) {
            return Err(ArchiveError::Damaged);
        }
        let directory = read_at(&source, start, length)?;
        let (mut rest, mut entries) = (directory.as_slice(), HashMap::new());
        while !rest.is_empty() {
            let (name, entry, after) = entry(rest).ok_or(ArchiveError::Damaged)?;
            if entry.start.checked_add(entry.bytes).is_none_or(|end| end > bytes) {
                return Err(ArchiveError::Damaged);
            }
            let _ = entries.insert(name, entry);
            rest = after;
        }
        Ok(Self { source, bytes, entries })
    }

    /// The names of its entries.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Bytes of an entry; none where there is none of that name.
    pub fn bytes_of(&self, name: &str) -> Option<u64> {
        self.entries.get(name).map(|entry| entry.bytes)
    }

    /// Reads `bytes` of an entry from its byte `first` on; none where there are not as many.
    ///
    /// # Errors
    /// If the entry is packed, or its record is damaged.
    pub fn read(&self, name: &str, first: u64, bytes: u64) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(entry) = self.entries.get(name).copied() else { return Ok(None) };
        if !entry.is_stored {
            return Err(ArchiveError::Packed);
        }
        if first.checked_add(bytes).is_none_or(|end| end > entry.bytes) {
            return Ok(None);
        }
        let local = read_at(&self.source, entry.start, LOCAL_BYTES as u64)?;
        if !local.starts_with(&LOCAL) {
            return Err(ArchiveError::Damaged);
        }
        let start = entry.start + LOCAL_BYTES as u64 + number(&local, 26, 2) + number(&local, 28, 2);
        if start + entry.bytes > self.bytes {
            return Err(ArchiveError::Damaged);
        }
        read_at(&self.source, start + first, bytes).map(Some)
    }
}

/// Offset of the directory of entries, and its bytes.
fn directory(source: &File, bytes: u64) -> Result<(u64, u64), ArchiveError> {
    let tail = bytes.min((LONGEST_COMMENT + END_BYTES + LOCATOR_64_BYTES) as u64);
    let tail_start = bytes - tail;
    let tail = read_at(source, tail_start, tail)?;
    let is_end = |place: &usize| {
        let record = tail.get(*place..).unwrap_or_default();
        record.starts_with(&END) && number(record, 20, 2) == (record.len() - END_BYTES) as u64
    };
    let last = tail.len().checked_sub(END_BYTES).ok_or(ArchiveError::NoArchive)?;
    let end = (0..=last).rev().find(is_end).ok_or(ArchiveError::NoArchive)?;
    let record = tail.get(end..).unwrap_or_default();
    let (length, start) = (number(record, 12, 4), number(record, 16, 4));
    let locator = end.checked_sub(LOCATOR_64_BYTES).and_then(|place| tail.get(place..end)).unwrap_or_default();
    if !locator.starts_with(&LOCATOR_64) {
        return Ok((start, length));
    }
    let place = number(locator, 8, 8);
    if place.checked_add(END_64_BYTES as u64).is_none_or(|end| end > bytes) {
        return Err(ArchiveError::Damaged);
    }
    let record = read_at(source, place, END_64_BYTES as u64)?;
    if !record.starts_with(&END_64) {
        return Err(ArchiveError::Damaged);
    }
    Ok((number(&record, 48, 8), number(&record, 40, 8)))
}

/// The first entry of a directory, and what follows it.
fn entry(directory: &[u8]) -> Option<(String, Entry, &[u8])> {
    let record = directory.get(..ENTRY_BYTES).filter(|record| record.starts_with(&ENTRY))?;
    let [name, extra, comment] = [28, 30, 32].map(|place| number(record, place, 2) as usize);
    let (name, rest) = directory.get(ENTRY_BYTES..)?.split_at_checked(name)?;
    let (extra, rest) = rest.split_at_checked(extra)?;
    let (_, rest) = rest.split_at_checked(comment)?;
    let [mut packed, mut bytes, mut start] = [20, 24, 42].map(|place| number(record, place, 4));
    // Numbers of 64 bits stand in the field 1, those alone that do not fit above.
    let mut wide = field(extra, 1).unwrap_or_default();
    for short in [&mut bytes, &mut packed, &mut start] {
        if *short == ELSEWHERE {
            let (own, after) = wide.split_at_checked(8)?;
            (*short, wide) = (number(own, 0, 8), after);
        }
    }
    let (flags, method) = (number(record, 8, 2), number(record, 10, 2));
    let is_stored = method == 0 && flags & 1 == 0 && packed == bytes;
    Some((String::from_utf8_lossy(name).into_owned(), Entry { start, bytes: packed, is_stored }, rest))
}

/// A field among the extra ones.
fn field(mut extra: &[u8], wanted: u64) -> Option<&[u8]> {
    while extra.len() >= 4 {
        let (own, after) = extra.get(4..)?.split_at_checked(number(extra, 2, 2) as usize)?;
        if number(extra, 0, 2) == wanted {
            return Some(own);
        }
        extra = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn written(is_large: bool) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [("a/data.pkl", &b"table"[..]), ("a/data/0", b"0123456789"), ("a/version", b"3\n")] {
            writer.start_file(name, SimpleFileOptions::default().large_file(is_large)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8]) -> Result<Archive, ArchiveError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Archive::open(file)
    }

    #[test]
    fn entries_are_read_from_their_places() {
        for is_large in [false, true] {
            let archive = open(&written(is_large)).unwrap();
            let mut names: Vec<&str> = archive.names().collect();
            names.sort_unstable();
            assert_eq!(names, ["a/data.pkl", "a/data/0", "a/version"]);
            assert_eq!((archive.bytes_of("a/data/0"), archive.bytes_of("a/data/1")), (Some(10), None));
            assert_eq!(archive.read("a/data/0", 3, 4).unwrap().unwrap(), b"3456");
            for (name, first, bytes) in [("a/data/0", 3, 8), ("a/data/0", u64::MAX, 2), ("b", 0, 0)] {
                assert!(archive.read(name, first, bytes).unwrap().is_none());
            }
        }
    }

    #[test]
    fn sizes_that_are_lies_are_refused() {
        let whole = written(false);
        let end = whole.len() - END_BYTES;
        let with = |place: usize, bytes: &[u8]| {
            let mut changed = whole.clone();
            changed[place..place + bytes.len()].copy_from_slice(bytes);
            open(&changed)
        };
        assert!(matches!(with(end + 12, &[0xff, 0xff, 0xff, 0]), Err(ArchiveError::Damaged)), "of 16 MiB");
        assert!(matches!(with(end + 12, &[0xff; 4]), Err(ArchiveError::LargeDirectory(_))));
        assert!(matches!(with(end + 12, &[1, 0, 0, 1]), Err(ArchiveError::LargeDirectory(_))), "one byte more");
        assert!(matches!(with(end + 16, &[0xff; 4]), Err(ArchiveError::Damaged)));
        let first = whole.windows(4).position(|part| part == ENTRY).unwrap();
        assert!(matches!(with(first + 20, &[0xff, 0xff, 0xff, 0x7f]), Err(ArchiveError::Damaged)));
        assert!(matches!(with(first + 10, &[8]).unwrap().read("a/data.pkl", 0, 1), Err(ArchiveError::Packed)));
        assert!(matches!(with(first + 24, &[9]).unwrap().read("a/data.pkl", 0, 1), Err(ArchiveError::Packed)));
        assert!(matches!(with(0, b"KP").unwrap().read("a/data.pkl", 0, 1), Err(ArchiveError::Damaged)));
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                if let Ok(archive) = with(place, &[value]) {
                    let names: Vec<String> = archive.names().map(str::to_owned).collect();
                    for name in names {
                        let bytes = archive.bytes_of(&name).unwrap();
                        drop(archive.read(&name, 0, bytes));
                    }
                }
            }
        }
    }
}
