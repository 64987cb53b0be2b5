use thiserror::Error;

use crate::{analysis::AnalysisError, model::ModelError};

/// Why a model could not be converted.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// Attention that the conversion does not start from.
    #[error(
        "Only standard attention can be converted, and {attention} is \"{kind}\". Name a model whose \
         attention is standard throughout."
    )]
    NotStandard {
        /// Which attention, as in `encoder.0.self`.
        attention: String,
        /// What it is.
        kind: &'static str,
    },
    /// A model that leaves pairs out.
    #[error(
        "This model does not score every pair (coverage \"{kind}\"): what restores the others was found for its scores as they \
         are. Convert the checkpoint before its pairs were chosen, or a model with full coverage."
    )]
    PairsLeftOut {
        /// Its coverage.
        kind: &'static str,
    },
    /// A family whose attention has what collaborative heads have not.
    #[error(
        "The attention of this family cannot be converted so far: {why}. Name a model with learned \
         positions, such as BERT, GPT-2 or BART."
    )]
    Design {
        /// What it has.
        why: &'static str,
    },
    /// A width that is none, or more than there is to share.
    #[error(
        "A shared width of {d_k} is out of range: it is at least 1 and at most {most}, the columns of all {heads} heads together, \
         at which nothing is lost. Choose one of 1 to {most}."
    )]
    Width {
        /// The width.
        d_k: usize,
        /// The most.
        most: usize,
        /// Heads of a layer.
        heads: usize,
    },
    /// Groups that heads cannot be put into.
    #[error(
        "{kv_heads} heads of keys and values do not divide {heads} heads into groups of the same size. Choose a divisor of {heads}."
    )]
    Groups {
        /// Heads of keys and values.
        kv_heads: usize,
        /// Heads of a layer.
        heads: usize,
    },
    /// A similarity that is none.
    #[error("A similarity of {similarity} is out of range: it is at least 0 and at most 1, where maps are the same.")]
    Similarity {
        /// It.
        similarity: f64,
    },
    /// A model in which maps are not compared.
    #[error(
        "Heads of an encoder-decoder cannot be made to borrow yet: its maps are not compared. Name a model of one stack."
    )]
    SeveralStacks,
    /// A model whose only scores are those of the last layer.
    #[error(
        "No head before the last layer of this model computes a map, so that there is nothing to leave out. It can stay as it is."
    )]
    NothingToLeaveOut,
    /// Nothing to take away.
    #[error("There are no key biases to take away in every attention of this model. It can stay as it is.")]
    NoKeyBiases,
    /// Weights that are no numbers.
    #[error("The weights of queries or keys are not finite: the model has diverged. Choose an earlier checkpoint.")]
    NotFinite,
    /// It was stopped.
    #[error("It was stopped; nothing was written.")]
    Stopped,
    /// Singular vectors could not be computed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// Weights that do not fit the plan, or could not be read.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl ConvertError {
    /// Whether what was asked for cannot be had as it was asked for, rather than the attempt having failed.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotStandard { .. }
            | Self::Design { .. }
            | Self::PairsLeftOut { .. }
            | Self::Width { .. }
            | Self::Groups { .. }
            | Self::Similarity { .. }
            | Self::SeveralStacks
            | Self::NothingToLeaveOut
            | Self::NoKeyBiases => true,
            Self::NotFinite | Self::Stopped | Self::Analysis(_) | Self::Model(_) => false,
        }
    }
}

impl From<candle_core::Error> for ConvertError {
    fn from(error: candle_core::Error) -> Self {
        Self::Model(error.into())
    }
}
