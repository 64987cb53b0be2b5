//! What a file of images is, by its bytes.

use std::path::Path;

use image::ImageFormat;

use super::{cifar, idx, raw::Raw};
use crate::DataError;
use crate::ImageError;

/// A file of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers of some dimensions (the format of MNIST).
    Idx,
    /// Binaries of CIFAR-10 or CIFAR-100.
    Cifar,
    /// A single image.
    Single(ImageFormat),
}

impl Kind {
    /// By the first bytes and the length of a file. A CIFAR file that happens to begin as an IDX file does has another length than
    /// that would have.
    pub(super) fn of(first: &[u8], length: usize) -> Option<Self> {
        if let Some(format) = single(first) {
            return Some(Self::Single(format));
        }
        let is_cifar = cifar::bytes_of_image(length).is_some();
        match idx::Header::read(first) {
            Some(header) if !is_cifar || header.length() == Some(length) => Some(Self::Idx),
            _ if is_cifar => Some(Self::Cifar),
            _ => None,
        }
    }

    pub(super) fn require(first: &[u8], bytes: usize, path: &Path) -> Result<Self, ImageError> {
        Self::of(first, bytes).ok_or_else(|| ImageError::UnknownKind { path: path.to_owned(), bytes })
    }
}

/// Whether the bytes begin as a PNG or JPEG file, and which.
pub(super) fn single(first: &[u8]) -> Option<ImageFormat> {
    if first.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(ImageFormat::Png)
    } else if first.starts_with(&[0xff, 0xd8, 0xff]) {
        Some(ImageFormat::Jpeg)
    } else {
        None
    }
}

/// The first bytes of a file, unpacked, and its length as far as it says.
pub(super) fn beginning(path: &Path) -> Result<(Vec<u8>, usize), DataError> {
    let mut raw = Raw::open(path)?;
    let expected = usize::try_from(raw.expected).unwrap_or(usize::MAX);
    Ok((raw.read(idx::LONGEST_HEADER as u64, path)?, expected))
}

/// Whether a file holds many images: an IDX or a CIFAR file.
pub(super) fn holds_many(path: &Path) -> bool {
    path.is_file()
        && beginning(path).is_ok_and(|(first, length)| match Kind::of(&first, length) {
            Some(Kind::Idx) => idx::Header::read(&first).is_some_and(|header| header.dimensions.len() == 3),
            Some(Kind::Cifar) => !is_text(path),
            Some(Kind::Single(_)) | None => false,
        })
}

/// Whether a path is a folder, or a file of images: what is no text.
pub fn holds_images(path: &Path) -> bool {
    path.is_dir()
        || beginning(path).is_ok_and(|(first, length)| {
            // A text may have the length of CIFAR images; it has no zeros.
            Kind::of(&first, length).is_some_and(|kind| kind != Kind::Cifar || !is_text(path))
        })
}

fn is_text(path: &Path) -> bool {
    const LOOKED_AT: u64 = 4096;
    Raw::open(path).and_then(|mut raw| raw.read(LOOKED_AT, path)).is_ok_and(|bytes| {
        std::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none(), |_| true) && !bytes.contains(&0)
    })
}
