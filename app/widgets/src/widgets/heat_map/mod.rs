//! The heat map: rows × columns of numbers, each a cell of a texture. Similarities, attention maps, patterns,
//! differences.
//!
//! [`HeatData`](crate::plot::HeatData) holds the numbers and pooled levels of them; [`Tone`](crate::plot::Tone) says which colour a value has; [`HeatMap`] draws,
//! pans and zooms, and says which cell was pointed at or clicked. What it shows is exported as a [`crate::export::MapFigure`].
//!
//! The mouse: a click chooses a cell, dragging moves a map that is zoomed in, Ctrl-wheel zooms, a double click shows all.
//! The keyboard, when the map has focus: arrows move from cell to cell, Enter chooses, `+` and `-` zoom, Home shows all.

mod bar;
mod draw;
mod layout;
mod map;
mod navigate;
mod tiles;

#[cfg(test)]
mod tests;

pub use map::{HeatLine, HeatMap, HeatResponse, HeatState};
