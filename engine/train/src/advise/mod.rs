//! The adviser: from what was measured of a trained model to what saves something, and what that should come to.
//!
//! Pure: [`Adviser`] takes the plan of a model and an analysis of it once, then answers for any thresholds, so that a slider
//! can ask at every frame. Of a run it proposes another config; of a model from elsewhere, and of a run that trains an initial
//! model further, conversions that [`convert`](crate::convert) does not refuse. Heads that could borrow (*Reuse Transformers*), shared dimensions of queries and keys (*Multi-head
//! attention: collaborate instead of concatenate*), pairs of each row (*Eigen analysis of self-attention*). Savings are
//! those of the cost model; no loss is predicted, since no measurement of one model predicts another's. Uses `convert`,
//! `analysis` and what is below them.

mod advice;
mod adviser;
mod borrowing;
mod conversions;
mod costs;
mod dimensions;
mod heads;
mod outcome;
mod pairs;
mod prediction;
#[cfg(test)]
mod tests;

pub use advice::{Advice, ConversionStep, Proposal};
pub use adviser::Adviser;
pub use borrowing::{Borrowing, Lent};
pub use costs::Costs;
pub use dimensions::DimensionAdvice;
pub use heads::{HeadAdvice, HeadVerdict, Verdict};
pub use outcome::{Outcome, OutcomeRow, Stands, Trained, Unit};
pub use pairs::PairAdvice;
pub use prediction::{Prediction, Wishes};
