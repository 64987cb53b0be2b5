//! The transformers: a BERT-style encoder with a masked-language head and a GPT-2-style decoder, norm first or last.
//!
//! A [`ModelPlan`](crate::attention::ModelPlan) says what to build, a [`ParameterSet`] holds the weights under the
//! names that Hugging Face `transformers` gives them, and a [`Model`] joins the two: [`Model::trainable`] builds the
//! graph for backward, [`Model::frozen`] builds none. Knows nothing of training. Uses `config`, `ops`, `attention`.

mod coverage_state;
mod device;
mod diagnosis;
mod error;
mod half;
mod input;
mod layer;
mod mixing;
mod names;
mod output;
mod parameters;
mod specification;
#[cfg(test)]
mod tests;
mod transformer;

pub use coverage_state::CoverageState;
pub use device::{dtype, give_memory_back, open_device};
pub use diagnosis::NonFinite;
pub use error::ModelError;
pub use input::{ForwardOptions, ModelInput};
pub use mixing::{Mixing, mixing_matrices};
pub use output::{Attended, Evaluation, Loss, ModelOutput};
pub use parameters::ParameterSet;
pub use specification::{Specification, specifications};
pub use transformer::Model;

/// How a parameter starts.
pub use crate::attention::compatibility::Initial;
/// The label of positions that are not predicted.
pub use crate::ops::IGNORED_LABEL;
