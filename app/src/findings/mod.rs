//! What an analysis of attention says, as figures, arrays in files and words: shared by the command line and panels.

mod advice;
mod curves;
mod maps;
mod npy;
mod reconstruction;
mod words;

pub use advice::{advised_config, is_own_text, measured_words, outcome_rows, saving_rows, score_errors, trained};
pub use curves::figures;
pub use maps::maps;
pub use npy::npy;
pub use reconstruction::{computed_pairs, reconstruction_table, rising, scope_name};
pub use words::{about, layer_name, layer_table, summary};
