//! Files as bytes, gzipped or not.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::data::{DataError, memory, open_file};

/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes held at once for each byte of images: what was read, and its two parts.
const COPIES: u64 = 2;

/// A file that is read from its beginning, unpacked where it is gzipped.
pub(super) struct Raw {
    source: Box<dyn Read>,
    is_gzipped: bool,
    /// Bytes when unpacked, as far as the file says: a gzip file says it modulo 4 GiB.
    pub(super) expected: u64,
}

impl Raw {
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let wrong = |error: io::Error| DataError::unreadable(path, &error);
        let mut file = open_file(path).map_err(wrong)?;
        let packed = file.metadata().map_err(wrong)?.len();
        let mut first = [0; 2];
        let is_gzipped = file.read_exact(&mut first).is_ok() && first == GZIP;
        let mut expected = packed;
        if is_gzipped {
            let mut size = [0; 4];
            file.seek(SeekFrom::End(-4)).map_err(wrong)?;
            file.read_exact(&mut size).map_err(wrong)?;
            expected = u64::from(u32::from_le_bytes(size));
        }
        file.seek(SeekFrom::Start(0)).map_err(wrong)?;
        let source: Box<dyn Read> = if is_gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { source, is_gzipped, expected })
    }

    /// The next bytes, `most` at most.
    pub(super) fn read(&mut self, most: u64, path: &Path) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::with_capacity(self.expected.min(most).min(1 << 32) as usize);
        self.source.by_ref().take(most).read_to_end(&mut bytes).map_err(|error| {
            if self.is_gzipped {
                DataError::BrokenGzip { path: path.to_owned(), why: error.to_string() }
            } else {
                DataError::unreadable(path, &error)
            }
        })?;
        Ok(bytes)
    }
}

/// The whole of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut raw = Raw::open(path)?;
    let available_bytes = memory::free_bytes().unwrap_or(u64::MAX);
    let room = available_bytes / COPIES;
    let bytes = raw.read(room.saturating_add(1), path)?;
    if bytes.len() as u64 > room {
        let needed_bytes = raw.expected.max(bytes.len() as u64).saturating_mul(COPIES);
        return Err(DataError::TooLarge { path: Some(path.to_owned()), needed_bytes, available_bytes });
    }
    Ok(bytes)
}
