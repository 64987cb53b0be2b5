use thiserror::Error;

use crate::{
    config::{Problem, counted},
    data::{DataError, memory},
    generate::GenerateError,
    model::ModelError,
};

/// Why a run cannot start or go on.
#[derive(Debug, Error)]
pub enum TrainError {
    /// The config cannot be carried out.
    #[error("The config has {}: {}", counted(.0.len(), "problem"), join(.0))]
    Config(Vec<Problem>),
    /// The text cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model cannot be built or run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A text sample could not be made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model does not fit into free memory.
    #[error(
        "Not enough memory: this run needs about {}, {} is free. Lower the width, the number of layers, the vocabulary, the sequence length or the batch size.",
        memory::words(*.needed), memory::words(*.free)
    )]
    Memory {
        /// Estimated need in bytes.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// The device refused memory in the middle of a run.
    #[error(
        "The device ran out of memory: this run needs about {} by estimate. Lower the batch size (and raise accumulation), the sequence length, the width or the number of layers, or, on a GPU, choose a 16-bit precision.",
        memory::words(*.needed)
    )]
    OutOfMemory {
        /// Estimated need in bytes.
        needed: u64,
    },
    /// The covariances from which pairs are chosen do not fit into memory.
    #[error(
        "Not enough memory to choose pairs: covariances of scores for sequences of {tokens} tokens need {}, {} is free. Shorten data.sequence_length, or choose full coverage.",
        memory::words(*.needed), memory::words(*.free)
    )]
    Covariances {
        /// Sequence length.
        tokens: usize,
        /// Bytes that they take.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// Scores that are not finite.
    #[error(
        "Pairs cannot be chosen: scores of the model that computes all of them are not finite. Lower the learning rate, or use an earlier checkpoint."
    )]
    Scores,
    /// A tensor operation failed.
    #[error("A tensor operation failed: {0}. This is a fault of the program; please report it with the config.")]
    Tensor(String),
    /// The state that was kept belongs to another model or optimiser.
    #[error("The training state does not fit this config: {0}. Start a new run instead.")]
    State(String),
}

impl TrainError {
    /// Whether it is what was asked for that cannot be, rather than the attempt that failed.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Covariances { .. }
            | Self::Data(_)
            | Self::Memory { .. }
            | Self::Model(ModelError::Device { .. })
            | Self::OutOfMemory { .. } => true,
            Self::Generate(_) | Self::Model(_) | Self::Scores | Self::State(_) | Self::Tensor(_) => false,
        }
    }

    /// The same, with the estimated need in bytes where it is about memory that a device refused.
    #[must_use]
    pub fn with_memory(self, needed: u64) -> Self {
        let text = match &self {
            Self::Tensor(text) | Self::Model(ModelError::Tensor(text)) => text.to_lowercase().replace('_', " "),
            _ => return self,
        };
        if text.contains("out of memory") { Self::OutOfMemory { needed } } else { self }
    }
}

impl From<candle_core::Error> for TrainError {
    fn from(error: candle_core::Error) -> Self {
        Self::Tensor(first_line(&error))
    }
}

/// candle prints a whole backtrace after its message when one was taken.
pub(crate) fn first_line(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
