//! Figures that leave the program: SVG with real text, PNG rendered from that SVG (so both are the same picture), and
//! CSV of exactly what is shown. A chart makes a [`Figure`], any other drawing a [`Drawing`]; the files are written by whoever asked for them.

mod csv;
mod drawing;
mod figure;
mod png;
mod svg;

pub use csv::to_csv;
pub use drawing::Drawing;
pub use figure::{Figure, FigureAxis, FigureSeries};
pub use png::{drawing_to_png, to_png};
pub use svg::{ParallelFigure, ParallelFigureAxis, ParallelFigureLine, to_svg};
