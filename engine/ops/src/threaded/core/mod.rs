//! Attention between projections: every head scores, weighs and mixes without a copy of its columns.
//!
//! In two forms: one keeps the maps for the backward pass, the other keeps two numbers a row and computes them again
//! (Dao et al., `FlashAttention`, 2022, without its tiling over keys: a row of scores fits into the cache here). Both
//! give the same bits. A head that borrows its map has neither: it reads the map that its lender kept, and adds to the
//! gradient of that.

mod backward;
mod forward;
mod shape;

pub use backward::CoreGradients;
pub use shape::{CoreInput, CoreShape, KeptMaps};
