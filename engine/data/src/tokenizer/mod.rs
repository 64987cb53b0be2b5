//! Tokenizers: bytes, byte-level BPE, WordPiece and words of the corpus, or a given `tokenizer.json`.
//!
//! All of them are one type to the rest of the engine, [`TextTokenizer`], and one format on disk, the
//! `tokenizer.json` of the Hugging Face `tokenizers` library.

mod byte_level;
mod frame;
mod given;
mod json;
mod library;
mod limits;
mod pieces;
mod shielded;
mod symbols;
mod text_tokenizer;
mod train;
mod words;

pub use frame::Frame;
pub use text_tokenizer::TextTokenizer;

pub use limits::{LARGEST_TOKENIZER, check_tokenizer};

pub(super) use byte_level::bytes;
pub(super) use given::{given, of_model};
pub(super) use symbols::{symbols, words_of};
pub(super) use train::{bpe, word_piece};

#[cfg(test)]
mod tests;
