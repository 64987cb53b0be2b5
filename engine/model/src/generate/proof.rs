use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{GenerateError, Marks, Search, generate_numbered, run::check};
use crate::{
    config::Cache,
    model::{Begun, Decoder, Model, Room},
};

/// What the caches made of the same sources, beside the way that keeps nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheProof {
    /// Texts that were generated with each cache.
    pub texts: usize,
    /// Tokens of these texts without a cache.
    pub tokens: usize,
    /// Every cache, the one that keeps nothing first.
    pub caches: Vec<ProvedCache>,
    /// Whether it was stopped before all sources were read.
    pub stopped: bool,
}

/// A cache in a [`CacheProof`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvedCache {
    /// The cache.
    pub cache: Cache,
    /// Texts whose tokens are those that come without a cache.
    pub identical: usize,
    /// Texts whose tokens are those of the reference, another precision as a rule; none where there is no reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_reference: Option<usize>,
    /// The largest difference of a logit from the one without a cache, while both read the text that came without one.
    #[serde(with = "crate::text::floats")]
    pub largest_difference: f64,
    /// The most that was kept between tokens for a batch, without room for tokens to come.
    pub cache_bytes: u64,
    /// Time that the texts took, in all.
    #[serde(with = "crate::text::floats")]
    pub seconds: f64,
    /// Why this model cannot be generated from with it; then the numbers mean nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl CacheProof {
    /// Whether every cache that has a meaning for the model wrote the same tokens.
    pub fn is_lossless(&self) -> bool {
        self.texts > 0 && self.caches.iter().all(|found| found.why.is_some() || found.identical == self.texts)
    }
}

/// Generates texts from the same sources with every cache, `batch` at a time, and compares tokens and logits. `reference` are the tokens
/// of other texts to compare with. `each` hears how many sources are done and may stop, whereupon the batches that are done are the result. Returns the
/// tokens that came without a cache too.
///
/// # Errors
/// If nothing can be generated without a cache.
pub fn prove_caches(
    model: &Model,
    sources: &[Vec<u32>],
    marks: &Marks,
    search: &Search,
    (batch, free_bytes): (usize, Option<u64>),
    reference: Option<&[Vec<u32>]>,
    each: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(CacheProof, Vec<Vec<u32>>), GenerateError> {
    let row = |cache| ProvedCache {
        cache,
        identical: 0,
        as_reference: reference.map(|_| 0),
        largest_difference: 0.0,
        cache_bytes: 0,
        seconds: 0.0,
        why: None,
    };
    let mut proof = CacheProof { caches: Cache::ALL.map(row).to_vec(), ..CacheProof::default() };
    let mut all = Vec::new();
    for (number, chunk) in sources.chunks(batch.max(1)).enumerate() {
        let first = number * batch.max(1);
        let numbers: Vec<u64> = (first as u64..).take(chunk.len()).collect();
        let mut of_caches: Vec<Option<Vec<Vec<u32>>>> = Vec::new();
        let mut found_of_chunk = proof.caches.clone();
        for row in &mut found_of_chunk {
            if row.why.is_some() {
                of_caches.push(None);
                continue;
            }
            let search = Search { cache: row.cache.clone(), ..search.clone() };
            let mut stopped = false;
            let found = generate_numbered(model, (chunk, &numbers), marks, &search, free_bytes, &mut |_| {
                stopped = stopped || each(first).is_break();
                if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if stopped {
                proof.stopped = true;
                return Ok((proof, all));
            }
            match found {
                Ok(found) => {
                    row.seconds += found.seconds;
                    row.cache_bytes = row.cache_bytes.max(found.filled_bytes);
                    of_caches.push(Some(found.texts.into_iter().map(|text| text.tokens).collect()));
                }
                Err(error) if row.cache.is_none() => return Err(error),
                Err(error) => {
                    row.why = Some(error.to_string());
                    of_caches.push(None);
                }
            }
        }
        let plain = of_caches.first().cloned().flatten().unwrap_or_default();
        let rivals: Vec<Cache> =
            found_of_chunk.iter().skip(1).filter(|row| row.why.is_none()).map(|row| row.cache.clone()).collect();
        let search = Search { cache: Cache::default(), ..search.clone() };
        check(model, chunk, marks, &search, free_bytes)?;
        let differences = logit_differences(model, chunk, marks, &plain, &rivals)?;
        let mut differences = differences.into_iter();
        for (row, texts) in found_of_chunk.iter_mut().zip(&of_caches) {
            let Some(texts) = texts else { continue };
            row.identical += texts.iter().zip(&plain).filter(|(own, plain)| own == plain).count();
            if let (Some(count), Some(reference)) = (&mut row.as_reference, reference) {
                *count += texts.iter().zip(reference.iter().skip(first)).filter(|(own, other)| own == other).count();
            }
            if !row.cache.is_none() {
                row.largest_difference = larger(row.largest_difference, differences.next().unwrap_or(f64::NAN));
            }
        }
        proof.caches = found_of_chunk;
        proof.texts += chunk.len();
        proof.tokens += plain.iter().map(Vec::len).sum::<usize>();
        all.extend(plain);
        if each(first + chunk.len()).is_break() && all.len() < sources.len() {
            proof.stopped = true;
            break;
        }
    }
    Ok((proof, all))
}

/// The larger one; NaN where one is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The largest difference of a logit of each cache from the one without a cache, while all read the same texts.
fn logit_differences(
    model: &Model,
    sources: &[Vec<u32>],
    marks: &Marks,
    texts: &[Vec<u32>],
    caches: &[Cache],
) -> Result<Vec<f64>, GenerateError> {
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let room = Room { rows: sources.len(), tokens: longest };
    let begin = |cache: &Cache| model.begin(cache, sources, marks.start, room);
    let Begun { decoder: mut plain, logits: mut expected } = begin(&Cache::default())?;
    let begun = caches.iter().map(begin).collect::<Result<Vec<_>, _>>()?;
    let mut rivals: Vec<(Box<dyn Decoder>, Vec<f32>, f64)> =
        begun.into_iter().map(|Begun { decoder, logits }| (decoder, logits, 0.0)).collect();
    let mut rows: Vec<&[u32]> = texts.iter().map(Vec::as_slice).collect();
    for place in 0..longest {
        for (_, logits, difference) in &mut rivals {
            let of_step = expected.iter().zip(logits.iter()).map(|(a, b)| f64::from((a - b).abs()));
            *difference = of_step.fold(*difference, larger);
        }
        // The last token of a text is read by nobody.
        let going_on: Vec<usize> = {
            let goes_on = rows.iter().enumerate().filter(|(_, text)| text.len() > place + 1);
            goes_on.map(|(row, _)| row).collect()
        };
        if going_on.is_empty() {
            break;
        }
        rows = going_on.iter().map(|row| rows[*row]).collect();
        let tokens: Vec<u32> = rows.iter().map(|text| text[place]).collect();
        plain.select(&going_on)?;
        expected = plain.step(&tokens)?;
        for (decoder, logits, _) in &mut rivals {
            decoder.select(&going_on)?;
            *logits = decoder.step(&tokens)?;
        }
    }
    Ok(rivals.into_iter().map(|(.., difference)| difference).collect())
}
