use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::TextTokenizer;
use super::json::word_level;
use crate::config::SpecialTokens;
use crate::progress::advance;
use crate::{DataError, Documents, Progress, Stage};

/// Documents between two reports.
const GROUP: usize = 4096;

/// The tokenizer of a text whose words are known: the special tokens, then the words in their order; a word that is none of them
/// is unknown.
pub(crate) fn symbols(specials: SpecialTokens, words: &[&str]) -> Result<TextTokenizer, DataError> {
    let specials = specials.names;
    let vocabulary: Map<String, Value> =
        specials.iter().chain(words).enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let model = json!({ "type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]" });
    TextTokenizer::from_json(word_level(specials, model).to_string())
}

/// The tokenizer of the words of a text, with `most` tokens at most, special ones included: the most frequent words, of equally
/// frequent ones those that come first in the order of their letters.
pub(crate) fn words_of(
    specials: SpecialTokens,
    documents: &Documents,
    most: usize,
    progress: &dyn Progress,
) -> Result<TextTokenizer, DataError> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for (number, document) in documents.iter().enumerate() {
        if number.is_multiple_of(GROUP) {
            advance(progress, Stage::TrainingTokenizer, number as u64, documents.len() as u64)?;
        }
        for word in document.split_whitespace() {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(&str, u64)> = counts.into_iter().filter(|(word, _)| !specials.names.contains(word)).collect();
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    words.truncate(most.saturating_sub(specials.names.len()));
    symbols(specials, &words.into_iter().map(|(word, _)| word).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::config::ListOpsSource;

    #[test]
    fn every_symbol_is_a_token_and_comes_back() {
        let tokenizer = symbols(SpecialTokens::BERT, &ListOpsSource::SYMBOLS).unwrap();
        assert_eq!(tokenizer.vocabulary_size(), 20);
        let text = "[MAX 2 9 [MIN 4 7 ] [SM 0 1 ] [MED 3 5 ] ]";
        let ids = tokenizer.encode_plain(text).unwrap();
        assert_eq!(ids.len(), text.split(' ').count());
        assert_eq!(ids.first().copied(), tokenizer.id("[MAX"));
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        let frame = tokenizer.frame(1).unwrap();
        let framed: Vec<u32> = frame.around(&ids, &[]).map(|(id, _)| id).collect();
        assert_eq!((framed[0], framed[framed.len() - 1]), (2, 3), "[CLS] and [SEP]");
        assert_eq!(tokenizer.encode_plain("[FIRST").unwrap(), [1], "[UNK]");
    }

    #[test]
    fn the_most_frequent_words_are_tokens() {
        let documents: Documents = ["( [MAX 1 2 ]", "b a [CLS] a", "2 2 b"].into_iter().collect();
        let all = words_of(SpecialTokens::BERT, &documents, 1000, &Silent).unwrap();
        let token = |id: u32| all.token(id).unwrap();
        assert_eq!([5, 6, 7, 8].map(token), ["2", "a", "b", "("]);
        assert_eq!(all.vocabulary_size(), 5 + 7);
        let few = words_of(SpecialTokens::BERT, &documents, 7, &Silent).unwrap();
        assert_eq!(few.encode_plain("a b 2").unwrap(), [6, 1, 5]);
    }
}
