//! From a trained model to another one that computes the same, or nearly so, and the price of it.
//!
//! `collaborative/` re-parametrises standard attention with queries and keys that all heads share, `borrow.rs` gives heads the
//! maps of others, `one_map/` makes queries and keys the same map, `grouped.rs` the mean keys and values of a group, `coverage.rs`
//! leaves out pairs, `without_key_biases.rs` biases. Each describes itself in its file (`description.rs`): its option, label, numbers, plan, and
//! what it does to weights; `conversion.rs` lists them. Each says, for every attention, how far its products are from what they were; `price.rs` compares what the models do with a text. Files, runs and lineage are `checkpoint`'s and
//! `worker`'s.
//! Uses `config`, `ops`, `attention`, `model`, `analysis`.

mod borrow;
mod collaborative;
mod collaborative_attention;
mod conversion;
mod coverage;
mod description;
mod error;
mod grouped;
mod model;
mod one_map;
mod price;
mod products;
#[cfg(test)]
mod tests;
mod weights;
mod without_key_biases;

pub use borrow::ToBorrow;
pub use collaborative::{Factors, Found, HeadMaps, Search, decompose};
pub use collaborative_attention::ToCollaborative;
pub use conversion::Conversion;
pub use coverage::ToCoverage;
pub use description::{
    Control, ControlRange, ConversionField, ConversionInfo, ConversionOption, Convert, Converted, ConvertedAttention,
    FieldValue, Lenders, ModelOnText, ModelSizes, PairsLeftOut, Progress,
};
pub use error::ConvertError;
pub use grouped::ToGrouped;
pub use model::{check, convert, planned};
pub use price::{LayerPrice, Price, can_be_priced, price};
pub use without_key_biases::WithoutKeyBiases;
