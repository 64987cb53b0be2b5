//! A figure as SVG: real text, one path per curve, the config in the metadata.

mod axes;
mod curves;
mod document;
mod frame;
mod legend;
mod parallel;
mod ruler;
mod text;

pub use document::to_svg;
pub use parallel::{ParallelFigure, ParallelFigureAxis, ParallelFigureLine};

#[cfg(test)]
mod tests;
