//! Text from a model: continuing it with a decoder, filling its gaps with an encoder. Plain data in and out.
//!
//! Uses `ops`, `attention` and `model`.

mod continue_text;
mod distribution;
mod error;
mod fill_masks;

pub use continue_text::{Continuation, Ending, Sampled, Sampling, continue_text};
pub use distribution::Prediction;
pub use error::GenerateError;
pub use fill_masks::{FilledMask, fill_masks};
