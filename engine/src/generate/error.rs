use thiserror::Error;

use crate::model::ModelError;

/// Why nothing could be generated.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum GenerateError {
    /// Continuing text with a model that sees both sides.
    #[error(
        "Only a decoder can continue text, and this model is an encoder. Give it a text with masked words instead."
    )]
    NoDecoder,
    /// Filling gaps with a model that sees one side.
    #[error(
        "Only an encoder can fill in masked words, and this model is a decoder. Give it a text to continue instead."
    )]
    NoEncoder,
    /// Nothing to start from.
    #[error("The prompt has no tokens. Give at least one token, such as the one that starts a text.")]
    EmptyPrompt,
    /// A text without gaps.
    #[error("The text has no mask token (id {mask_token}). Put one where a word is to be filled in.")]
    NoMask {
        /// The id that was looked for.
        mask_token: u32,
    },
    /// A setting out of range.
    #[error(
        "A temperature of {0} cannot be used: it must be from 0 to 100. Use 0 for the most probable tokens, 1 for the model's own distribution."
    )]
    Temperature(f64),
    /// No token left to choose from.
    #[error("Cannot choose among the 0 most probable tokens. Use 1 or more, or leave top-k out.")]
    TopK,
    /// Logits with NaN or infinity.
    #[error("The model's predictions are not finite numbers. Its training diverged: use an earlier checkpoint.")]
    NotFinite,
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}
