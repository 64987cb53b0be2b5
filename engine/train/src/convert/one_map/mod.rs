//! Attention whose queries and keys are one map, from standard attention: of every head the nearest product that symmetric,
//! pairwise or shared-weight attention can have.
//!
//! With `X = F N Fᵀ` of `d_k` columns `F`, a head's `[W_Q; b_Q] W_Kᵀ` is approached in Frobenius norm: `N` is the identity
//! where attention is symmetric, any matrix where it is pairwise, a diagonal one where it has one shared matrix; there `F` has to
//! hold the values too, and the output is refitted. What adds the same to all scores of a row is free. The families are those of
//! "Does self-attention need separate weights in Transformers?", which trains them from drawn weights; how to get there from a
//! trained model is our own.

mod attention;
mod conversions;
mod fit;
mod kind;
mod product;
#[cfg(test)]
mod tests;

use self::{attention::attention, kind::OneMap};
