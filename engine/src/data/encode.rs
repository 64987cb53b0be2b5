use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::progress::advance;
use super::{DataError, Documents, Progress, Stage, TextTokenizer};

/// Longer documents are encoded in pieces, cut at a single line end.
const PIECE_BYTES: usize = 1 << 20;

/// Token ids of documents in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenStream {
    /// The tokens of all documents; where the vocabulary has a separator, one stands after each document.
    pub ids: Arc<[u32]>,
    /// Where each document ends in `ids`, its separator included.
    pub ends: Vec<usize>,
}

impl TokenStream {
    /// No tokens.
    pub fn empty() -> Self {
        Self { ids: Arc::new([]), ends: Vec::new() }
    }
}

/// Encodes `documents` on all threads, in order, with `separator` after each.
pub(super) fn encode(
    documents: &Documents,
    tokenizer: &TextTokenizer,
    separator: Option<u32>,
    progress: &dyn Progress,
) -> Result<TokenStream, DataError> {
    let total = documents.bytes() as u64;
    let done = AtomicU64::new(0);
    // Bounded groups keep the memory for unmerged pieces small.
    let texts: Vec<&str> = documents.iter().collect();
    let mut ids = Vec::with_capacity(documents.bytes() / 3);
    let mut ends = Vec::with_capacity(texts.len());
    for group in texts.chunks(4096) {
        let encoded = group
            .par_iter()
            .map(|text| {
                let mut tokens = Vec::with_capacity(text.len() / 3);
                for piece in pieces(text, PIECE_BYTES) {
                    if progress.is_stopped() {
                        return Err(DataError::Stopped);
                    }
                    tokenizer.encode_plain_into(piece, &mut tokens)?;
                    done.fetch_add(piece.len() as u64, Ordering::Relaxed);
                }
                Ok(tokens)
            })
            .collect::<Result<Vec<_>, DataError>>()?;
        for tokens in encoded {
            ids.extend(tokens);
            ids.extend(separator);
            ends.push(ids.len());
        }
        advance(progress, Stage::Encoding, done.load(Ordering::Relaxed), total)?;
    }
    Ok(TokenStream { ids: ids.into(), ends })
}

/// Cuts a long text after single line ends (a character that is no white space on either side), where byte-level
/// and word-level tokenizers cut too, so that the pieces give the tokens of the whole.
fn pieces(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(cut(rest, limit));
        rest = after;
        Some(piece)
    })
}

/// The first good place to cut after `limit` bytes, or the end.
fn cut(text: &str, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| !byte.is_ascii_whitespace() && byte.is_ascii());
    (limit..bytes.len())
        .find(|&at| {
            bytes.get(at) == Some(&b'\n')
                && is_word(at.checked_sub(1).and_then(|before| bytes.get(before)))
                && is_word(bytes.get(at + 1))
        })
        .map_or(bytes.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_the_whole_and_end_at_single_line_ends() {
        let text = "one\ntwo\n\nthree\n four\nfünf\nsix";
        assert_eq!(pieces(text, 4).collect::<Vec<_>>(), ["one\ntwo\n\nthree\n four\n", "fünf\n", "six"]);
        assert_eq!(pieces(text, 1000).collect::<Vec<_>>(), [text]);
        assert_eq!(pieces("", 1).count(), 0);
    }
}
