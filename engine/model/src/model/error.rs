use thiserror::Error;

use crate::text::listed;

/// Why a model could not be built or run.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// Weights for a parameter are absent.
    #[error("The weights have no tensor `{name}`, which this model needs.")]
    Missing {
        /// The parameter.
        name: String,
    },
    /// Weights that belong to no parameter.
    #[error("The weights hold tensors that this model does not have: {}.", listed(.names))]
    Unexpected {
        /// Their names.
        names: Vec<String>,
    },
    /// Weights of another shape than the model's.
    #[error("The weights of `{name}` have the shape {found:?}, but the model needs {expected:?}.")]
    Shape {
        /// The parameter.
        name: String,
        /// Its shape in the model.
        expected: Vec<usize>,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// A plan with an answer that these models do not build.
    #[error("This model cannot be built: {0}.")]
    Unsupported(String),
    /// A loss of tokens where there are none.
    #[error("This model ends in {head}. Only models that predict tokens can be trained or measured so far.")]
    NoTokens {
        /// What it gives instead.
        head: &'static str,
    },
    /// More tokens than positions.
    #[error(
        "A sequence of {sequence} tokens does not fit the {positions} positions of the model. Use shorter sequences."
    )]
    TooLong {
        /// Tokens in a row.
        sequence: usize,
        /// The model's learned positions.
        positions: usize,
    },
    /// A token that the model does not have.
    #[error(
        "The text has the token {token}, but the model knows {vocabulary} tokens. Use the tokenizer that it was trained with."
    )]
    UnknownToken {
        /// Its id.
        token: u32,
        /// Tokens of the model.
        vocabulary: usize,
    },
    /// Ids, mask and labels whose sizes do not agree.
    #[error("The {what} has {found} numbers, but {batch} rows of {sequence} tokens need {}.", batch * sequence)]
    InputSize {
        /// Which part of the input.
        what: &'static str,
        /// Numbers that were given.
        found: usize,
        /// Rows.
        batch: usize,
        /// Tokens in a row.
        sequence: usize,
    },
    /// No such device, or no support for it in this build.
    #[error("Cannot use the device \"{device}\": {why}. Use \"cpu\", or a device that `headroom devices` lists.")]
    Device {
        /// The device as the config names it.
        device: String,
        /// What the driver said.
        why: String,
    },
    /// A tensor operation failed.
    #[error("The computation failed: {0}.")]
    Tensor(String),
}

impl ModelError {
    /// The same with other names of parameters: those of a file.
    #[must_use]
    pub fn renamed(self, name_of: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Missing { name } => Self::Missing { name: name_of(&name) },
            Self::Unexpected { names } => Self::Unexpected { names: names.iter().map(|name| name_of(name)).collect() },
            Self::Shape { name, expected, found } => Self::Shape { name: name_of(&name), expected, found },
            other => other,
        }
    }
}

impl From<candle_core::Error> for ModelError {
    fn from(error: candle_core::Error) -> Self {
        Self::Tensor(without_backtrace(&error).trim_end_matches('.').to_owned())
    }
}

/// The message alone: as written, candle adds a whole backtrace when `RUST_BACKTRACE` is set.
fn without_backtrace(error: &candle_core::Error) -> String {
    use candle_core::Error;
    match error {
        Error::WithBacktrace { inner, .. } | Error::WithPath { inner, .. } => without_backtrace(inner),
        Error::Context { inner, context } => format!("{context}: {}", without_backtrace(inner)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_backtrace_is_ever_shown() {
        let inner = Box::new(candle_core::Error::Msg("Two shapes differ.".to_owned()));
        let backtrace = Box::new(std::backtrace::Backtrace::force_capture());
        let error = candle_core::Error::WithBacktrace { inner, backtrace };
        assert_eq!(ModelError::from(error).to_string(), "The computation failed: Two shapes differ.");
    }
}
