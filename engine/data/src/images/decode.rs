//! PNG and JPEG files as bytes of pixels.

use std::io::Cursor;
use std::path::Path;

use image::metadata::Orientation;
use image::{ColorType, DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, ImageResult, Limits};

use crate::ImageError;
use crate::config::MOST_SIDE;
use crate::text::shortened;
use crate::{Edition, guard};

/// A decoded image, not yet brought to a number of channels.
pub(super) struct Decoded {
    image: DynamicImage,
    pub(super) size: usize,
    /// 1 or 3.
    pub(super) channels: usize,
}

/// Decodes an image, turned as its EXIF data say: cameras store pictures as the sensor lies. Those of the first edition stay as they are stored.
pub(super) fn decode(bytes: &[u8], format: ImageFormat, edition: Edition, path: &Path) -> Result<Decoded, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MOST_SIDE as u32);
    limits.max_image_height = Some(MOST_SIDE as u32);
    reader.limits(limits.clone());
    let undecodable = |why: String| ImageError::Undecodable {
        path: path.to_owned(),
        why: shortened(why.lines().next().unwrap_or_default(), 200),
    };
    let decode = || -> ImageResult<DynamicImage> {
        let mut decoder = reader.into_decoder()?;
        limits.reserve(decoder.total_bytes())?;
        // Damaged EXIF data say nothing of the pixels.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut image = DynamicImage::from_decoder(decoder)?;
        if edition == Edition::Current {
            image.apply_orientation(orientation);
        }
        Ok(image)
    };
    let decoded = guard::guarded(decode).map_err(|panic| undecodable(panic.to_string()))?;
    let image = decoded.map_err(|error| undecodable(error.to_string()))?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    if width != height {
        return Err(ImageError::NotSquare { path: path.to_owned(), width, height });
    }
    let channels = match image.color() {
        ColorType::L8 | ColorType::La8 | ColorType::L16 | ColorType::La16 => 1,
        _ => 3,
    };
    Ok(Decoded { image, size: width, channels })
}

impl Decoded {
    /// Its pixels, channel by channel. Colours become grey by their luminance; transparency is left out.
    pub(super) fn pixels(&self, channels: usize) -> Vec<u8> {
        if channels == 1 {
            return self.image.to_luma8().into_raw();
        }
        let rgb = self.image.to_rgb8().into_raw();
        (0..3).flat_map(|channel| rgb.iter().skip(channel).step_by(3).copied()).collect()
    }
}
