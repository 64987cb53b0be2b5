//! Figures that leave the program: SVG with real text, PNG rendered from that SVG (so both are the same picture), and
//! CSV of exactly what is shown. A chart makes a [`Figure`], a heat map a [`MapFigure`]; the files are written by whoever asked for them.

mod csv;
mod figure;
mod map;
mod png;
mod svg;

pub use csv::to_csv;
pub use figure::{Figure, FigureAxis, FigureSeries};
pub use map::{MapFigure, map_to_csv, map_to_png, map_to_svg};
pub use png::to_png;
pub use svg::to_svg;
