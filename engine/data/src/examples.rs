//! Some examples of data, as a model will see them, before anything is trained on it.

use serde::{Deserialize, Serialize};

use super::Documents;
use super::seen::{PreviewExample, brief};

/// Examples that are shown.
pub(super) const SHOWN: usize = 3;

/// The beginning of data that is no table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExamplesPreview {
    /// What was looked at, in words: "The first 269 questions on 55 paragraphs".
    pub about: String,
    /// Some examples. Texts of a question: it and its paragraph, around the answer; the label is the answer. Text of a
    /// pair: the source; the label is its translation.
    pub examples: Vec<PreviewExample>,
}

/// Pairs beside their translations.
pub(super) fn of_pairs(found: &Documents, about: String) -> ExamplesPreview {
    let text = |place: usize| found.get(place).map(brief).unwrap_or_default();
    let pair = |number: usize| PreviewExample {
        texts: vec![text(2 * number)],
        label: text(2 * number + 1),
        tokens: None,
        cut_off: 0,
    };
    ExamplesPreview { about, examples: (0..SHOWN.min(found.len() / 2)).map(pair).collect() }
}
