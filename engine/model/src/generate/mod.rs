//! Text from a model: continuing it with a decoder, writing one after a source with an encoder and a decoder, filling its gaps
//! with an encoder. Plain data in and out.
//!
//! [`generate`] searches as `transformers` does, over a [`Decoder`](crate::model::Decoder) whose cache is its own affair.
//! [`continue_text()`] keeps nothing between tokens and goes on past the positions of a model; a run that trains shows with it
//! what it can do. [`prove_caches`] shows that what is kept between tokens changes none.
//!
//! Uses `ops`, `attention`, `model` and `objective`.

mod attention;
mod beam;
mod choice;
mod continue_text;
mod distribution;
mod error;
mod fill_masks;
mod generated;
mod processors;
mod proof;
mod run;
mod search;
mod settings;
#[cfg(test)]
mod tests;

pub use attention::{SourceAttention, attention_on_source};
pub use continue_text::{Continuation, Ending, Sampled, Sampling, continue_text};
pub use distribution::Prediction;
pub use error::GenerateError;
pub use fill_masks::{FilledMask, fill_masks};
pub use generated::{BeamNode, Generated, GeneratedText};
pub use processors::LogitsProcessors;
pub use proof::{CacheProof, ProvedCache, prove_caches};
pub use run::{Progress, generate, generate_numbered};
pub use search::{Marks, Search};
pub use settings::{EarlyStopping, SearchSettings};
