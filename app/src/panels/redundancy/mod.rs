//! The Redundancy panel: which heads and layers attend alike, while a run trains and after.
//!
//! The matrix of layers, the heads of a layer ranked by how much they are like the layer before, the heads that are like
//! a chosen one, and groups of heads that are alike on a head map.

mod derived;
mod domains;
mod groups;
mod heads;
mod matrix;
mod panel;
mod ranked;

pub use panel::RedundancyPanel;
