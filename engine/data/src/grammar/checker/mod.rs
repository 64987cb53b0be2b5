//! Reads text with a small parser of its own, which knows the words of the TOML file but none of its rules, and checks
//! agreement: of verbs with their subjects, of determiners with their nouns, of pronouns with what they refer to.
//!
//! [`Checker::read`] counts what agrees in texts that a model wrote; [`Checker::determined`] finds the hidden words of a
//! text of which the grammar allows one form only.

mod counts;
mod determined;
mod read;
mod sentence;
#[cfg(test)]
mod tests;
mod words;

pub use counts::{Agreement, Checked};
pub use determined::Passage;

use self::words::Words;
use super::compile::ENGLISH;
use crate::DataError;

/// Checks text in the manner of a grammar.
#[derive(Debug)]
pub struct Checker {
    words: Words,
}

impl Checker {
    /// The checker of the built-in English-like grammar.
    ///
    /// # Errors
    /// If the grammar is broken.
    pub fn english() -> Result<Self, DataError> {
        let broken = |why: String| DataError::Grammar { why };
        let written = toml::from_str(ENGLISH).map_err(|error| broken(error.to_string()))?;
        Ok(Self { words: Words::new(&written).map_err(broken)? })
    }
}
