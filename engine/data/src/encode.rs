use std::sync::Arc;

use rayon::prelude::*;

use super::progress::advance;
use super::text_pieces::groups;
use super::{DataError, Documents, Progress, Stage, TextTokenizer};

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

/// What both parts of a corpus are encoded with.
pub(super) struct Encoder<'a> {
    tokenizer: &'a TextTokenizer,
    separator: Option<u32>,
    progress: &'a dyn Progress,
    done_bytes: u64,
    total_bytes: u64,
}

impl<'a> Encoder<'a> {
    /// `separator` will stand after each document; `total_bytes` is the text in all calls together.
    pub(super) fn new(
        tokenizer: &'a TextTokenizer,
        separator: Option<u32>,
        total_bytes: u64,
        progress: &'a dyn Progress,
    ) -> Self {
        Self { tokenizer, separator, progress, done_bytes: 0, total_bytes }
    }

    /// Encodes `documents` in order, on all threads.
    pub(super) fn encode(&mut self, documents: &Documents) -> Result<TokenStream, DataError> {
        let mut ids = Vec::with_capacity(documents.bytes() / 3);
        let mut ends = Vec::with_capacity(documents.len());
        let mut document = 0;
        let mut close = |ids: &mut Vec<u32>| {
            ids.extend(self.separator);
            ends.push(ids.len());
        };
        for group in groups(documents) {
            let encode = |(_, piece): &(usize, &str)| {
                if self.progress.is_stopped() { Err(DataError::Stopped) } else { self.tokenizer.encode_plain(piece) }
            };
            let encoded = group.par_iter().map(encode).collect::<Result<Vec<_>, DataError>>()?;
            for ((owner, piece), tokens) in group.iter().zip(encoded) {
                while document < *owner {
                    close(&mut ids);
                    document += 1;
                }
                ids.extend(tokens);
                self.done_bytes += piece.len() as u64;
            }
            advance(self.progress, Stage::Encoding, self.done_bytes, self.total_bytes)?;
        }
        for _ in document..documents.len() {
            close(&mut ids);
        }
        Ok(TokenStream { ids: ids.into(), ends })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text_pieces::{groups, pieces};
    use super::Encoder;
    use crate::config::SpecialTokens;
    use crate::tokenizer::bpe;
    use crate::{Documents, Silent, generate_grammar};

    #[test]
    fn pieces_are_the_whole_and_end_between_words() {
        let text = "one\ntwo\n\nthree\n four\nfünfe six, seven";
        assert_eq!(pieces(text, 6).collect::<Vec<_>>(), ["one\ntwo\n\nthree\n four\n", "fünfe", " six, seven"]);
        assert_eq!(pieces(text, 1000).collect::<Vec<_>>(), [text]);
        assert_eq!(pieces("", 1).count(), 0);
    }

    #[test]
    fn no_piece_is_longer_than_four_limits() {
        // One word; one run of blanks; characters of three bytes, of which none is cut.
        for text in ["x".repeat(1000), " ".repeat(1000), "字".repeat(400)] {
            let cut: Vec<&str> = pieces(&text, 50).collect();
            assert!(cut.len() >= 5 && cut.iter().all(|piece| piece.len() <= 200), "{cut:?}");
            assert_eq!(cut.concat(), text);
        }
        // Words that are longer than the limit stay whole, and so do sentences of a script without blanks.
        let words = format!("{} {} {}", "x".repeat(150), "y".repeat(150), "z".repeat(150));
        let cut: Vec<usize> = pieces(&words, 50).map(str::len).collect();
        assert_eq!(cut, [150, 151, 151]);
        let text = format!("{}。", "字".repeat(30)).repeat(9);
        assert!(pieces(&text, 50).all(|piece| piece.ends_with('。')));
        let lines = format!("{}\n", "字".repeat(30)).repeat(9);
        assert!(pieces(&lines, 50).all(|piece| piece.ends_with('\n')));
    }

    /// In a script without blanks too, pieces have the tokens of the whole.
    #[test]
    fn sentences_without_blanks_give_the_tokens_of_their_whole() {
        let text: String = (0..400_u32)
            .flat_map(|at| {
                let letters = (0..=at % 17).map(move |i| char::from_u32(0x4e00 + (at * 31 + i * 7) % 500).unwrap());
                letters.chain([['。', '，', '\n', '！'][at as usize % 4]])
            })
            .collect();
        let documents: Documents = [text.as_str()].into_iter().collect();
        let tokenizer = bpe(&documents, 400, SpecialTokens::GPT2, &Silent).unwrap();
        let cut: Vec<u32> = pieces(&text, 64).flat_map(|piece| tokenizer.encode_plain(piece).unwrap()).collect();
        assert!(pieces(&text, 64).count() > 20);
        assert_eq!(cut, tokenizer.encode_plain(&text).unwrap());
    }

    #[test]
    fn a_long_document_gives_the_tokens_of_its_whole() {
        let short = generate_grammar(20_000, 1, &Silent).unwrap();
        let tokenizer = bpe(&short, 500, SpecialTokens::GPT2, &Silent).unwrap();
        let long = short.iter().collect::<Vec<_>>().join("\n").repeat(5);
        let documents: Documents = ["first", &long, "", "last"].into_iter().collect();
        assert!(groups(&documents).flatten().filter(|(number, _)| *number == 1).count() > 1);
        let total = documents.bytes() as u64;
        let stream = Encoder::new(&tokenizer, Some(0), total, &Silent).encode(&documents).unwrap();
        let mut expected = vec![];
        let mut ends = vec![];
        for text in documents.iter() {
            expected.extend(tokenizer.encode_plain(text).unwrap());
            expected.push(0);
            ends.push(expected.len());
        }
        assert!(stream.ids[..] == expected[..]);
        assert_eq!(stream.ends, ends);
    }
}
