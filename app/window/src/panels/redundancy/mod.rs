//! The Redundancy panel: which heads and layers have similar attention, during training and after.
//!
//! The matrix of layers, the heads of a layer ranked by how much they are like the layer before, the heads that are like
//! a chosen one, and groups of similar heads on a head map.

mod derived;
mod domains;
mod groups;
mod heads;
mod matrix;
mod panel;
mod ranked;

pub(in crate::panels) use derived::spot;
pub use panel::RedundancyPanel;
