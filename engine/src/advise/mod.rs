//! The adviser: from what was measured of a trained model to a config that saves something, and what that should come to.
//!
//! Pure: [`Adviser`] takes a config and an analysis of its model once, then answers for any thresholds, so that a slider
//! can ask at every frame. Heads that could borrow (*Reuse Transformers*), shared dimensions of queries and keys (*Multi-head
//! attention: collaborate instead of concatenate*), pairs of each row (*Eigen analysis of self-attention*). Savings are
//! those of the cost model; no loss is predicted, since no measurement of one model predicts another's. Uses `analysis`
//! and what is below it.

mod adviser;
mod borrowing;
mod costs;
mod dimensions;
mod heads;
mod outcome;
mod pairs;
mod prediction;
#[cfg(test)]
mod tests;

pub use adviser::{Advice, Adviser};
pub use borrowing::{Borrowing, Lent};
pub use costs::{Costs, vocabulary_of};
pub use dimensions::DimensionAdvice;
pub use heads::{HeadAdvice, HeadVerdict, Verdict};
pub use outcome::{Outcome, OutcomeRow, Stands, Trained, Unit};
pub use pairs::PairAdvice;
pub use prediction::{Prediction, Wishes};
