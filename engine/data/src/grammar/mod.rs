//! English-like text from a probabilistic grammar, so that nothing needs a download.
//!
//! The grammar is data: `assets/grammar/english.toml` explains its notation. Its text has what attention heads are
//! known to learn: agreement in number across nested relative clauses, pronouns that refer back to the sentence
//! before, topics and a recurring cast. It depends on its seed alone; a longer text begins with the shorter one.
//! The `checker` reads such text, and what a model makes of it, and says what agrees.

mod checker;
mod compile;
mod document;
mod entity;
mod generate;
mod lexicon;
mod rule;
mod surface;
mod written;

pub use checker::{Agreement, Checked, Checker, Passage};
pub use compile::Grammar;
pub use generate::generate_grammar;

pub(super) use generate::generate_tokens;
pub(super) use surface::{Surface, join};

#[cfg(test)]
mod tests;
