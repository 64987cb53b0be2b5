//! `data.kind = "grammar"`: English-like text, generated.

use serde::{Deserialize, Serialize};

use super::{SourceFacts, SourceSettings};

/// Text from the built-in grammar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrammarSource {
    /// Words to generate, 1,000..100,000,000.
    pub words: usize,
    /// Seed of the text, apart from the run's seed so that runs with several seeds see the same text.
    pub text_seed: u64,
}

impl Default for GrammarSource {
    fn default() -> Self {
        Self { words: 200_000, text_seed: 1 }
    }
}

impl GrammarSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "grammar",
        label: "Built-in English",
        name: Some("the built-in grammar"),
        run_names: ["grammar decoder", "grammar encoder"],
        follows_grammar: true,
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for GrammarSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn amount_mut(&mut self) -> Option<(&mut usize, &mut u64)> {
        Some((&mut self.words, &mut self.text_seed))
    }
}
