//! `[task]`: what a model learns of a table, where it does not learn language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a model says of the texts of each row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskConfig {
    /// To which of some classes they belong.
    Classification(ClassificationTask),
    /// A number.
    Regression(RegressionTask),
    /// To which of some classes an image belongs.
    ImageClassification(ImageClassificationTask),
}

impl TaskConfig {
    /// One of each kind, for conformance tests.
    pub fn examples() -> [Self; 3] {
        [
            Self::Classification(ClassificationTask::default()),
            Self::Regression(RegressionTask::default()),
            Self::ImageClassification(ImageClassificationTask::default()),
        ]
    }

    /// How much an example of a class counts in the training loss, by its label; none where a number is learnt.
    pub fn class_weights(&self) -> Option<&BTreeMap<String, f64>> {
        match self {
            Self::Classification(task) => Some(&task.class_weights),
            Self::ImageClassification(task) => Some(&task.class_weights),
            Self::Regression(_) => None,
        }
    }

    /// Its word in configs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Classification(_) => "classification",
            Self::Regression(_) => "regression",
            Self::ImageClassification(_) => "image_classification",
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
#[serde(deny_unknown_fields)]
pub struct RegressionTask {}
