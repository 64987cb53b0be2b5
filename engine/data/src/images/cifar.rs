//! The binaries of CIFAR-10 (Krizhevsky 2009): a byte for the class, then 3,072 of the image, channel by channel; those of
//! CIFAR-100 have a byte for the coarse class before it.

use crate::ImageError;
use crate::config::ImageShape;

/// The shape of its images.
pub(super) const SHAPE: ImageShape = ImageShape { size: 32, channels: 3 };

const PIXELS: usize = 32 * 32 * 3;

/// Classes of CIFAR-10, and the coarse and fine ones of CIFAR-100.
const TEN: u8 = 10;
const COARSE: u8 = 20;
const FINE: u8 = 100;

/// Bytes of each image in a file of so many; none where it is no file of CIFAR images.
pub(super) fn bytes_of_image(length: usize) -> Option<usize> {
    [PIXELS + 1, PIXELS + 2].into_iter().find(|bytes| length > 0 && length.is_multiple_of(*bytes))
}

/// Pixels and classes of all images; of CIFAR-100 the fine classes.
pub(super) fn images(bytes: &[u8], path: &std::path::Path) -> Result<(Vec<u8>, Vec<u8>), ImageError> {
    let unknown = || ImageError::UnknownKind { path: path.to_owned(), bytes: bytes.len() };
    let each = bytes_of_image(bytes.len()).ok_or_else(unknown)?;
    let (mut pixels, mut labels) = (Vec::with_capacity(bytes.len() / each * PIXELS), Vec::new());
    for (number, image) in bytes.chunks_exact(each).enumerate() {
        let (head, body) = image.split_at(each - PIXELS);
        let out_of_range = |label: u8, classes: u8| ImageError::LabelOutOfRange {
            path: path.to_owned(),
            image: number + 1,
            label: usize::from(label),
            classes: usize::from(classes),
            known: "as CIFAR has".to_owned(),
        };
        let label = match *head {
            [label] if label < TEN => label,
            [coarse, fine] if coarse < COARSE && fine < FINE => fine,
            [label] => return Err(out_of_range(label, TEN)),
            [coarse, fine] => {
                return Err(if coarse < COARSE { out_of_range(fine, FINE) } else { out_of_range(coarse, COARSE) });
            }
            _ => return Err(unknown()),
        };
        labels.push(label);
        pixels.extend_from_slice(body);
    }
    Ok((pixels, labels))
}
