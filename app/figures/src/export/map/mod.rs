//! A heat map as a figure: SVG with real text, PNG, CSV of exactly what is shown.

mod csv;
mod figure;
mod image;
mod pixels;
mod svg;

#[cfg(test)]
mod tests;

pub use csv::map_to_csv;
pub use figure::{MapBlocks, MapFigure};
pub use image::map_to_png;
pub use svg::map_to_svg;
