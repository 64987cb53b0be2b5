use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer,
};

use super::text_tokenizer::failure;
use crate::data::encode::groups;
use crate::data::progress::advance;
use crate::data::{DataError, Documents, Progress, Stage};

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
        if let Some(count) = counts.get_mut(word) {
            *count += 1;
        } else {
            counts.insert(word.to_owned(), 1);
        }
    }
    Ok(())
}

fn merge(one: HashMap<String, u64>, other: HashMap<String, u64>) -> HashMap<String, u64> {
    let (mut large, small) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    for (word, count) in small {
        *large.entry(word).or_default() += count;
    }
    large
}
