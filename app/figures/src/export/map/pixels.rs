//! Maps as pixels.

use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

use super::MapFigure;

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
