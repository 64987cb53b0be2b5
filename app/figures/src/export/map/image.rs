use anyhow::{Context as _, Result};
use resvg::tiny_skia::{FilterQuality, PixmapPaint, Transform};

use super::{MapFigure, pixels::map_pixels, svg::document};
use crate::export::png::{render, with_metadata};

/// The figure as PNG with `scale` pixels per point; every cell has sharp edges.
pub fn map_to_png(figure: &MapFigure, scale: f32) -> Result<Vec<u8>> {
    let (svg, place) = document(figure, false);
    let mut picture = render(&svg, scale)?;
    if let Some(cells) = map_pixels(figure) {
        let at = |value: f64| value as f32 * scale;
        let stretch = Transform::from_translate(at(place.left), at(place.top))
            .pre_scale(at(place.width) / cells.width() as f32, at(place.height) / cells.height() as f32);
        // Many cells to a pixel are averaged, few are drawn as they are.
        let is_shrunk = at(place.width) < cells.width() as f32;
        let quality = if is_shrunk { FilterQuality::Bilinear } else { FilterQuality::Nearest };
        let paint = PixmapPaint { quality, ..PixmapPaint::default() };
        picture.draw_pixmap(0, 0, cells.as_ref(), &paint, stretch, None);
    }
    let png = picture.encode_png().context("The picture could not be compressed.")?;
    Ok(with_metadata(png, &figure.title, &figure.metadata))
}
