use serde::{Deserialize, Serialize};

use super::description::{Describe, TaskInfo, TaskOutput, TextScoring};

/// Texts are translated, or told in fewer words, by an encoder-decoder. Evaluations compare what it writes with what people wrote:
/// BLEU, chrF, ROUGE and equality.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TranslationTask {
    /// Held-out pairs that are translated and scored at each evaluation, spread evenly over all, 1..
    pub scored_pairs: usize,
    /// Translations that are followed at the same time; 1: word by word the most probable, 1..=64.
    pub beams: usize,
}

impl Default for TranslationTask {
    fn default() -> Self {
        Self { scored_pairs: 64, beams: 1 }
    }
}

impl Describe for TranslationTask {
    fn info(&self) -> &'static TaskInfo {
        &TaskInfo {
            kind: "translation",
            data: "pairs of texts",
            output: TaskOutput::Text,
            reads_images: false,
            loss_unit: "nats/token",
            note: "",
        }
    }

    fn scoring(&self) -> Option<TextScoring> {
        Some(TextScoring { pairs: self.scored_pairs, beams: self.beams })
    }
}
