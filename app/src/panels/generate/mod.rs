//! The Generate panel: text from a model, token by token, with two settings side by side; what is kept between tokens, the
//! beams, what tokens attended to, and the proof that the caches lose nothing.

mod attention;
mod beams;
mod difference;
mod exported;
mod form;
mod output;
mod panel;
mod proof;

pub use panel::GeneratePanel;
