use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::description::{Describe, TaskInfo, TaskOutput};
use crate::config::{Objective, Source};

/// Images belong to one of some classes: those of their source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageClassificationTask {
    /// As of a classification of texts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub class_weights: BTreeMap<String, f64>,
}

impl Describe for ImageClassificationTask {
    fn info(&self) -> &'static TaskInfo {
        &TaskInfo {
            kind: "image_classification",
            data: "images",
            output: TaskOutput::Classes,
            reads_images: true,
            loss_unit: "nats/example",
            note: "Learns to tell what an image shows; sees all of it.",
        }
    }

    fn objective(&self) -> Option<Objective> {
        Some(Objective::CLASSIFICATION)
    }

    fn mismatch(&self, source: &Source) -> Option<&'static str> {
        (!source.has_images()).then_some(
            "image_classification is for images; set {data.kind} to {data.kind=images} or {data.kind=pathfinder}, or \
             {task.kind} to {task.kind=classification}",
        )
    }

    fn class_weights(&self) -> Option<&BTreeMap<String, f64>> {
        Some(&self.class_weights)
    }

    fn class_weights_mut(&mut self) -> Option<&mut BTreeMap<String, f64>> {
        Some(&mut self.class_weights)
    }
}
