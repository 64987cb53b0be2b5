use thiserror::Error;

use crate::{
    config::{counted, grouped},
    model::ModelError,
};

/// Why nothing could be generated.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum GenerateError {
    /// Continuing text with a model that sees both sides.
    #[error(
        "Only a decoder can continue text, and this model is an encoder, which fills in hidden words. Choose a decoder."
    )]
    NoDecoder,
    /// A model whose head gives no tokens, or that has none.
    #[error(
        "This model gives hidden states or answers and predicts no tokens, so that it writes no text. Choose one with the head of a language model."
    )]
    NoTokens,
    /// Filling gaps with a model that sees one side.
    #[error(
        "Only an encoder can fill in masked words, and this model is a decoder. Give it a text to continue instead."
    )]
    NoEncoder,
    /// Nothing to start from.
    #[error("The prompt has no tokens. Give at least one token, such as the one that starts a text.")]
    EmptyPrompt,
    /// Nothing for an encoder to read.
    #[error("The source has no tokens. Give a text that the encoder can read.")]
    EmptySource,
    /// A decoder after an encoder that has nothing to begin with.
    #[error(
        "This model does not say which token its decoder begins with. Add \"decoder_start_token_id\" to its config.json."
    )]
    NoStart,
    /// A source longer than the positions of who reads it.
    #[error("The source has {}, but the model reads at most {}. Give a shorter text.",
        counted(*.tokens, "token"), grouped(*.positions))]
    TooLong {
        /// Tokens of the longest source.
        tokens: usize,
        /// Positions of the model.
        positions: usize,
    },
    /// A source that leaves no token to be written.
    #[error(
        "A text of {} with its prompt at most leaves no room after {}. Give a shorter prompt, or a larger number of new tokens (--max-length).",
        counted(*.length, "token"), counted(*.tokens, "token")
    )]
    NoRoom {
        /// Tokens of the source.
        tokens: usize,
        /// Tokens of the whole text at most.
        length: usize,
    },
    /// A token that the model does not have.
    #[error(
        "The text has the token {token}, but the model knows {}: the tokenizer is another model's. Use the one that it was trained with.",
        counted(*.vocabulary, "token")
    )]
    UnknownToken {
        /// Its id.
        token: u32,
        /// Tokens of the model.
        vocabulary: usize,
    },
    /// More than fits into memory.
    #[error(
        "Not enough memory for {} of {}: {} are needed, {} of them for what is kept between tokens, and {} are free. Use fewer beams or texts, or shorter ones.",
        counted(*.sources, "text"), counted(*.beams, "beam"), mib(*.needed), mib(*.kept), mib(*.free)
    )]
    Memory {
        /// Bytes in all.
        needed: u64,
        /// Those of the cache.
        kept: u64,
        /// Bytes that are free.
        free: u64,
        /// How many sources.
        sources: usize,
        /// Beams of each.
        beams: usize,
    },
    /// Another setting out of range.
    #[error("{0}")]
    Setting(String),
    /// Every token is ruled out.
    #[error(
        "No token is left for place {step}: what may not come twice, a least length, and what the model's generation_config.json forbids rule all of them out. Allow longer repetitions or a shorter text."
    )]
    NothingLeft {
        /// The place, from 1.
        step: usize,
    },
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

/// Bytes in words.
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1_u32 << 20))
}
