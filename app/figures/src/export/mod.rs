//! Exported figures: SVG with real text, PNG rendered from that SVG (so both are the same picture), and
//! CSV of exactly what is shown. A chart makes a [`Figure`], a heat map a [`MapFigure`], any other drawing a [`Drawing`]; the
//! files are written by whoever asked for them.

mod csv;
mod figure;
mod map;
mod png;
mod svg;
mod text_table;

pub use csv::to_csv;
pub use figure::{Drawing, Figure, FigureAxis, FigureSeries, WholeRange};
pub use map::{MapBlocks, MapFigure, map_to_csv, map_to_png, map_to_svg};
pub use png::{drawing_to_png, to_png};
pub use svg::{ArcsFigure, FigureArc, ParallelFigure, ParallelFigureAxis, ParallelFigureLine, to_svg};
pub use text_table::{Cell, TextTable};
