//! `[task]`: what a model learns of texts with labels or answers, where it does not learn language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LabelRules, Source};

/// What a model says of texts: of each row of a table, or of a question and the paragraph that holds the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskConfig {
    /// To which of some classes they belong.
    Classification(ClassificationTask),
    /// A number.
    Regression(RegressionTask),
    /// Where in a paragraph the answer to a question stands.
    Span(SpanTask),
    /// To which of some classes an image belongs.
    ImageClassification(ImageClassificationTask),
    /// The same in another language or in fewer words: what an encoder-decoder learns of pairs of texts without a task too; with
    /// it, what it writes is scored at each evaluation.
    Translation(TranslationTask),
}

impl TaskConfig {
    /// One of each kind, for conformance tests.
    pub fn examples() -> [Self; 5] {
        [
            Self::Classification(ClassificationTask::default()),
            Self::Regression(RegressionTask::default()),
            Self::Span(SpanTask::default()),
            Self::ImageClassification(ImageClassificationTask::default()),
            Self::Translation(TranslationTask::default()),
        ]
    }

    /// How much an example of a class counts in the training loss, by its label; none where a number is learnt.
    pub fn class_weights_mut(&mut self) -> Option<&mut BTreeMap<String, f64>> {
        match self {
            Self::Classification(task) => Some(&mut task.class_weights),
            Self::ImageClassification(task) => Some(&mut task.class_weights),
            Self::Regression(_) | Self::Span(_) | Self::Translation(_) => None,
        }
    }

    /// The same to be read.
    pub fn class_weights(&self) -> Option<&BTreeMap<String, f64>> {
        match self {
            Self::Classification(task) => Some(&task.class_weights),
            Self::ImageClassification(task) => Some(&task.class_weights),
            Self::Regression(_) | Self::Span(_) | Self::Translation(_) => None,
        }
    }

    /// Label text of rows that have no label, as [`ClassificationTask::unlabelled`]; none where it is derived or there are no such rows.
    pub fn unlabelled(&self) -> Option<&str> {
        match self {
            Self::Classification(task) => task.unlabelled.as_deref(),
            Self::Regression(task) => task.unlabelled.as_deref(),
            Self::ImageClassification(_) | Self::Span(_) | Self::Translation(_) => None,
        }
    }

    /// The same to be changed; none where the task has no such field.
    pub fn unlabelled_mut(&mut self) -> Option<&mut Option<String>> {
        match self {
            Self::Classification(task) => Some(&mut task.unlabelled),
            Self::Regression(task) => Some(&mut task.unlabelled),
            Self::ImageClassification(_) | Self::Span(_) | Self::Translation(_) => None,
        }
    }

    /// Reading of the labels of its table.
    pub fn label_rules(&self) -> LabelRules {
        LabelRules { unlabelled: self.unlabelled().map(str::to_owned), ..LabelRules::default() }
    }

    /// Its word in configs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Classification(_) => "classification",
            Self::Regression(_) => "regression",
            Self::Span(_) => "span",
            Self::ImageClassification(_) => "image_classification",
            Self::Translation(_) => "translation",
        }
    }

    /// The word in configs of the data that it is usually learnt from: of files.
    pub fn data_kind(&self) -> &'static str {
        let such = Source::examples().into_iter().filter(|source| self.learns_from(source));
        such.max_by_key(Source::reads_files).map_or("", |source| source.facts().kind)
    }

    /// The task that is learnt from such data until another one is chosen; none where models learn from them without one.
    pub fn usual_for(source: &Source) -> Option<Self> {
        let first = source.facts().tasks.first().filter(|_| source.has_labels())?;
        Self::examples().into_iter().find(|task| task.kind() == *first)
    }

    /// Whether it is learnt from such data.
    pub fn learns_from(&self, source: &Source) -> bool {
        source.facts().tasks.contains(&self.kind())
    }

    /// Whether the model answers about each example, rather than write a text.
    pub fn answers_examples(&self) -> bool {
        match self {
            Self::Classification(_) | Self::Regression(_) | Self::Span(_) | Self::ImageClassification(_) => true,
            Self::Translation(_) => false,
        }
    }
}

/// Texts belong to one of some classes: those that stand as labels in the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassificationTask {
    /// How much an example of a class counts in the training loss, by its label, above 0; 1 where a class is not named.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub class_weights: BTreeMap<String, f64>,
    /// Label text of rows that have no label and are left out, such as `"-1"`; `"none"`: every text is a class. When absent: `-` beside
    /// other labels, and `-1` beside at least 0, 1 and 2; -1, 0 and 1 alone are asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
}

/// Images belong to one of some classes: those of their source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageClassificationTask {
    /// As of [`ClassificationTask::class_weights`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub class_weights: BTreeMap<String, f64>,
}

/// Texts have a number, learnt by the squared error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegressionTask {
    /// Label text of rows that have no number and are left out, such as `"-1"`. When absent, or `"none"`: every label is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
}

/// The answer to a question is a piece of a paragraph (Devlin et al. 2019, sections 4.2 and 4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanTask {
    /// A paragraph that does not fit beside its question is read in windows, each of which begins so many tokens after the one
    /// before it, 1..; less where a window holds fewer of the paragraph's tokens.
    pub doc_stride: usize,
    /// Tokens of the longest answer that is given, 1..
    pub max_answer: usize,
    /// An answer is given where the score of there being none exceeds that of the best answer by this at most. It counts where
    /// questions may have no answer.
    pub no_answer_threshold: f64,
}

impl Default for SpanTask {
    fn default() -> Self {
        Self { doc_stride: 128, max_answer: 30, no_answer_threshold: 0.0 }
    }
}

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
