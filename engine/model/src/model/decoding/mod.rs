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
mod decoder;
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
pub use decoder::{Begun, Decoder, Room, sources_read_together};

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
