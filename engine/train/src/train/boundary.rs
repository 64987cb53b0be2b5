//! Where words and lines begin among tokens, so that a sample can begin and end at one.

use std::ops::Range;

use crate::data::{DataError, TextTokenizer};

/// How a token stands to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Junction {
    /// In the middle of a word.
    Inside,
    /// A word begins with it.
    Word,
    /// A line or a document begins with it.
    Line,
}

/// Tokens of `ids` to begin a text with: some `least` of them, at most `most`, from the beginning of a line or else of
/// a word in the first half, to the end of a word. Where there is no such place, the first `least`. `is_beginning`
/// says that a document begins with the first token.
pub(super) fn prompt(
    tokenizer: &TextTokenizer,
    ids: &[u32],
    is_beginning: bool,
    least: usize,
    most: usize,
) -> Result<Range<usize>, DataError> {
    let fallback = 0..least.min(ids.len());
    let starts = (ids.len() / 2 + 1).min((ids.len() + 1).saturating_sub(least));
    let mut best = (Junction::Inside, 0);
    for at in 0..starts {
        let junction = if at == 0 && is_beginning { Junction::Line } else { junction(tokenizer, ids, at)? };
        let room = ids.get(at..(at + least).min(ids.len())).unwrap_or_default();
        if junction > best.0 && is_visible(tokenizer, room)? {
            best = (junction, at);
            if junction == Junction::Line {
                break;
            }
        }
    }
    if best.0 == Junction::Inside {
        return Ok(fallback);
    }
    let start = best.1;
    for end in start + least..=(start + most).min(ids.len()) {
        if end == ids.len() || junction(tokenizer, ids, end)? > Junction::Inside {
            return Ok(start..end);
        }
    }
    Ok(start..(start + least).min(ids.len()))
}

/// The first token of `ids` that begins a word, if one in the first half does and the first does not.
pub(super) fn first_word(tokenizer: &TextTokenizer, ids: &[u32]) -> Result<usize, DataError> {
    let first = ids.first().copied().unwrap_or_default();
    // What a word of pieces goes on with is spelt so; other vocabularies show it by blanks.
    let is_piece = |id: u32| tokenizer.token(id).is_some_and(|token| token.starts_with("##"));
    if !is_piece(first) && !tokenizer.is_bytes() {
        return Ok(0);
    }
    for at in 1..ids.len() / 2 {
        if junction(tokenizer, ids, at)? > Junction::Inside {
            return Ok(at);
        }
    }
    Ok(0)
}

/// Whether the text begins with something to see and ends in the document that it begins in.
fn is_visible(tokenizer: &TextTokenizer, ids: &[u32]) -> Result<bool, DataError> {
    let end = tokenizer.specials().end_of_text;
    let first = tokenizer.decode(ids.get(..1).unwrap_or_default())?;
    Ok(!first.trim().is_empty() && !ids.iter().any(|id| Some(*id) == end))
}

fn junction(tokenizer: &TextTokenizer, ids: &[u32], at: usize) -> Result<Junction, DataError> {
    let Some(pair) = at.checked_sub(1).and_then(|before| ids.get(before..=at)) else { return Ok(Junction::Inside) };
    let (before, both) = (pair.split_at(1).0, tokenizer.decode(pair)?);
    if before.first().copied() == tokenizer.specials().end_of_text
        || pair.last().copied() == tokenizer.specials().end_of_text
    {
        return Ok(Junction::Line);
    }
    let before = tokenizer.decode(before)?;
    // A character of several bytes reads otherwise alone than together; nothing begins in it.
    let Some(own) = both.strip_prefix(before.as_str()) else { return Ok(Junction::Inside) };
    Ok(if before.ends_with('\n') {
        Junction::Line
    } else if before.ends_with(char::is_whitespace) || own.starts_with(char::is_whitespace) {
        Junction::Word
    } else {
        Junction::Inside
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{ByteTokenizer, DataConfig, GrammarSource, Source, Tokenizer, TrainedTokenizer},
        data::{Corpus, Silent},
        objective::Objective,
    };

    fn corpus(tokenizer: Tokenizer, objective: Objective) -> Corpus {
        let folder = tempfile::TempDir::new().unwrap();
        let source = Source::Grammar(GrammarSource { words: 5000, text_seed: 1 });
        let config = DataConfig { source, tokenizer, sequence_length: 32, ..DataConfig::default() };
        Corpus::load(&config, &objective, folder.path(), folder.path(), &Silent).unwrap()
    }

    fn prompted(corpus: &Corpus, text: &str, is_beginning: bool) -> String {
        let ids = corpus.tokenizer.encode_plain(text).unwrap();
        let range = prompt(&corpus.tokenizer, &ids, is_beginning, 8, 24).unwrap();
        corpus.tokenizer.decode(&ids[range]).unwrap()
    }

    #[test]
    fn a_prompt_of_bytes_begins_at_a_line_or_a_word_and_ends_with_one() {
        let corpus = corpus(Tokenizer::Bytes(ByteTokenizer {}), Objective::NEXT_TOKEN);
        assert_eq!(prompted(&corpus, "ghter sleeps on the old ship tonight", false), "sleeps on");
        assert_eq!(prompted(&corpus, "leeps.\nMy daughter sleeps on the ship", false), "My daughter");
        assert_eq!(prompted(&corpus, "My daughter sleeps on the ship", true), "My daughter");
        assert_eq!(prompted(&corpus, "nothingbutoneverylongwordthatneverends", false), "nothingb");
        assert_eq!(prompted(&corpus, "short", false), "short");
        assert_eq!(prompted(&corpus, "", false), "");
        // Nothing is cut out of a character of several bytes.
        assert_eq!(prompted(&corpus, "\u{e4}\u{f6}\u{fc} \u{e4}pfel und birnen und mehr", false), "\u{e4}pfel und");
    }

    #[test]
    fn a_prompt_of_merged_tokens_begins_with_a_word_of_one_document() {
        let corpus = corpus(Tokenizer::Bpe(TrainedTokenizer { vocabulary: 400 }), Objective::NEXT_TOKEN);
        let end = corpus.tokenizer.specials().end_of_text.unwrap();
        for window in corpus.dataset.tokens().unwrap().validation.ids.chunks(64).take(20) {
            let range = prompt(&corpus.tokenizer, window, false, 8, 24).unwrap();
            assert!((8..=24).contains(&range.len()), "{range:?}");
            let whole = corpus.tokenizer.decode(window).unwrap();
            let shown = corpus.tokenizer.decode(&window[range.clone()]).unwrap();
            let words: Vec<&str> = whole.split_whitespace().collect();
            let first = shown.split_whitespace().next().unwrap();
            let begins = range.start > 0 && window[range.start - 1] == end;
            assert!(begins || words.contains(&first), "{first:?} of {shown:?} is no word of {whole:?}");
        }
    }

    #[test]
    fn an_example_of_pieces_is_shown_from_its_first_whole_word() {
        let corpus = corpus(Tokenizer::WordPiece(TrainedTokenizer { vocabulary: 300 }), Objective::MASKED_TOKENS);
        let tokenizer = &corpus.tokenizer;
        let ids = corpus.dataset.tokens().unwrap().validation.ids.iter().copied();
        let is_piece = |id: u32| tokenizer.token(id).unwrap().starts_with("##");
        let from_piece: Vec<u32> = ids.clone().skip_while(|id| !is_piece(*id)).take(40).collect();
        let at = first_word(tokenizer, &from_piece).unwrap();
        assert!(at > 0 && !is_piece(from_piece[at]), "{at}");
        let from_word: Vec<u32> = ids.skip_while(|id| is_piece(*id)).take(40).collect();
        assert_eq!(first_word(tokenizer, &from_word).unwrap(), 0);
        assert_eq!(first_word(tokenizer, &[]).unwrap(), 0);
    }
}
