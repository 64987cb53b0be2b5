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
    /// A number that the model does not allow.
    #[error("{why}")]
    Number {
        /// Option of the command line that says it, without dashes.
        option: &'static str,
        /// The problem, and what to do.
        why: String,
    },
    /// A model that cannot become so, or has nothing to lose by it.
    #[error("{why}")]
    Refused {
        /// The problem, and what to do.
        why: &'static str,
    },
    /// No text for a conversion that depends on one.
    #[error("This conversion depends on what the model does with a text. Name one with --data.")]
    NoText,
    /// A text on which nothing was found.
    #[error("{why}")]
    Text {
        /// The problem, and what to do.
        why: String,
        /// True if another text or number would do.
        is_refusal: bool,
        /// True if the user stopped it.
        is_stop: bool,
    },
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
            | Self::Number { .. }
            | Self::Refused { .. }
            | Self::NoText => true,
            Self::Text { is_refusal, .. } => *is_refusal,
            Self::NotFinite | Self::Stopped | Self::Analysis(_) | Self::Model(_) => false,
        }
    }
}

impl From<candle_core::Error> for ConvertError {
    fn from(error: candle_core::Error) -> Self {
        Self::Model(error.into())
    }
}
