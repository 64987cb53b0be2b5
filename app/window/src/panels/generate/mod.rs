//! The Generate panel: text from a model, token by token, with two settings side by side; what is kept between tokens, the
//! beams, what tokens attended to, and the proof that the caches lose nothing. A model with a task gives its answers here instead.

mod answers;
mod attention;
mod beams;
mod difference;
mod exported;
mod form;
mod known;
mod output;
mod panel;
mod proof;

pub use panel::GeneratePanel;
