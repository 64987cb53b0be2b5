//! From a trained model to another one that computes the same, or nearly so, and the price of it.
//!
//! `collaborative/` re-parametrises standard attention with queries and keys that all heads share. Every conversion says, for
//! each attention, how far what it made is from what there was. Files, runs and lineage are `checkpoint`'s and `worker`'s.
//! Uses `config`, `ops`, `attention`, `model`, `analysis`.

mod collaborative;
mod error;
mod model;
mod spec;
#[cfg(test)]
mod tests;

pub use collaborative::{Factors, Found, HeadMaps, Search, decompose};
pub use error::ConvertError;
pub use model::{Converted, ConvertedAttention, Progress, check, convert};
pub use spec::{Conversion, ToCollaborative};
