//! Description of a task.

use std::collections::BTreeMap;

use crate::config::{Objective, Source};

/// All that is known of a task before its examples are read. Each stands in one file.
pub trait Describe {
    /// Its names and properties.
    fn info(&self) -> &'static TaskInfo;

    /// What is learnt; none where the kind of model alone says it.
    fn objective(&self) -> Option<Objective> {
        None
    }

    /// The reason why it is another task that is learnt from this source with labels.
    fn mismatch(&self, _source: &Source) -> Option<&'static str> {
        None
    }

    /// Weight of an example of a class in the training loss, by its label; none where no classes are learnt.
    fn class_weights(&self) -> Option<&BTreeMap<String, f64>> {
        None
    }

    /// The same to be changed.
    fn class_weights_mut(&mut self) -> Option<&mut BTreeMap<String, f64>> {
        None
    }

    /// Label text of rows that have no label; none where it is derived or there are no such rows.
    fn unlabelled(&self) -> Option<&str> {
        None
    }

    /// The same to be changed; none where the task has no such field.
    fn unlabelled_mut(&mut self) -> Option<&mut Option<String>> {
        None
    }

    /// How texts are written to be scored; none where none are.
    fn scoring(&self) -> Option<TextScoring> {
        None
    }
}

/// Names and properties of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Word in configs.
    pub kind: &'static str,
    /// The data that it is learnt from, as a noun.
    pub data: &'static str,
    /// End of its models.
    pub output: TaskOutput,
    /// True if its examples are images.
    pub reads_images: bool,
    /// Unit of its loss.
    pub loss_unit: &'static str,
    /// Explanation beside the kind of model.
    pub note: &'static str,
}

/// End of a task's models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOutput {
    /// A class or a number for each example.
    Classes,
    /// Begin and end of an answer.
    Span,
    /// A text.
    Text,
}

/// How texts are written to be scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextScoring {
    /// Pairs of the validation set that are scored at each evaluation.
    pub pairs: usize,
    /// Beams of the search.
    pub beams: usize,
}
