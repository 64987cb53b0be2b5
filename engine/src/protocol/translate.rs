use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    job::{Progress, share_of},
    target::Target,
};

use crate::{
    config::{DataConfig, Precision},
    generate::Search,
    objective::{
        Measurements,
        text_scores::{UnscoredReferences, Words},
    },
    text::floats,
};

/// Translates pairs of texts with a run's model or that of a model directory and scores the translations; answered by
/// [`super::Event::Translating`] as it goes on and by [`super::Event::TranslationEvaluated`]. [`super::Command::Stop`] keeps what
/// there is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluateTranslation {
    /// Which model.
    pub target: Target,
    /// Which pairs; `None` = those that were held out of the training of the run, or of the one whose config lies in the directory.
    pub data: Option<Box<DataConfig>>,
    /// How many of them, from the first on; none: all.
    pub limit: Option<usize>,
    /// How many are translated at the same time.
    pub batch: usize,
    /// How translations are searched for.
    pub search: Box<Search>,
    /// Cutting of words for BLEU.
    #[serde(default)]
    pub words: Words,
    /// The number format in which the model computes.
    pub precision: Precision,
    /// Threads that compute; none: as many as there are cores.
    pub threads: Option<usize>,
    /// Folder from which relative paths in `data` are taken.
    pub base_dir: PathBuf,
}

/// Texts are being translated to score them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Translating {
    /// Those that are done.
    pub done: usize,
    /// All.
    pub pairs: usize,
}

/// Answer to [`super::commands::EvaluateTranslation`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TranslationEvaluated {
    /// The model, as given.
    pub target: String,
    /// The pairs in words.
    pub data: String,
    /// How many pairs were translated.
    pub pairs: usize,
    /// The scores, each a field, from 0 to 100.
    #[serde(flatten)]
    pub metrics: Measurements,
    /// Cutting of words for BLEU.
    #[serde(default)]
    pub bleu_tokenize: Words,
    /// References that ROUGE or BLEU says nothing of.
    #[serde(default)]
    pub unscored_references: UnscoredReferences,
    /// Tokens that were written, what ends texts included.
    pub tokens: usize,
    /// Time of all translations together.
    #[serde(with = "floats")]
    pub seconds: f64,
    /// The part of it in which sources were read.
    #[serde(with = "floats")]
    pub reading_seconds: f64,
    /// Translations a second.
    #[serde(with = "floats")]
    pub samples_per_sec: f64,
    /// What was kept between tokens, in a word.
    pub cache: String,
    /// The most that was kept, without room for tokens to come.
    pub cache_bytes: u64,
    /// Texts that were followed for each source.
    pub beams: usize,
    /// How many sources were translated at the same time.
    pub batch: usize,
    /// Sources that the model's positions cut off.
    pub cut_sources: usize,
    /// Sources with characters that the tokenizer does not know.
    pub unknown_sources: usize,
    /// Whether it was stopped.
    pub stopped: bool,
    /// The translations, in the order of the pairs.
    pub translations: Vec<String>,
}

impl Progress for Translating {
    fn stage(&self) -> String {
        format!("{} of {}", self.done, self.pairs)
    }

    fn share(&self) -> Option<f64> {
        Some(share_of(self.done as u64, self.pairs as u64))
    }
}
