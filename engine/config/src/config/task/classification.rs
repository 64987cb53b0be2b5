use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::description::{Describe, TaskInfo, TaskOutput};
use crate::config::Objective;

/// Texts belong to one of some classes: those that stand as labels in the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassificationTask {
    /// Weight of an example of a class in the training loss, by its label, above 0; 1 where a class is not named.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub class_weights: BTreeMap<String, f64>,
    /// Label text of rows that have no label and are left out, such as `"-1"`; `"none"`: every text is a class. When absent: `-` beside
    /// other labels, and `-1` beside at least 0, 1 and 2; -1, 0 and 1 alone are asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
}

impl Describe for ClassificationTask {
    fn info(&self) -> &'static TaskInfo {
        &TaskInfo {
            kind: "classification",
            data: "a table of texts with labels",
            output: TaskOutput::Classes,
            reads_images: false,
            loss_unit: "nats/example",
            note: "Learns to answer about a text as a whole; sees both sides.",
        }
    }

    fn objective(&self) -> Option<Objective> {
        Some(Objective::CLASSIFICATION)
    }

    fn class_weights(&self) -> Option<&BTreeMap<String, f64>> {
        Some(&self.class_weights)
    }

    fn class_weights_mut(&mut self) -> Option<&mut BTreeMap<String, f64>> {
        Some(&mut self.class_weights)
    }

    fn unlabelled(&self) -> Option<&str> {
        self.unlabelled.as_deref()
    }

    fn unlabelled_mut(&mut self) -> Option<&mut Option<String>> {
        Some(&mut self.unlabelled)
    }
}
