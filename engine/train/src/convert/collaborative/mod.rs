//! Collaborative attention from standard attention: a canonical decomposition of `T_i = W_Q,i W_K,iᵀ` over the heads.
//!
//! `T_i ≈ W~_Q diag(m_i) W~_Kᵀ` with `W~_Q`, `W~_K` of all heads together and a mixing row `m_i` of each: the factors of
//! the tensor `T` `[H, d, d]`, found by alternating least squares in double precision. `T` itself is never formed; all that is
//! asked of it goes through its maps. Cordonnier, Loukas, Jaggi, "Multi-head attention: collaborate instead of
//! concatenate", 2020, equations 9 to 13.

mod alternate;
mod factors;
mod head_maps;
mod least_squares;
mod start;
#[cfg(test)]
mod tests;

pub use alternate::{Found, Search, decompose};
pub use factors::Factors;
pub use head_maps::HeadMaps;
