//! What was generated.

use serde::{Deserialize, Serialize};

use super::Ending;

/// What was generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// One for each source, in order.
    pub texts: Vec<GeneratedText>,
    /// Time from the sources to the last token.
    pub seconds: f64,
    /// Time until the first token was chosen: what it takes to read the sources.
    pub first_seconds: f64,
    /// Tokens that were read one by one, over all rows.
    pub steps: usize,
    /// The most that was kept between tokens, room for tokens to come included.
    pub cache_bytes: u64,
    /// The most of it that held something.
    pub filled_bytes: u64,
}

/// A text that was generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratedText {
    /// The new tokens; an end token is the last.
    pub tokens: Vec<u32>,
    /// Why there are no more.
    pub ending: Ending,
    /// What texts were compared by: the log-probability in nats over the length to the power of the length penalty, less what
    /// diversity takes.
    pub score: f64,
    /// Every prefix that a beam followed, where [`Search::keep_tree`](super::Search::keep_tree) asks for it.
    pub tree: Vec<BeamNode>,
}

/// A token that a beam chose: with those before it, a prefix that was followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeamNode {
    /// The token before it, as a place in the list; none for a first one.
    pub parent: Option<usize>,
    /// The token.
    pub token: u32,
    /// The group of beams, from 0.
    pub group: usize,
    /// Log-probability in nats from the first token on, less what diversity takes.
    #[serde(with = "crate::text::floats")]
    pub log_probability: f64,
    /// What texts are compared by, where the text ended here.
    #[serde(default, with = "crate::text::floats", skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Whether it was still followed when the search ended.
    pub is_running: bool,
}
