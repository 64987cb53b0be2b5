//! Kinds of data: each is read, generated, checked and looked at in its own file below `source/`. Its settings and what is known of it
//! without its files stand in `config/source/`.

mod file;
mod grammar;
mod images;
mod listops;
mod loader;
mod number_words;
mod pairs;
mod pathfinder;
mod random;
mod squad;
mod table;

use std::path::Path;

use super::preview::DataPreview;
use super::{DataError, Documents, Progress, Reading, Split};
use crate::config::{DataConfig, Source};
use crate::objective::{Labels, Objective};

pub(super) use loader::{Content, DataSource, Examples, KnownModel, LoadContext};

pub use images::with_image_shape;
pub use random::generate_random;

macro_rules! dispatch {
    ($($(#[$about:meta])* $kind:ident($settings:ident),)+) => {
        /// The reading of a source.
        pub(super) fn reader(source: &Source) -> &dyn DataSource {
            match source { $(Source::$kind(own) => own),+ }
        }
    };
}

headroom_config::kinds_of_data!(dispatch);

/// The labels of a source, before its texts become tokens; none where it has none.
///
/// # Errors
/// If it cannot be read, or holds nothing to learn.
pub fn source_labels(
    source: &Source,
    objective: &Objective,
    (base_dir, reading): (&Path, &Reading),
    progress: &dyn Progress,
) -> Result<Option<Labels>, DataError> {
    reader(source).labels(LoadContext { objective, reading, base_dir, progress })
}

/// Looks at the beginning of the data of a config with absolute paths; nothing where nobody can say more of it than the config
/// does.
///
/// # Errors
/// If the data cannot be read. Columns that are not there are no error: the others are listed.
pub fn preview(
    config: &DataConfig,
    objective: &Objective,
    reading: &Reading,
) -> Result<Option<DataPreview>, DataError> {
    reader(&config.source).preview(config, (objective, reading))
}

/// The pairs of texts that a config holds out of training, as they stand in their files: each text, then its translation.
///
/// # Errors
/// If they cannot be read, or the reading was stopped.
pub fn held_out_pairs(config: &DataConfig, base_dir: &Path, progress: &dyn Progress) -> Result<Documents, DataError> {
    let (objective, reading) = (&Objective::of_pairs(0.0), &Reading::default());
    let context = LoadContext { objective, reading, base_dir, progress };
    reader(&config.source).split(config.validation_fraction, context).map(pairs_of)
}

/// All pairs of texts of a source, of two files or a table those that are not held out.
///
/// # Errors
/// If they cannot be read, or the reading was stopped.
pub fn all_pairs(source: &Source, base_dir: &Path, progress: &dyn Progress) -> Result<Documents, DataError> {
    let (objective, reading) = (&Objective::of_pairs(0.0), &Reading::default());
    let context = LoadContext { objective, reading, base_dir, progress };
    reader(source).all(KnownModel::default(), context).map(pairs_of)
}

fn pairs_of(found: Examples) -> Documents {
    match found.content {
        Content::Pairs(Split { validation, .. }, _) => validation,
        Content::Text(_) | Content::Rows(..) | Content::Spans(..) | Content::Images(..) => Documents::new(),
    }
}

#[cfg(test)]
mod tests;
