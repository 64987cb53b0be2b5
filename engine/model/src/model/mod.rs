//! The transformers: a BERT-style encoder with a masked-language head and a GPT-2-style decoder, norm first or last.
//!
//! A [`ModelPlan`](crate::attention::ModelPlan) says what to build, a [`ParameterSet`] holds the weights under our own
//! names (`names.rs`), and a [`Model`] joins the two: [`Model::trainable`] builds the graph for backward,
//! [`Model::frozen`] builds none. Knows nothing of training, and of other names only those that initial weights are
//! drawn by (`name_table.rs`). Uses `config`, `ops`, `attention`.

mod coverage_state;
mod decoding;
mod device;
mod diagnosis;
mod error;
mod half;
mod input;
mod layer;
mod mixing;
mod name_table;
mod names;
mod noise;
mod norm;
mod output;
mod parameters;
mod reader;
mod specification;
mod stack;
mod tensors;
#[cfg(test)]
mod tests;
mod transformer;

pub use crate::ops::{device_peak_bytes, give_memory_back};
pub use coverage_state::CoverageState;
pub use decoding::{Begun, Decoder, Room, sources_read_together};
pub use device::{dtype, open_device, open_device_of};
pub use diagnosis::NonFinite;
pub use error::ModelError;
pub use half::{Computing, CopiedModel};
pub use input::{ForwardOptions, InputData, ModelInput};
pub use mixing::{Mixing, mixing_matrices};
pub use name_table::{NameRow, NameTable, renamed_since, seed_names};
pub use names::{attention_name, depth_of, is_of_head, is_of_pooler, layer_of};
pub use noise::EmbeddingNoise;
pub use output::{Attended, Evaluation, LabelOutcome, Loss, ModelOutput};
pub use parameters::{ParameterSet, check_shapes, tensor_shapes};
pub use specification::{Specification, specifications};
pub use transformer::Model;

/// How a parameter starts.
pub use crate::attention::compatibility::Initial;
/// The label of positions that are not predicted.
pub use crate::ops::IGNORED_LABEL;
