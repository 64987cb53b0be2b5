//! A decoder and what it begins with.

use crate::model::ModelError;

/// Tokens of sources that are read together where steps are single operations: enough for products to be fast, and few enough for
/// what stands between them to stay in the caches of the processor.
#[cfg(not(test))]
pub const READING_TOKENS: usize = 2048;
/// Of three short sources of a test, two.
#[cfg(test)]
pub const READING_TOKENS: usize = 6;

/// How much a decoder is to make room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Rows that go on at the same time.
    pub rows: usize,
    /// Tokens that each writes.
    pub tokens: usize,
}

/// Texts that go on token by token, row by row. What is kept of them is its own affair.
pub trait Decoder {
    /// How many rows there are.
    fn rows(&self) -> usize;

    /// Reads one more token of every row and gives the logits of what follows. `[rows]` to `[rows, v]`
    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, ModelError>;

    /// Goes on with other rows: row i with what row `parents[i]` has read. A row may be left out, and go on more than once.
    fn select(&mut self, parents: &[usize]) -> Result<(), ModelError>;

    /// Bytes that are kept between steps, room for tokens to come included.
    fn cache_bytes(&self) -> u64;

    /// Those of them that hold something of the sources and of the texts that go on: the same for a number format of half the
    /// bytes is half as much.
    fn filled_bytes(&self) -> u64 {
        self.cache_bytes()
    }
}

/// How many of `count` sources of `tokens` each are read together at most, where steps are single operations or not.
pub fn sources_read_together(is_stepped: bool, tokens: usize, count: usize) -> usize {
    if is_stepped { READING_TOKENS.checked_div(tokens).unwrap_or(1).clamp(1, count.max(1)) } else { count }
}

/// A decoder that has read its sources.
pub struct Begun {
    /// One row for each source.
    pub decoder: Box<dyn Decoder>,
    /// Logits of the first token of each. `[sources, v]`
    pub logits: Vec<f32>,
}
