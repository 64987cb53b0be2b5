//! Whole parts of a model as single operations: embeddings, a stack of layers, head with loss.
//!
//! Between the operations of a composed sub-layer every intermediate goes out to memory and comes back, and candle's
//! graph adds a pass over every gradient; inside of one operation neither happens. They exist for `f32` and `f64` on the CPU ([`has_blocks`]); elsewhere models compose
//! the same sub-layers of the small operations, which are also what the tests hold these against.
//!
//! Candle's custom operations take three tensors at most. The stream is one; parameters live inside of the operation,
//! and their gradients go straight into a [`Gradients`](super::Gradients) set. A parameter that is not in the set is
//! not trained. Without a set nothing is kept for a backward pass.

mod attention;
mod embed;
mod feed_forward;
mod form;
mod head;
mod open;
mod projections;
mod stack;
#[cfg(test)]
mod tests;
mod wiring;

pub use attention::{AttentionParts, MapMemory};
pub use embed::{EmbedParts, embed};
pub use feed_forward::FeedForwardParts;
pub use form::{
    Columns, DEVIATION, Derived, HeadColumns, Initial, Piece, PieceForm, ScoreColumns, ScoringForm, Source,
};
pub use head::{HeadParts, HeadResult, head_evaluation, head_loss};
pub use open::{BlockDropout, Frame, has_blocks};
pub use projections::{HeadMap, HeadProjections, PieceWeights};
pub use stack::{EachLayer, LayerParts, LayerReading, Stacked, Wanted, read_layers, stack};
