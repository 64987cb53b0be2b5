use serde::{Deserialize, Serialize};

use super::description::{Describe, TaskInfo, TaskOutput};
use crate::config::Objective;

/// Texts have a number, learnt by the squared error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegressionTask {
    /// Label text of rows that have no number and are left out, such as `"-1"`. When absent, or `"none"`: every label is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
}

impl Describe for RegressionTask {
    fn info(&self) -> &'static TaskInfo {
        &TaskInfo {
            kind: "regression",
            data: "a table of texts with labels",
            output: TaskOutput::Classes,
            reads_images: false,
            loss_unit: "squared error/example",
            note: "Learns to answer about a text as a whole; sees both sides.",
        }
    }

    fn objective(&self) -> Option<Objective> {
        Some(Objective::REGRESSION)
    }

    fn unlabelled(&self) -> Option<&str> {
        self.unlabelled.as_deref()
    }

    fn unlabelled_mut(&mut self) -> Option<&mut Option<String>> {
        Some(&mut self.unlabelled)
    }
}
