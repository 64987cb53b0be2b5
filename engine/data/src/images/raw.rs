//! Files as bytes, gzipped or not.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::ImageError;
use crate::{DataError, memory, open_file};

/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes held at once for each byte of images: what was read, and its two parts.
const COPIES: u64 = 2;

/// Bytes that are taken at once for what is unpacked.
const SMALL: u64 = 1 << 20;

/// The largest PNG or JPEG file.
const LARGEST_IMAGE: u64 = 64 << 20;

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
        // What a packed file says of its size is no reason to take as much.
        let expected = if self.is_gzipped { self.expected.min(SMALL) } else { self.expected };
        let mut bytes = Vec::with_capacity(expected.min(most).min(1 << 32) as usize);
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

/// The whole of a file of one image, which is no larger than any of the largest sides.
pub(super) fn read_image(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut raw = Raw::open(path)?;
    let bytes = raw.read(LARGEST_IMAGE + 1, path)?;
    if bytes.len() as u64 > LARGEST_IMAGE {
        let why = format!("it has more than the {} that are read of an image", memory::words(LARGEST_IMAGE));
        return Err(ImageError::Undecodable { path: path.to_owned(), why }.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holes of many gigabytes were read before they were no image.
    #[test]
    fn the_file_of_an_image_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n").unwrap();
        let length = |bytes: u64| std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        length(LARGEST_IMAGE);
        assert_eq!(read_image(&path).unwrap().len() as u64, LARGEST_IMAGE);
        for bytes in [LARGEST_IMAGE + 1, 1 << 40] {
            length(bytes);
            assert!(read_image(&path).unwrap_err().to_string().contains("64.0 MiB"));
        }
    }
}
