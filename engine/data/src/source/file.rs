//! Text files.

use std::collections::HashSet;
use std::path::Path;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, Note, held_out};
use crate::config::FileSource;
use crate::error_wording::cell;
use crate::file::probe_files;
use crate::objective::Objective;
use crate::{DataError, Documents, Reading, Split, load_files, split};

impl DataSource for FileSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let mut found = Examples::from(Content::Text(Split::default()));
        let train = read(&self.path, self, &mut found, context)?;
        let texts = match &self.validation_path {
            None => split(&train, fraction),
            Some(path) => {
                let validation = read(path, self, &mut found, context)?;
                let known: HashSet<&str> = train.iter().map(str::trim).collect();
                let seen = validation.iter().filter(|text| known.contains(text.trim())).count();
                if seen > 0 {
                    found.warnings.push(format!(
                        "{seen} of {} validation documents are in the training text too, so the validation loss is \
                         too good: {}",
                        validation.len(),
                        path.display()
                    ));
                }
                Split { train, validation }
            }
        };
        Ok(Examples { content: Content::Text(texts), ..found })
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let mut found = Examples::from(Content::Text(Split::default()));
        let texts = held_out(read(&self.path, self, &mut found, context)?);
        Ok(Examples { content: Content::Text(texts), ..found })
    }

    fn probe(&self, _: (&Objective, &Reading), note: Note<'_>) {
        let probe = |path: &Path| probe_files(path, self.field.as_deref(), self.column.as_deref());
        note("data.path", &self.path, &|| probe(&self.path));
        if let Some(path) = &self.validation_path {
            note("data.validation_path", path, &|| probe(path));
        }
    }
}

fn read(
    path: &Path,
    file: &FileSource,
    found: &mut Examples,
    LoadContext { base_dir, progress, .. }: LoadContext<'_>,
) -> Result<Documents, DataError> {
    let loaded = load_files(&base_dir.join(path), file.field.as_deref(), file.column.as_deref(), progress)?;
    found.files += loaded.files;
    found.skipped_files += loaded.skipped_files;
    let number = file.column.as_deref().and_then(|column| column.trim().parse::<usize>().ok());
    if let (Some(number), Some(first)) = (number, &loaded.first_cell) {
        found.warnings.push(format!(
            "Columns of data.column are counted from 1, so that {number} begins with `{}`: {}",
            cell(first),
            path.display()
        ));
    }
    Ok(loaded.documents)
}
