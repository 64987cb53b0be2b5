use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer,
};

use super::library::failure;
use crate::progress::advance;
use crate::text_pieces::groups;
use crate::{DataError, Documents, Progress, Stage};

/// Words of more characters are counted in parts: the trainer's work grows with the square of a word's length.
const MOST_CHARACTERS: usize = 1000;

/// Characters of such a part; few tokens are near as long.
const PART_CHARACTERS: usize = 100;

/// How often each word occurs, after `tokenizer`'s own normaliser and pre-tokeniser. In the order of the words, so
/// that nothing depends on threads or hash seeds.
pub(super) fn count_words(
    documents: &Documents,
    tokenizer: &Tokenizer,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, u64>, DataError> {
    let total = documents.bytes() as u64;
    let mut done = 0;
    let mut words: HashMap<String, u64> = HashMap::new();
    for group in groups(documents) {
        let counted = group
            .par_iter()
            .try_fold(HashMap::new, |mut counts, (_, piece)| {
                if progress.is_stopped() {
                    return Err(DataError::Stopped);
                }
                // Lines are counted one by one: the library's bookkeeping per character makes long texts costly.
                for line in piece.split_inclusive('\n') {
                    count_into(&mut counts, line, tokenizer)?;
                }
                Ok(counts)
            })
            .try_reduce(HashMap::new, |one, other| Ok(merge(one, other)))?;
        words = merge(words, counted);
        done += group.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>();
        // Counting is taken for half of the work; learning the merges is the other half.
        advance(progress, Stage::TrainingTokenizer, done, 2 * total)?;
    }
    Ok(words.into_iter().collect())
}

fn count_into(counts: &mut HashMap<String, u64>, text: &str, tokenizer: &Tokenizer) -> Result<(), DataError> {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = tokenizer.get_normalizer() {
        normalizer.normalize(&mut normalized).map_err(failure)?;
    }
    let mut split = PreTokenizedString::from(normalized);
    if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut split).map_err(failure)?;
    }
    for (word, _, _) in split.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
        for part in parts(word) {
            if let Some(count) = counts.get_mut(part) {
                *count += 1;
            } else {
                counts.insert(part.to_owned(), 1);
            }
        }
    }
    Ok(())
}

/// A word, or its parts where it is a long one.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    // No more bytes than that are no more characters.
    let is_long = word.len() > MOST_CHARACTERS && word.chars().nth(MOST_CHARACTERS).is_some();
    let mut rest = Some(word);
    std::iter::from_fn(move || {
        let word = rest?;
        let cut = if is_long { word.char_indices().nth(PART_CHARACTERS) } else { None };
        let (part, after) = cut.map_or((word, None), |(at, _)| (word.split_at(at).0, Some(word.split_at(at).1)));
        rest = after;
        Some(part)
    })
}

fn merge(one: HashMap<String, u64>, other: HashMap<String, u64>) -> HashMap<String, u64> {
    let (mut large, small) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    for (word, count) in small {
        *large.entry(word).or_default() += count;
    }
    large
}

#[cfg(test)]
mod tests {
    use super::{MOST_CHARACTERS, PART_CHARACTERS, parts};

    #[test]
    fn only_long_words_are_cut() {
        for word in ["", "word", &"x".repeat(MOST_CHARACTERS), &"ä".repeat(MOST_CHARACTERS)] {
            assert_eq!(parts(word).collect::<Vec<_>>(), [word]);
        }
        let long = "ä".repeat(MOST_CHARACTERS + 1);
        let cut: Vec<usize> = parts(&long).map(|part| part.chars().count()).collect();
        assert_eq!(cut, [vec![PART_CHARACTERS; MOST_CHARACTERS / PART_CHARACTERS], vec![1]].concat());
        assert_eq!(parts(&long).collect::<String>(), long);
    }
}
