use anyhow::{Context as _, Result};
use resvg::tiny_skia::{FilterQuality, Pixmap, PixmapPaint, PremultipliedColorU8, Transform};

use super::{MapFigure, svg::document};
use crate::export::png::{render, with_metadata};

/// The cells that are shown, a pixel each; none where there are none.
pub(super) fn map_pixels(figure: &MapFigure) -> Option<Pixmap> {
    let (rows, columns) = (figure.rows.len(), figure.columns.len());
    let mut pixels = Pixmap::new(columns as u32, rows as u32)?;
    let cells = figure.rows.clone().flat_map(|row| figure.columns.clone().map(move |column| (row, column)));
    for (pixel, (row, column)) in pixels.pixels_mut().iter_mut().zip(cells) {
        let colour = figure.tone.colour(figure.data.at(row, column));
        let opaque = colour.and_then(|colour| PremultipliedColorU8::from_rgba(colour.r(), colour.g(), colour.b(), 255));
        *pixel = opaque.unwrap_or(PremultipliedColorU8::TRANSPARENT);
    }
    Some(pixels)
}

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
