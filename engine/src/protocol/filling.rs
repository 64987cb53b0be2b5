//! What an encoder filled in.

use serde::{Deserialize, Serialize};

use crate::text::floats;

/// A text whose hidden words an encoder filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filling {
    /// The words, in their order.
    pub words: Vec<FilledWord>,
    /// The text after the last of them.
    pub rest: String,
}

/// A word that was hidden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilledWord {
    /// Which token of the source it is, from 0.
    pub position: usize,
    /// The text between it and the word that was hidden before.
    pub before: String,
    /// The most probable word as it stands in the text, with the space before it.
    pub word: String,
    /// What stood there, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<String>,
    /// The most probable tokens, the most probable first.
    pub guesses: Vec<WordGuess>,
}

/// A token that may stand where a word was hidden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WordGuess {
    /// The token as text.
    pub word: String,
    /// Its probability, 0..=1.
    #[serde(with = "floats")]
    pub probability: f64,
}
