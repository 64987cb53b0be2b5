//! A decoder that goes on token by token, whatever it keeps between them.
//!
//! [`Model::begin`] reads sources and gives a [`Decoder`], of which there are three: one that keeps nothing and computes
//! everything again (`recomputed`), one composed of small operations that works wherever models do (`composed`), and one that
//! is a single operation a step, in single precision on the processor (`stepped`). What is kept follows from the way to score
//! of each layer ([`Reaches`](crate::ops::Reaches)), for all families alike.
//!
//! What all rows of a source attend to, a prompt or what an encoder read, is there once for a source: rows of a beam share it,
//! and nothing is repeated or put in another order. Of the tokens that rows write themselves keys and values are kept in any
//! case.

mod composed;
mod recomputed;
mod source;
mod stepped;

use self::{
    composed::ComposedDecoder,
    recomputed::RecomputedDecoder,
    source::{Sources, Texts},
    stepped::SteppedDecoder,
};
use super::{Model, ModelError};
use crate::{attention::OutputPlan, config::Cache};

/// Tokens of sources that are read together where steps are single operations: enough for products to be fast, and few enough for
/// what stands between them to stay in the caches of the processor.
#[cfg(not(test))]
const READING_TOKENS: usize = 2048;
/// Of three short sources of a test, two.
#[cfg(test)]
const READING_TOKENS: usize = 6;

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

impl Model {
    /// Whether steps of decoding with a cache are single operations.
    pub fn is_stepped(&self, cache: &Cache) -> bool {
        !matches!(cache, Cache::None(_)) && self.can_step()
    }

    /// Reads sources: texts that a decoder goes on with, or what the encoder before it reads; then `start` is the token that
    /// the decoder begins with.
    ///
    /// # Errors
    /// If the model writes no text, a source is empty or longer than its positions, or what is to be kept has no meaning for
    /// it.
    pub fn begin(
        &self,
        cache: &Cache,
        sources: &[Vec<u32>],
        start: Option<u32>,
        room: Room,
    ) -> Result<Begun, ModelError> {
        let stack = &self.plan().stack;
        if !stack.is_causal || !matches!(self.plan().head, OutputPlan::Vocabulary(_)) {
            return Err(ModelError::Unsupported("a decoder without which text cannot be generated".to_owned()));
        }
        if let Some(why) = stack.why_not_kept(cache) {
            return Err(ModelError::Unsupported(why.to_owned()));
        }
        let texts = Texts::check(self, sources, start)?;
        match cache {
            Cache::None(_) => RecomputedDecoder::begin(self, Sources::read(self, texts)?),
            Cache::KeyValue(_) | Cache::Hidden(_) if self.is_stepped(cache) => {
                SteppedDecoder::begin(self, cache, &texts, room)
            }
            Cache::KeyValue(_) | Cache::Hidden(_) => ComposedDecoder::begin(self, cache, Sources::read(self, texts)?),
        }
    }
}
