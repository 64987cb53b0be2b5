//! A figure as PNG: the SVG, rendered with the built-in fonts, so that both are the same picture everywhere.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use anyhow::{Context as _, Result, ensure};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::{Drawing, Figure, to_svg};

/// The most pixels a figure may have: 16,384 x 16,384.
const MOST_PIXELS: f64 = 16_384.0 * 16_384.0;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    for font in egui::FontDefinitions::default().font_data.values() {
        fonts.load_font_data((*font.font).as_ref().to_vec());
    }
    // Whatever a reader's SVG viewer would take, here every text is set in the built-in face.
    fonts.set_sans_serif_family("Ubuntu");
    Arc::new(fonts)
});

/// Parses an SVG with the built-in fonts.
pub(super) fn parse(svg: &str) -> Result<usvg::Tree> {
    let options =
        usvg::Options { fontdb: Arc::clone(&FONTS), font_family: "Ubuntu".to_owned(), ..usvg::Options::default() };
    usvg::Tree::from_str(svg, &options).context("The figure could not be laid out.")
}

/// The figure as a PNG file with `scale` pixels per point (1 to 8; 2 is good for screens, 4 for print). The metadata
/// is kept in `iTXt` chunks, one per key.
pub fn to_png(figure: &Figure, scale: f32) -> Result<Vec<u8>> {
    let pixels = render(&to_svg(figure), scale)?;
    let png = pixels.encode_png().context("The picture could not be compressed.")?;
    Ok(with_metadata(png, &figure.title, &figure.metadata))
}

/// A drawing as a PNG file, in the same way.
pub fn drawing_to_png(drawing: &Drawing, scale: f32) -> Result<Vec<u8>> {
    let png = render(&drawing.svg, scale)?.encode_png().context("The picture could not be compressed.")?;
    Ok(with_metadata(png, &drawing.title, &drawing.metadata))
}

/// An SVG as pixels, `scale` of them per point.
pub(super) fn render(svg: &str, scale: f32) -> Result<Pixmap> {
    ensure!(scale.is_finite() && (0.1..=16.0).contains(&scale), "The scale must lie between 0.1 and 16, not {scale}.");
    let tree = parse(svg)?;
    let size = tree.size();
    let (width, height) = ((size.width() * scale).round(), (size.height() * scale).round());
    ensure!(
        f64::from(width) * f64::from(height) <= MOST_PIXELS,
        "A picture of {width} x {height} pixels is too large. Choose a smaller scale."
    );
    let mut pixels = Pixmap::new(width as u32, height as u32)
        .with_context(|| format!("No picture of {width} x {height} pixels can be made. Choose another scale."))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    Ok(pixels)
}

/// Inserts one `iTXt` chunk per metadata entry after the header chunk.
pub(super) fn with_metadata(png: Vec<u8>, title: &str, metadata: &BTreeMap<String, String>) -> Vec<u8> {
    // Signature (8) and IHDR (4 length + 4 type + 13 data + 4 checksum).
    const HEADER: usize = 8 + 25;
    let Some((header, rest)) = png.split_at_checked(HEADER) else { return png };
    let mut out = header.to_vec();
    let title = ("Title".to_owned(), title.to_owned());
    let entries = metadata.iter().map(|(k, v)| (k.clone(), v.clone()));
    for (key, value) in std::iter::once(title).chain(entries).filter(|(_, value)| !value.is_empty()) {
        // Keywords are 1 to 79 Latin-1 characters; ASCII is enough here.
        let keyword: String = key.chars().filter(char::is_ascii_graphic).take(79).collect();
        if keyword.is_empty() {
            continue;
        }
        let mut chunk = b"iTXt".to_vec();
        chunk.extend(keyword.as_bytes());
        // End of keyword, not compressed, method 0, no language, no translated keyword.
        chunk.extend([0, 0, 0, 0, 0]);
        chunk.extend(value.as_bytes());
        out.extend((chunk.len() as u32 - 4).to_be_bytes());
        out.extend(&chunk);
        out.extend(crc32fast::hash(&chunk).to_be_bytes());
    }
    out.extend(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::super::figure::examples::{log_losses, losses};
    use super::*;

    fn close(a: egui::Color32, r: u8, g: u8, b: u8) -> bool {
        a.r().abs_diff(r) < 12 && a.g().abs_diff(g) < 12 && a.b().abs_diff(b) < 12
    }

    #[test]
    fn it_shows_every_series_in_its_colour() {
        let figure = losses();
        let png = to_png(&figure, 2.0).unwrap();
        let pixels = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (1440, 900));
        for series in &figure.series {
            let found = pixels.pixels().iter().filter(|p| close(series.colour, p.red(), p.green(), p.blue())).count();
            assert!(found > 300, "{} has only {found} pixels", series.name);
        }
        let dark = pixels.pixels().iter().filter(|p| p.red() < 110 && p.green() < 110 && p.blue() < 110).count();
        assert!(dark > 1_000, "the text is missing: {dark} dark pixels");
        assert_eq!(pixels.pixel(0, 0).map(|p| (p.red(), p.alpha())), Some((255, 255)));
    }

    #[test]
    fn metadata_travels_with_it() {
        let png = to_png(&losses(), 1.0).unwrap();
        let text = "config\0\0\0\0\0format = 1\nname = \"a <b> & c\"";
        assert!(png.windows(text.len()).any(|w| w == text.as_bytes()));
        assert!(Pixmap::decode_png(&png).is_ok(), "a reader checks the checksum of each chunk");
    }

    #[test]
    fn impossible_scales_are_refused() {
        assert!(to_png(&losses(), 0.0).is_err());
        assert!(to_png(&losses(), f32::NAN).is_err());
        let huge = Figure { size: (1e5, 1e5), ..losses() };
        assert!(to_png(&huge, 4.0).unwrap_err().to_string().contains("too large"));
    }

    /// Writes pictures to look at: `cargo test -p headroom-figures --lib look_at -- --ignored`.
    #[test]
    #[ignore = "writes pictures for people to look at"]
    fn look_at_the_figures() {
        for (name, figure) in [("linear", losses()), ("log", log_losses())] {
            let path = std::env::temp_dir().join(format!("headroom-figure-{name}.png"));
            std::fs::write(path, to_png(&figure, 2.0).unwrap()).unwrap();
        }
    }
}
