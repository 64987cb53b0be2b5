//! Pairs of texts on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, Note, held_out};
use crate::config::{DataConfig, PairsSource, counted};
use crate::examples::of_pairs;
use crate::file::{PairFiles, load_pairs, pairs_beginning, probe_pair_file, probe_pairs};
use crate::objective::Objective;
use crate::preview::DataPreview;
use crate::split::split_in_pairs;
use crate::{DataError, Documents, Reading, Split};

impl DataSource for PairsSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let mut found = Examples::from(Content::Pairs(Split::default(), self.long));
        let (train, validation) = files(self, context.base_dir);
        let Some(train) = train else { return Ok(found) };
        let train = read(&train, &mut found, context)?;
        let texts = match validation {
            None => split_in_pairs(&train, fraction),
            Some(files) => {
                let validation = read(&files, &mut found, context)?;
                found.warnings.extend(seen_in_training(&train, &validation, &files));
                Split { train, validation }
            }
        };
        Ok(Examples { content: Content::Pairs(texts, self.long), ..found })
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let mut found = Examples::from(Content::Pairs(Split::default(), self.long));
        let Some(files) = files(self, context.base_dir).0 else { return Ok(found) };
        let texts = held_out(read(&files, &mut found, context)?);
        Ok(Examples { content: Content::Pairs(texts, self.long), ..found })
    }

    fn probe(&self, _: (&Objective, &Reading), note: Note<'_>) {
        let (train, validation) = files(self, Path::new(""));
        let names = if self.path.is_some() { ["data.path"; 2] } else { ["data.source", "data.target"] };
        let held_out_names = if self.validation_path.is_some() {
            ["data.validation_path"; 2]
        } else {
            ["data.validation_source", "data.validation_target"]
        };
        for (files, names) in [(train, names), (validation, held_out_names)] {
            for (path, name) in files.iter().flat_map(PairFiles::paths).zip(names) {
                note(name, path, &|| probe_pair_file(path));
            }
            if let Some(files) = &files {
                note(names[1], Path::new("."), &|| probe_pairs(files));
            }
        }
    }

    fn preview(&self, _: &DataConfig, _: (&Objective, &Reading)) -> Result<Option<DataPreview>, DataError> {
        let Some(files) = files(self, Path::new("")).0 else { return Ok(None) };
        if files.paths().iter().any(|path| path.as_os_str().is_empty()) {
            return Ok(None);
        }
        let (found, is_whole) = pairs_beginning(&files)?;
        let count = counted((found.len() / 2) as u64, "pair");
        let about = if is_whole { count } else { format!("The first {count}") };
        Ok(Some(DataPreview::Examples(of_pairs(&found, about))))
    }
}

/// The files for training and those that are held out, where these have files of their own. Relative paths start at `base_dir`.
fn files(source: &PairsSource, base_dir: &Path) -> (Option<PairFiles>, Option<PairFiles>) {
    let files = |source_path: &Option<PathBuf>, target: &Option<PathBuf>, path: &Option<PathBuf>| match path {
        Some(path) => Some(PairFiles::Table(base_dir.join(path), source.text.clone())),
        None => Some(PairFiles::Aligned(base_dir.join(source_path.as_ref()?), base_dir.join(target.as_ref()?))),
    };
    (
        files(&source.source, &source.target, &source.path),
        files(&source.validation_source, &source.validation_target, &source.validation_path),
    )
}

fn read(
    files: &PairFiles,
    found: &mut Examples,
    LoadContext { progress, .. }: LoadContext<'_>,
) -> Result<Documents, DataError> {
    let pairs = load_pairs(files, progress)?;
    found.files += files.paths().len();
    Ok(pairs)
}

/// A warning where held-out pairs are among those for training.
fn seen_in_training(train: &Documents, validation: &Documents, files: &PairFiles) -> Option<String> {
    fn pair(documents: &Documents, number: usize) -> [&str; 2] {
        [&documents[2 * number], &documents[2 * number + 1]]
    }
    let pairs = |documents: &Documents| documents.len() / 2;
    let known: HashSet<[&str; 2]> = (0..pairs(train)).map(|number| pair(train, number)).collect();
    let seen = (0..pairs(validation)).filter(|number| known.contains(&pair(validation, *number))).count();
    (seen > 0).then(|| {
        format!(
            "{seen} of {} held-out pairs are among those for training too, so the validation loss is too good: {}",
            pairs(validation),
            files.paths().first().map(|path| path.display().to_string()).unwrap_or_default()
        )
    })
}
