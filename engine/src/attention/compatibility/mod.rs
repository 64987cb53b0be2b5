//! How a head scores a pair of positions: a file a method.
//!
//! Each method says which parameters a layer has and how they start ([`Family::pieces`]), puts them together
//! ([`Family::projections`]), and has a function that scores all pairs with small differentiable operations.
//! [`HeadAttention`] is a whole layer of it, for every method and every reuse of maps: the slow reference of the
//! fused operation, and what runs where there is none.
//!
//! A new method is a file here with these three, an arm in [`family`] and one in `score`.
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
mod piece;
mod scored;
mod shared_weight;
mod standard;
mod symmetric;
#[cfg(test)]
mod tests;

pub use composed::{AttentionOutput, HeadAttention};
pub use family::{Family, family};
pub use layer_coverage::LayerCoverage;
pub use layer_heads::LayerHeads;
pub use lenders::Lenders;
pub use piece::{DEVIATION, Initial, Loaded, Piece, PieceForm};
