//! How a head scores a pair of positions: a file a method.

mod standard;

pub use standard::{AttentionOutput, Projections, StandardAttention};
