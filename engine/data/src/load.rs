//! Loading of a corpus, with what its first batches tell of it.

use std::path::Path;

use super::{Batcher, Corpus, DataError, Progress, Reading};
use crate::config::{DataConfig, LongPairs, counted};
use crate::objective::Objective;

impl Corpus {
    /// Reads or generates the text, holds out a part, trains or opens the tokenizer, encodes.
    ///
    /// Relative paths start at `base_dir`; trained tokenizers are kept in `cache_dir`.
    pub fn load(
        config: &DataConfig,
        objective: &Objective,
        base_dir: &Path,
        cache_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        Self::load_for(None, config, (objective, &Reading::default()), base_dir, cache_dir, progress)
    }

    /// The same for a model whose `tokenizer.json` has the text `model_tokenizer`: where the config asks for that of the model
    /// which training begins with, it is this one. Pairs are framed as `framing` says.
    pub fn load_for(
        model_tokenizer: Option<&str>,
        config: &DataConfig,
        (objective, reading): (&Objective, &Reading),
        base_dir: &Path,
        cache_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let mut corpus = Self::assembled(model_tokenizer, config, (objective, reading), base_dir, cache_dir, progress)?;
        if config.source.has_images() {
            return Ok(corpus);
        }
        // Before a model is built for text that does not fill one example.
        let batcher = Batcher::new(&corpus, objective, 1, config.sequence_length, 0)?;
        if batcher.long_rows() > 0 {
            corpus.warnings.push(format!(
                "{} for training {} longer than {} and {} cut off. Raise data.sequence_length to read {} whole.",
                counted(batcher.long_rows(), "row"),
                if batcher.long_rows() == 1 { "is" } else { "are" },
                counted(config.sequence_length, "token"),
                if batcher.long_rows() == 1 { "was" } else { "were" },
                if batcher.long_rows() == 1 { "it" } else { "them" },
            ));
        }
        corpus.warnings.extend(batcher.window_notes());
        if batcher.long_pairs() > 0 {
            corpus.warnings.push(format!(
                "{} for training {} a side of more than {} and {}. Raise data.sequence_length to read {} whole.",
                counted(batcher.long_pairs(), "pair"),
                if batcher.long_pairs() == 1 { "has" } else { "have" },
                counted(config.sequence_length.saturating_sub(1), "token"),
                match config.source.settings().long_pairs() {
                    LongPairs::LeaveOut => "were left out",
                    LongPairs::Truncate => "were cut off",
                },
                if batcher.long_pairs() == 1 { "it" } else { "them" },
            ));
        }
        Ok(corpus)
    }
}
