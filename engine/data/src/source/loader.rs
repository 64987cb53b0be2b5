//! Reading of a kind of data.

use std::path::Path;

use crate::config::{DataConfig, ImageShape, LongPairs};
use crate::images::{ImageCorpus, Normalisation};
use crate::objective::{Labels, Objective};
use crate::preview::DataPreview;
use crate::row_answers::RowAnswers;
use crate::{DataError, Documents, Progress, Reading, Split};

/// Purpose of reading data, and their place.
#[derive(Clone, Copy)]
pub(crate) struct LoadContext<'a> {
    /// Task that is learnt of them.
    pub objective: &'a Objective,
    /// Rules by which they are read.
    pub reading: &'a Reading,
    /// Relative paths start here.
    pub base_dir: &'a Path,
    /// Takes how far reading is.
    pub progress: &'a dyn Progress,
}

/// A finished model that is evaluated on data.
#[derive(Clone, Copy, Default)]
pub(crate) struct KnownModel<'a> {
    /// Its labels, where it has some.
    pub labels: Option<&'a Labels>,
    /// The shape of the images that it reads, and how they become numbers.
    pub images: Option<(ImageShape, &'a Normalisation)>,
}

/// Examples to train on and held-out ones as their source has them: before texts become tokens.
pub(crate) enum Content {
    /// Plain text.
    Text(Split),
    /// Each text before its translation.
    Pairs(Split, LongPairs),
    /// Texts of rows, one after the other, with their labels.
    Rows(Split, RowAnswers),
    /// All paragraphs, then all questions, with their answers.
    Spans(Split, RowAnswers),
    /// Images with their classes.
    Images(ImageCorpus, RowAnswers),
}

impl Content {
    /// The texts to train on, of which tokenizers learn; images have none.
    pub fn training_texts(&self) -> Option<&Documents> {
        match self {
            Self::Text(texts) | Self::Pairs(texts, _) | Self::Rows(texts, _) | Self::Spans(texts, _) => {
                Some(&texts.train)
            }
            Self::Images(..) => None,
        }
    }
}

/// Examples, with what reading found out beside.
pub(crate) struct Examples {
    pub content: Content,
    /// Files that were read; 0 for generated examples.
    pub files: usize,
    /// Files in folders that were left out because their ending names no text format.
    pub skipped_files: usize,
    /// Held-out examples that were left out.
    pub left_out: usize,
    /// What the user should know, as sentences.
    pub warnings: Vec<String>,
}

impl From<Content> for Examples {
    fn from(content: Content) -> Self {
        Self { content, files: 0, skipped_files: 0, left_out: 0, warnings: Vec::new() }
    }
}

/// All of these documents held out.
pub(super) fn held_out(validation: Documents) -> Split {
    Split { train: Documents::new(), validation }
}

/// Notes what is wrong with the file of a field, if it has a name.
pub(crate) type Note<'a> = &'a mut dyn FnMut(&str, &Path, &dyn Fn() -> Result<(), DataError>);

/// Reading of one kind of data.
pub(crate) trait DataSource {
    /// Reads or generates all of it and holds out a share, where it has no held-out examples of its own.
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError>;

    /// Reads or generates all of it as held-out examples for a model.
    fn all(&self, model: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError>;

    /// Its labels, before its texts become tokens; none where it has none.
    fn labels(&self, _context: LoadContext<'_>) -> Result<Option<Labels>, DataError> {
        Ok(None)
    }

    /// Notes what is wrong with its files, as far as their beginnings tell. Paths are absolute.
    fn probe(&self, _rules: (&Objective, &Reading), _note: Note<'_>) {}

    /// Looks at its beginning; nothing where nobody can say more of it than the config does. Paths are absolute.
    fn preview(&self, _config: &DataConfig, _rules: (&Objective, &Reading)) -> Result<Option<DataPreview>, DataError> {
        Ok(None)
    }
}
