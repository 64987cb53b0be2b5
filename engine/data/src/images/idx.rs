//! IDX files: a header of big-endian numbers, then bytes.

use std::path::Path;

use crate::ImageError;

/// Bytes of the longest header that is read: the magic number and three dimensions.
pub(super) const LONGEST_HEADER: usize = 16;

/// The code of unsigned bytes.
const BYTES: u8 = 8;

/// What an IDX file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    element: u8,
    pub(super) dimensions: Vec<usize>,
}

impl Header {
    /// Of the beginning of a file; none where it is no IDX file.
    pub(super) fn read(first: &[u8]) -> Option<Self> {
        let [0, 0, element, count @ 1..=3, rest @ ..] = first else { return None };
        if ![8, 9, 0x0b, 0x0c, 0x0d, 0x0e].contains(element) {
            return None;
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| (number << 8) | usize::from(*byte));
        let dimensions = rest.chunks_exact(4).take(usize::from(*count)).map(number).collect::<Vec<_>>();
        (dimensions.len() == usize::from(*count)).then_some(Self { element: *element, dimensions })
    }

    /// Bytes of the header.
    pub(super) fn bytes(&self) -> usize {
        4 + 4 * self.dimensions.len()
    }

    /// Bytes of a file of bytes with this header; none where they cannot be counted.
    pub(super) fn length(&self) -> Option<usize> {
        let numbers = self.dimensions.iter().try_fold(1_usize, |product, size| product.checked_mul(*size))?;
        numbers.checked_add(self.bytes())
    }

    /// The numbers and dimensions of images.
    pub(super) fn of_images(&self, path: &Path) -> Result<[usize; 3], ImageError> {
        match (self.element, self.dimensions.as_slice()) {
            (BYTES, &[count, height, width]) if height == width && width > 0 => Ok([count, height, width]),
            (BYTES, &[_, height, width]) => Err(ImageError::NotSquare { path: path.to_owned(), width, height }),
            _ => Err(self.other("a file of images (bytes of three dimensions)", path)),
        }
    }

    fn other(&self, wanted: &'static str, path: &Path) -> ImageError {
        let of = if self.element == BYTES { "bytes" } else { "numbers other than bytes" };
        let dimensions: Vec<String> = self.dimensions.iter().map(ToString::to_string).collect();
        let labels = if self.element == BYTES && dimensions.len() == 1 { ", as a file of labels does" } else { "" };
        let found = format!("{of} of {}{labels}", dimensions.join(" x "));
        ImageError::OtherIdx { path: path.to_owned(), found, wanted }
    }
}

/// The bytes behind the header.
fn content(header: &Header, bytes: &[u8], path: &Path) -> Result<Vec<u8>, ImageError> {
    let wanted = header.length().unwrap_or(usize::MAX);
    if wanted != bytes.len() {
        return Err(ImageError::Length { path: path.to_owned(), wanted, found: bytes.len() });
    }
    Ok(bytes.get(header.bytes()..).unwrap_or_default().to_vec())
}

/// The pixels of all images, and those of a side.
pub(super) fn images(bytes: &[u8], path: &Path) -> Result<(Vec<u8>, usize), ImageError> {
    let header = header(bytes, path)?;
    let [_, _, size] = header.of_images(path)?;
    Ok((content(&header, bytes, path)?, size))
}

/// All labels.
pub(super) fn labels(bytes: &[u8], path: &Path) -> Result<Vec<u8>, ImageError> {
    let header = header(bytes, path)?;
    if header.element != BYTES || header.dimensions.len() != 1 {
        return Err(header.other("a file of labels (bytes of one dimension)", path));
    }
    content(&header, bytes, path)
}

fn header(bytes: &[u8], path: &Path) -> Result<Header, ImageError> {
    Header::read(bytes).ok_or_else(|| {
        let found = if bytes.len() < 8 {
            format!("nothing but {} bytes", bytes.len())
        } else {
            format!("what begins with the bytes {:02x?}, no IDX file's", bytes.get(..4).unwrap_or_default())
        };
        ImageError::OtherIdx { path: path.to_owned(), found, wanted: "an IDX file of bytes" }
    })
}
