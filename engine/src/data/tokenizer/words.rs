use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer,
};

use super::text_tokenizer::failure;
use crate::data::progress::advance;
use crate::data::{DataError, Documents, Progress, Stage};

/// Documents counted between two reports.
const GROUP: usize = 4096;

/// How often each word occurs, after `tokenizer`'s own normaliser and pre-tokeniser. In the order of the words, so
/// that nothing depends on threads or hash seeds.
pub(super) fn count_words(
    documents: &Documents,
    tokenizer: &Tokenizer,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, u64>, DataError> {
    let texts: Vec<&str> = documents.iter().collect();
    let total = documents.bytes() as u64;
    let done = AtomicU64::new(0);
    let mut words: HashMap<String, u64> = HashMap::new();
    for group in texts.chunks(GROUP) {
        let counted = group
            .par_iter()
            .try_fold(HashMap::new, |mut counts, text| {
                if progress.is_stopped() {
                    return Err(DataError::Stopped);
                }
                // Lines are counted one by one: the library's bookkeeping per character makes long texts costly.
                for line in text.split_inclusive('\n') {
                    count_into(&mut counts, line, tokenizer)?;
                }
                done.fetch_add(text.len() as u64, Ordering::Relaxed);
                Ok(counts)
            })
            .try_reduce(HashMap::new, |one, other| Ok(merge(one, other)))?;
        words = merge(words, counted);
        // Counting is taken for half of the work; learning the merges is the other half.
        advance(progress, Stage::TrainingTokenizer, done.load(Ordering::Relaxed), 2 * total)?;
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
