use serde::{Deserialize, Serialize};

use super::{generate::GenerateSource, job::Progress, target::Target};

use crate::{
    config::Precision,
    generate::{CacheProof, Search},
    text::floats,
};

/// Generates texts from the same sources with every cache and compares them; answered by [`super::Event::ProvingCaches`]
/// while it goes on and by [`super::Event::CachesProved`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProveCaches {
    /// Which model.
    pub target: Target,
    /// What it goes on with, or what the encoder before it reads; none: the beginnings of examples of the held-out text.
    pub sources: Vec<GenerateSource>,
    /// How many of these, spread evenly over it.
    pub examples: usize,
    /// How many sources at the same time.
    pub batch: usize,
    /// How the texts are searched for; its cache has no say.
    pub search: Box<Search>,
    /// The number formats, each for itself.
    pub precisions: Vec<Precision>,
    /// Threads that compute; none: as many as there are cores.
    pub threads: Option<usize>,
}

/// The caches of a model are compared. At most some 30 a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProvingCaches {
    /// What is done, in words.
    pub label: String,
    /// The share of the whole that is done, 0..=1.
    #[serde(with = "floats")]
    pub fraction: f64,
}

/// Answer to [`super::commands::ProveCaches`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CachesProved {
    /// The model, as given.
    pub target: String,
    /// The texts in words.
    pub data: String,
    /// What was found, one for each precision.
    pub proofs: Vec<PrecisionProof>,
    /// Whether it was stopped.
    pub stopped: bool,
}

/// What the caches make of texts in one number format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionProof {
    /// The number format.
    pub precision: Precision,
    /// What was found.
    pub proof: CacheProof,
}

impl Progress for ProvingCaches {
    fn stage(&self) -> String {
        self.label.clone()
    }

    fn share(&self) -> Option<f64> {
        Some(self.fraction)
    }
}
