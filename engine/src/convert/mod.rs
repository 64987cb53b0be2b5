//! From a trained model to another one that computes the same, or nearly so, and the price of it.
//!
//! `collaborative/` re-parametrises standard attention with queries and keys that all heads share, `borrow.rs` gives heads the
//! maps of others, `one_map/` makes queries and keys the same map, `grouped.rs` the mean keys and values of a group. Each says, for every attention, how far its products are
//! from what they were; `price.rs` compares what the models do with a text. Files, runs and lineage are `checkpoint`'s and
//! `worker`'s.
//! Uses `config`, `ops`, `attention`, `model`, `analysis`.

mod borrow;
mod collaborative;
mod collaborative_attention;
mod error;
mod grouped;
mod model;
mod one_map;
mod price;
mod products;
mod spec;
#[cfg(test)]
mod tests;
mod weights;

pub use collaborative::{Factors, Found, HeadMaps, Search, decompose};
pub use error::ConvertError;
pub use model::{Converted, ConvertedAttention, Progress, Recipe, check, convert, planned};
pub use price::{LayerPrice, Price, can_be_priced, price};
pub use spec::{Conversion, OneMap, ToBorrow, ToCollaborative, ToCoverage, ToGrouped, WithoutKeyBiases};
