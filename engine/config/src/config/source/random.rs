//! `data.kind = "random"`: the control of the built-in grammar, generated.

use serde::{Deserialize, Serialize};

use super::{SourceFacts, SourceSettings};

/// Words drawn independently with the grammar's unigram frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomSource {
    /// Words to generate, 1,000..100,000,000.
    pub words: usize,
    /// Seed of the text.
    pub text_seed: u64,
}

impl Default for RandomSource {
    fn default() -> Self {
        Self { words: 200_000, text_seed: 1 }
    }
}

impl RandomSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "random",
        label: "Random words",
        name: Some("random words"),
        run_names: ["random control"; 2],
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for RandomSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn amount_mut(&mut self) -> Option<(&mut usize, &mut u64)> {
        Some((&mut self.words, &mut self.text_seed))
    }
}
