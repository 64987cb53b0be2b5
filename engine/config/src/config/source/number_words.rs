//! `data.kind = "number_words"`: pairs of texts, generated.

use serde::{Deserialize, Serialize};

use super::{Modality, SourceFacts, SourceSettings};

/// English numbers and dates in words with their German translations. No held-out pair is among those for training,
/// however many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumberWordsSource {
    /// Pairs to train on, 1,000..10,000,000.
    pub pairs: usize,
    /// Seed of the pairs, apart from the run's seed so that runs with several seeds see the same ones.
    pub text_seed: u64,
}

impl Default for NumberWordsSource {
    fn default() -> Self {
        Self { pairs: 20_000, text_seed: 1 }
    }
}

impl NumberWordsSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "number_words",
        label: "Number words, to translate",
        modality: Modality::Pairs,
        name: Some("number words"),
        run_names: ["number words"; 2],
        tasks: &["translation"],
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for NumberWordsSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }
}
