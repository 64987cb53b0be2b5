//! A figure as SVG: real text, one path per curve, the config in the metadata.

mod arcs;
mod axes;
mod curves;
mod document;
mod frame;
mod legend;
mod parallel;
mod ruler;
mod text;

pub use arcs::{ArcsFigure, FigureArc};
pub use document::to_svg;
pub(super) use document::{open, write_metadata};
pub use parallel::{ParallelFigure, ParallelFigureAxis, ParallelFigureLine};
pub(super) use ruler::Ruler;
pub(super) use text::{LABEL, NOTE, TICK, escape, text};

#[cfg(test)]
mod tests;
