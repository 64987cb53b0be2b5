//! How well a model translates what was held out of it, by comparing what it writes with what people wrote.

use super::{
    TrainError,
    writing::{fastest_cache, goes_on, translation_marks},
};
use crate::{
    config::{RunConfig, TextScoring},
    data::{HeldOut, TextTokenizer},
    generate::{Ending, GenerateError, Search, generate},
    model::Model,
    objective::{
        Batch, Measurements,
        text_scores::{TextScores, UnscoredReferences, Words},
    },
};

/// Texts that are translated at the same time.
const AT_ONCE: usize = 32;

/// A text and its right translation.
struct Pair {
    source: Vec<u32>,
    right: String,
}

/// Translates held-out pairs, always the same ones, and scores the translations. It draws nothing and changes nothing of a run.
pub struct TranslationMeasure {
    tokenizer: TextTokenizer,
    /// By their lengths, so that those that are translated together end together.
    pairs: Vec<Pair>,
    beams: usize,
    /// Tokens of a translation, at most.
    longest: usize,
}

impl TranslationMeasure {
    /// What scores the translations of a run with this config; none of one whose task is another, or that has none.
    ///
    /// # Errors
    /// If tokens cannot be read as text.
    pub fn new(config: &RunConfig, tokenizer: &TextTokenizer, held_out: &HeldOut) -> Result<Option<Self>, TrainError> {
        let Some(TextScoring { pairs: scored, beams }) = config.task.as_ref().and_then(|task| task.scoring()) else {
            return Ok(None);
        };
        let mut pairs = Vec::with_capacity(scored);
        for batch in held_out.spread(scored, AT_ONCE) {
            pairs.extend(pairs_of(&batch, tokenizer)?);
        }
        pairs.sort_by_key(|pair| pair.source.len());
        let longest = config.data.sequence_length + config.data.sequence_length / 2;
        Ok(Some(Self { tokenizer: tokenizer.clone(), pairs, beams, longest }))
    }

    /// How many pairs are translated.
    pub fn pairs(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Pairs whose right translations some scores say nothing of.
    pub fn unscored(&self) -> UnscoredReferences {
        let mut unscored = UnscoredReferences::default();
        self.pairs.iter().for_each(|pair| unscored.add(&pair.right, Words::default()));
        unscored
    }

    /// The scores of a model; `None` when `should_stop` cut it short.
    ///
    /// # Errors
    /// If the model cannot be computed.
    pub fn measure(&self, model: &Model, should_stop: &dyn Fn() -> bool) -> Result<Option<Measurements>, TrainError> {
        let marks = translation_marks(&self.tokenizer);
        let search = Search {
            cache: fastest_cache(model),
            max_new_tokens: self.longest,
            beams: self.beams,
            ..Search::default()
        };
        let mut scores = TextScores::default();
        for pairs in self.pairs.chunks(AT_ONCE) {
            let sources: Vec<Vec<u32>> = pairs.iter().map(|pair| pair.source.clone()).collect();
            let written =
                match generate(model, &sources, &marks, &search, None, |progress| goes_on(&progress, should_stop)) {
                    Ok(written) => written.texts,
                    // A model that has diverged writes nothing; its loss says so.
                    Err(GenerateError::NotFinite) => return Ok(Some(Measurements::default())),
                    Err(error) => return Err(error.into()),
                };
            for (pair, written) in pairs.iter().zip(&written) {
                if written.ending == Ending::Stopped {
                    return Ok(None);
                }
                scores.add(&self.tokenizer.decode(&written.tokens)?, &pair.right);
            }
        }
        let is_none = self.pairs.is_empty();
        Ok(Some(if is_none { Measurements::default() } else { scores.measurements() }))
    }
}

/// The pairs of a batch.
fn pairs_of(batch: &Batch, tokenizer: &TextTokenizer) -> Result<Vec<Pair>, TrainError> {
    let Some(sources) = &batch.sources else { return Ok(Vec::new()) };
    let labels = batch.labels.chunks(batch.sequence.max(1));
    let pair = |(source, labels): (Vec<u32>, &[i64])| {
        let right: Vec<u32> = labels.iter().filter_map(|label| u32::try_from(*label).ok()).collect();
        Ok(Pair { source, right: tokenizer.decode(&right)? })
    };
    sources.rows().into_iter().zip(labels).map(pair).collect()
}
