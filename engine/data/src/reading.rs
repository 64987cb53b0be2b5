//! Rules by which data are read.

use super::Edition;
use crate::config::{LabelRules, TaskConfig};

/// Reading of data for a run, a model or a preview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Rules of the program that began a run.
    pub edition: Edition,
    /// Labels of a table.
    pub labels: LabelRules,
}

impl Reading {
    /// Reading for a task, by the current rules.
    pub fn of(task: Option<&TaskConfig>) -> Self {
        Self { labels: task.map(TaskConfig::label_rules).unwrap_or_default(), ..Self::default() }
    }

    /// The same by the rules of another edition.
    #[must_use]
    pub fn in_edition(self, edition: Edition) -> Self {
        Self { edition, ..self }
    }
}
