use thiserror::Error;

use crate::{data::DataError, model::ModelError};

/// Why something could not be found out.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// No example had a real token.
    #[error(
        "There is no example to analyse. Choose a text that is longer than one example, or ask for examples of fewer tokens."
    )]
    NoExamples,
    /// A number is infinite or NaN.
    #[error(
        "The {what} of layer {layer}, head {head} are not finite, so nothing can be said of them. The model has \
         diverged; choose an earlier checkpoint."
    )]
    NotFinite {
        /// What is not finite.
        what: &'static str,
        /// Its layer, from 0.
        layer: usize,
        /// Its head, from 0.
        head: usize,
    },
    /// Tensors that do not fit together.
    #[error("There are {found} {what} instead of {expected}: they are not those of the model that is analysed.")]
    OtherSizes {
        /// What does not fit, in the plural.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// More memory is needed than there is.
    #[error(
        "The {what} need {} MiB of memory, and {} MiB are free. {advice}",
        needed >> 20,
        free >> 20
    )]
    Memory {
        /// What needs it.
        what: &'static str,
        /// Bytes.
        needed: u64,
        /// Bytes that may be used.
        free: u64,
        /// What to do.
        advice: &'static str,
    },
    /// An eigenvalue decomposition did not converge.
    #[error("The eigenvalues could not be computed. The scores may be extremely large; choose an earlier checkpoint.")]
    Eigenvalues,
    /// Nothing of what was asked for can be had of the model.
    #[error("{0}")]
    Impossible(String),
    /// The text.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tensor operation.
    #[error("The model could not be computed: {0}")]
    Tensor(String),
    /// The user said so.
    #[error("It was stopped.")]
    Stopped,
}

impl AnalysisError {
    /// Refuses numbers that are not as many as they should be.
    ///
    /// # Errors
    /// With their name and both counts.
    pub(super) fn unless_equal(what: impl Into<String>, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::OtherSizes { what: what.into(), found, expected }) }
    }
}

impl From<candle_core::Error> for AnalysisError {
    fn from(error: candle_core::Error) -> Self {
        // The first line alone: the rest may be a backtrace.
        Self::Tensor(error.to_string().lines().next().unwrap_or_default().to_owned())
    }
}
