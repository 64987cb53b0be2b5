use serde::{Deserialize, Serialize};

use super::{CapturedVariance, Projection, ScoreSpectra, Similarity, reconstruction::Reconstruction};
use crate::config::DataConfig;

/// What a note of an analysis is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// All of it.
    #[default]
    Analysis,
    /// Scores restored from some of their pairs.
    Reconstruction,
    /// Spectra of scores.
    Spectra,
}

/// What was found out about the attention of one model on one text. Parts that were not asked for, or cannot be had, are
/// not there; `notes` say why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Analysis {
    /// The model in words: a run and its checkpoint, or a directory.
    pub target: String,
    /// Optimiser steps of the model, where known.
    pub step: Option<u64>,
    /// The text in words.
    pub data: String,
    /// The text that was named, so that its examples can be read again; none: the held-out text of the model's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<DataConfig>>,
    /// Whether that is the held-out text of the model's run, in the order in which the run read it.
    pub is_own_text: bool,
    /// Examples that were analysed.
    pub examples: u64,
    /// Tokens of an example.
    pub tokens: usize,
    /// Similarity of maps, a measure each.
    pub similarity: Vec<Similarity>,
    /// Spectra of scores.
    pub spectra: Option<ScoreSpectra>,
    /// Captured variance of weights.
    pub captured: Option<CapturedVariance>,
    /// Energy in spaces that were found elsewhere.
    pub projections: Vec<Projection>,
    /// Scores restored from some of their pairs.
    pub reconstruction: Option<Reconstruction>,
    /// What could not be had or is to be known, in whole sentences.
    pub notes: Vec<String>,
    /// What each of the `notes` is about; of those that have no place here, the whole analysis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<Topic>,
    /// Time that it took.
    pub secs: f64,
}

impl Analysis {
    /// Without what only the engine needs: what restores maps from some of their pairs, which is large.
    #[must_use]
    pub fn light(mut self) -> Self {
        self.reconstruction = self.reconstruction.map(Reconstruction::light);
        self
    }

    /// Adds notes about a part of it.
    pub fn note(&mut self, topic: Topic, notes: impl IntoIterator<Item = String>) {
        self.topics.resize(self.notes.len(), Topic::Analysis);
        self.notes.extend(notes);
        self.topics.resize(self.notes.len(), topic);
    }

    /// The notes about these parts.
    pub fn notes_on(&self, topics: &[Topic]) -> impl Iterator<Item = &str> {
        let of = self.topics.iter().copied().chain(std::iter::repeat(Topic::Analysis));
        self.notes.iter().zip(of).filter(|(_, topic)| topics.contains(topic)).map(|(note, _)| note.as_str())
    }

    /// The similarity by one measure.
    pub fn similarity(&self, measure: super::Measure) -> Option<&Similarity> {
        self.similarity.iter().find(|similarity| similarity.measure == measure)
    }
}
