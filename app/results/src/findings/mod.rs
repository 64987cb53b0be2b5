//! What an analysis of attention says, as figures, arrays in files and words, and what is said of a model's predictions: shared by
//! the command line and panels.

mod advice;
mod converted;
mod curves;
mod figure_parts;
mod intervals;
mod left_out;
mod maps;
mod npy;
mod reconstruction;
mod same_class;
mod samples;
mod words;

pub use advice::{
    advised_config, analysis_words, conversion_rows, held_out_errors, is_own_text, measured_words, outcome,
    outcome_rows, saving_rows, score_errors, sources_words, stands_words, trained,
};
pub use converted::{not_taken_over, without_loss};
pub use curves::{figures, ranked_curves};
pub use figure_parts::{about, query_key_map};
pub use intervals::{between, component_share, count_words, method_words, share_words};
pub use left_out::{analyses_due, analyses_left_out};
pub use maps::{component_maps, maps, similarity_map};
pub use npy::npy;
pub use reconstruction::{
    ErrorLine, FLOPS_CONVENTION, METHODS, PLACE, UNRELIABLE, computed_pairs, error_lines, exact_rows_words,
    reconstruction_csv, reconstruction_table, reliable_words, rising, scope_name,
};
pub use same_class::same_class;
pub use samples::{borrowed_words, few_samples_words, probe_samples};
pub use words::{layer_name, layer_table, left_out_words, summary};
