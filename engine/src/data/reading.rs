//! Rules by which data are read.

use super::PairFraming;
use crate::config::{LabelRules, TaskConfig};

/// Version of the rules by which data become examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Every label text is a class, images stay as they are stored, a tokenizer's model may find its own special tokens in a text, and the
    /// end token stands after each side of a pair.
    First,
    /// Rows without a label are left out, images are turned as their EXIF data say, a text never holds a special token, and the sides of a
    /// pair are framed by the tokenizer's template.
    #[default]
    Current,
}

impl Edition {
    /// Framing of the sides of a pair.
    pub fn pair_framing(self) -> PairFraming {
        match self {
            Self::First => PairFraming::End,
            Self::Current => PairFraming::Template,
        }
    }
}

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
