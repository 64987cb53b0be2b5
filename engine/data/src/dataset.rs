//! Examples as models read them.

use std::sync::Arc;

use super::images::ImageCorpus;
use super::row_answers::RowAnswers;
use super::{Documents, PairRules, TokenStream};

/// The tokens of both parts.
#[derive(Clone, Debug)]
pub struct TokenParts {
    /// Tokens to train on.
    pub train: TokenStream,
    /// Tokens of the validation set; it shares no text with `train` unless the user named overlapping files.
    pub validation: TokenStream,
}

/// The examples of both parts.
#[derive(Clone, Debug)]
pub enum Dataset {
    /// Plain text.
    Text {
        /// Its tokens.
        tokens: TokenParts,
    },
    /// Texts, each before its translation.
    Pairs {
        /// Their tokens.
        tokens: TokenParts,
        /// Rules by which they become examples.
        rules: PairRules,
    },
    /// Texts of rows with a label each: those of a row one after the other.
    Rows {
        /// Their tokens.
        tokens: TokenParts,
        /// Their labels.
        answers: RowAnswers,
        /// The held-out texts as their source has them, one after the other, while their tokens are in their order.
        held_out_texts: Option<Arc<Documents>>,
    },
    /// Questions about paragraphs: all paragraphs, then all questions.
    Spans {
        /// Their tokens.
        tokens: TokenParts,
        /// Answers to the questions.
        answers: RowAnswers,
    },
    /// Images with their classes.
    Images {
        /// The images.
        images: ImageCorpus,
        /// Their classes.
        answers: RowAnswers,
    },
}

impl Dataset {
    /// Tokens of both parts; images have none.
    pub fn tokens(&self) -> Option<&TokenParts> {
        match self {
            Self::Text { tokens }
            | Self::Pairs { tokens, .. }
            | Self::Rows { tokens, .. }
            | Self::Spans { tokens, .. } => Some(tokens),
            Self::Images { .. } => None,
        }
    }

    /// Labels and answers; plain text and pairs have none.
    pub fn answers(&self) -> Option<&RowAnswers> {
        match self {
            Self::Rows { answers, .. } | Self::Spans { answers, .. } | Self::Images { answers, .. } => Some(answers),
            Self::Text { .. } | Self::Pairs { .. } => None,
        }
    }

    /// The images, where there are such.
    pub fn images(&self) -> Option<&ImageCorpus> {
        match self {
            Self::Images { images, .. } => Some(images),
            Self::Text { .. } | Self::Pairs { .. } | Self::Rows { .. } | Self::Spans { .. } => None,
        }
    }
}
