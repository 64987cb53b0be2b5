//! Pieces of texts: long ones are cut, short ones are taken together.

use std::ops::Range;

use super::Documents;

/// Longer documents are encoded in pieces.
const PIECE_BYTES: usize = 1 << 18;

/// How many times as long a piece may become, for a good place to cut.
const REACH: usize = 4;

/// Text that is handed to the threads at once.
const GROUP_BYTES: usize = 4 << 20;

/// Pieces of documents, each with its document's number, in groups of some megabytes: enough for all threads, few
/// enough for regular reports.
pub(super) fn groups(documents: &Documents) -> impl Iterator<Item = Vec<(usize, &str)>> {
    let mut all = documents
        .iter()
        .enumerate()
        .flat_map(|(number, text)| pieces(text, PIECE_BYTES).map(move |piece| (number, piece)));
    std::iter::from_fn(move || {
        let mut group = Vec::new();
        let mut bytes = 0;
        while bytes < GROUP_BYTES
            && let Some(piece) = all.next()
        {
            bytes += piece.1.len();
            group.push(piece);
        }
        (!group.is_empty()).then_some(group)
    })
}

/// Cuts a long text where byte-level and word-level tokenizers cut too, so that the pieces give the tokens of the whole.
/// Text that has no such place for [`REACH`] times the limit is one word, or as good as one: it is cut within, so that no
/// piece is much longer than the others whatever the text.
pub(super) fn pieces(text: &str, limit: usize) -> impl Iterator<Item = &str> {
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
    let limit = limit.max(1);
    let most = text.floor_char_boundary(limit.saturating_mul(REACH));
    if text.len() <= limit {
        return text.len();
    }
    between_words(text, limit..most)
        .or_else(|| if most == text.len() { Some(most) } else { between_sentences(text, limit..most) })
        .unwrap_or(most)
}

/// A single blank or line end between two letters or digits of ASCII. A blank belongs to the word after it, a line end to
/// the line before.
fn between_words(text: &str, mut within: Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_word =
        |place: Option<usize>| place.and_then(|place| bytes.get(place)).is_some_and(u8::is_ascii_alphanumeric);
    within.find_map(|at| match bytes.get(at) {
        Some(b' ') if is_word(at.checked_sub(1)) && is_word(at.checked_add(1)) => Some(at),
        Some(b'\n') if is_word(at.checked_sub(1)) && is_word(at.checked_add(1)) => Some(at + 1),
        _ => None,
    })
}

/// The same in scripts that write no blanks: behind a line end between two lines, or behind the mark that ends a sentence
/// or its part, before a letter.
fn between_sentences(text: &str, within: Range<usize>) -> Option<usize> {
    const MARKS: [char; 10] = ['、', '。', '！', '，', '：', '；', '？', '।', '۔', '።'];
    let start = text.ceil_char_boundary(within.start);
    let mut before = text.get(..start)?.chars().next_back()?;
    let mut letters = text.get(start..within.end.max(start))?.char_indices().peekable();
    while let Some((_, letter)) = letters.next() {
        let &(next_at, next) = letters.peek()?;
        let is_end = (letter == '\n' && !before.is_whitespace() && !next.is_whitespace())
            || (MARKS.contains(&letter) && next.is_alphabetic());
        if is_end {
            return Some(start + next_at);
        }
        before = letter;
    }
    None
}
