//! The Spectra panel: in how small a space the scores of a model live.
//!
//! Cumulative energy of the network, its layers, several steps and several runs; how many components hold 80, 90 and
//! 95 % of it; the first components as patterns; each layer in the network's space; captured variance of weights.

mod bars;
mod captured;
mod curves;
mod options;
mod overlap;
mod panel;
mod patterns;
mod projections;
mod queries;
mod table;
mod words;

pub use panel::SpectraPanel;
