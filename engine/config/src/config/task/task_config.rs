//! The list of tasks.

use serde::{Deserialize, Serialize};

use super::{
    classification::ClassificationTask,
    description::{Describe, TaskInfo, TaskOutput},
    image_classification::ImageClassificationTask,
    regression::RegressionTask,
    span::SpanTask,
    translation::TranslationTask,
};
use crate::{
    config::{LabelRules, Source},
    described,
};

described! {
    /// Task of a model: an answer about each row of a table, or to a question about a paragraph.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum TaskConfig: Describe {
        /// To which of some classes they belong.
        Classification(ClassificationTask),
        /// A number.
        Regression(RegressionTask),
        /// Place of the answer to a question in a paragraph.
        Span(SpanTask),
        /// To which of some classes an image belongs.
        ImageClassification(ImageClassificationTask),
        /// The same in another language or in fewer words: what an encoder-decoder learns of pairs of texts without a task too; with
        /// it, what it writes is scored at each evaluation.
        Translation(TranslationTask),
    }
}

impl TaskConfig {
    /// One of each kind, for conformance tests.
    pub fn examples() -> Vec<Self> {
        Self::usual()
    }

    /// Names and properties of the task with this word in configs.
    pub fn info_of(kind: &str) -> Option<&'static TaskInfo> {
        Self::examples().iter().map(|task| task.info()).find(|info| info.kind == kind)
    }

    /// Its word in configs.
    pub fn kind(&self) -> &'static str {
        self.info().kind
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

    /// True if it is learnt from such data.
    pub fn learns_from(&self, source: &Source) -> bool {
        source.facts().tasks.contains(&self.kind())
    }

    /// Reading of the labels of its table.
    pub fn label_rules(&self) -> LabelRules {
        LabelRules { unlabelled: self.unlabelled().map(str::to_owned), ..LabelRules::default() }
    }

    /// True if the model answers about each example, rather than write a text.
    pub fn answers_examples(&self) -> bool {
        self.info().output != TaskOutput::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_kinds_of_data_know_each_other() {
        for task in TaskConfig::examples() {
            assert_eq!(serde_json::to_value(&task).unwrap()["kind"], task.kind());
            assert_eq!(TaskConfig::info_of(task.kind()), Some(task.info()));
            let usual = Source::of_kind(task.data_kind()).unwrap();
            assert!(task.learns_from(&usual) && usual.reads_files(), "{}", task.kind());
        }
        for source in Source::examples() {
            let usual = TaskConfig::usual_for(&source);
            assert_eq!(usual.is_some_and(|task| task.learns_from(&source)), source.has_labels());
            for word in source.facts().tasks {
                let info = TaskConfig::info_of(word).unwrap();
                assert_eq!(info.reads_images, source.has_images(), "{word}");
                assert_eq!(info.output == TaskOutput::Text, source.has_pairs(), "{word}");
            }
        }
    }
}
