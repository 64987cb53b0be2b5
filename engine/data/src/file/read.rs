use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::find::{Format, Found, find_among, refuse_binary, wrong};
use super::parquet;
use crate::progress::CHUNK;
use crate::{DataError, memory, open_file};

/// Size of the text in a file. For gzip, what its trailer says (which is modulo 4 GiB), or the packed size where that
/// is more.
pub(super) fn text_bytes(found: &Found) -> u64 {
    if found.format == Format::Parquet {
        return parquet::unpacked_bytes(found);
    }
    if !found.gzipped {
        return found.bytes;
    }
    let trailer = || -> std::io::Result<u32> {
        let mut file = open_file(&found.path)?;
        file.seek(SeekFrom::End(-4))?;
        let mut size = [0; 4];
        file.read_exact(&mut size)?;
        Ok(u32::from_le_bytes(size))
    };
    // A damaged file is reported when it is read.
    trailer().map_or(found.bytes, u64::from).max(found.bytes)
}

/// Size of the text at a path, a folder's of all its files; none where that cannot be told quickly.
pub(crate) fn text_bytes_at(path: &Path) -> Option<u64> {
    /// Files and folders that are looked at.
    const LISTED: usize = 200;
    let found = find_among(path, LISTED).ok().filter(|found| !found.is_cut)?;
    Some(found.files.iter().map(text_bytes).sum())
}

/// The text of a file: unpacked, checked, without byte order mark. It is counted in `room` as it comes, whatever the file
/// says of its size, and what is no text is refused at its first megabyte that shows it. `advance` is told how many bytes
/// came from the disk since the last call.
pub(super) fn read_text(
    found: &Found,
    room: &mut memory::Room,
    mut advance: impl FnMut(u64) -> Result<(), DataError>,
) -> Result<String, DataError> {
    let path = &found.path;
    if found.format == Format::Parquet {
        let (expected, mut read) = (text_bytes(found), 0);
        let lines = parquet::json_lines(found, u64::MAX, |bytes| {
            room.take(bytes, path)?;
            // What is told is a share of the file; its text may be longer than was expected.
            let bytes = bytes.min(expected.saturating_sub(read));
            read += bytes;
            advance((bytes * found.bytes).checked_div(expected).unwrap_or(0))
        });
        return Ok(lines?.0);
    }
    let file = open_file(path).map_err(|error| wrong(path, &error))?;
    let mut source: Box<dyn Read> = if found.gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let expected = text_bytes(found);
    // What a packed file says of its size is no reason to take as much.
    let taken = if found.gzipped { expected.min(found.bytes.saturating_mul(4)) } else { expected };
    let mut bytes = Vec::with_capacity(taken.min(room.left()).min(1 << 32) as usize);
    loop {
        let before = bytes.len();
        source.by_ref().take(CHUNK as u64).read_to_end(&mut bytes).map_err(|error| {
            if found.gzipped {
                DataError::BrokenGzip { path: path.clone(), why: error.to_string() }
            } else {
                wrong(path, &error)
            }
        })?;
        let read = bytes.len() - before;
        if read == 0 {
            break;
        }
        refuse_binary(&bytes, before, path)?;
        room.take(read as u64, path)?;
        advance((read as u64 * found.bytes).checked_div(expected).unwrap_or(0))?;
    }
    to_text(bytes, path)
}

/// Refuses text whose lines end in CR alone: it would be read as one line.
pub(super) fn require_lines(text: &str, path: &Path) -> Result<(), DataError> {
    if text.contains('\n') || !text.trim_end_matches('\r').contains('\r') {
        return Ok(());
    }
    let lines = text.trim_end_matches('\r').split('\r').count();
    Err(DataError::CarriageReturns { path: path.to_owned(), lines })
}

/// Bytes as text: checked, without byte order mark.
pub(super) fn to_text(bytes: Vec<u8>, path: &Path) -> Result<String, DataError> {
    refuse_binary(&bytes, 0, path)?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..offset).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        DataError::NotUtf8 { path: path.to_owned(), offset, line }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
