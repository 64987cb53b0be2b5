//! How a head scores a pair of positions: a file a method.
//!
//! A method is data: its file makes a [`ScoringForm`](crate::ops::ScoringForm) ([`Family::form`]), which says which
//! linear maps a layer has and how they start, what is made of their outputs, and which columns each head reads as query,
//! key, content bias and value. Everything else follows from the form and is written once: the parameters of a model,
//! the wiring of the fused operation (`ops`), its cost, what its weights capture, and what a cache keeps.
//! [`HeadAttention`] is a whole layer of small differentiable operations, for every form and every reuse of maps: the slow
//! reference of the fused operation, and what runs where there is none.
//!
//! A new method is a file here and an arm in [`family()`].
//!
//! # How parameters start
//! Every method starts with raw scores (before the scale and the mask) of the variance that standard attention has on
//! the same input. With weights of variance `s²` standard attention has `q = x W_q`, `k = y W_k`, so that
//! `E[q·k] = 0` and `Var[q·k] = d_k s⁴ |x|² |y|²`; each file derives its own from that.

mod collaborative;
mod composed;
mod family;
mod grouped;
mod latent;
mod layer_coverage;
mod layer_heads;
mod lenders;
mod pairwise;
mod projected;
mod reach;
mod scored;
mod segment;
mod shared_weight;
mod standard;
mod symmetric;
#[cfg(test)]
mod tests;
mod tied_kv;

pub use crate::ops::{DEVIATION, Initial, Piece, PieceForm};
pub use composed::{AttentionOutput, HeadAttention, PairPlaces, PairPositions, PairScoring};
pub use family::{Family, family};
pub use layer_coverage::LayerCoverage;
pub use layer_heads::LayerHeads;
pub use lenders::Lenders;
pub use reach::{QueryReaches, kept_maps, kept_reaches, stream_reaches};
pub use segment::Segment;
