//! `data.kind = "pairs"`: pairs of texts on disk.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{LongPairs, Modality, PathField, SourceFacts, SourceSettings};
use crate::config::Problem;

/// Pairs of texts: two files with a text a line, of which line n of one is the translation of line n of the other; or one
/// table. Each may be gzipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairsSource {
    /// The texts that are translated, a line each, where there are two files. A relative path is taken from the folder of
    /// the config file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Their translations, as many lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// A table of both, separated by tabs, instead of two files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its columns, the text and its translation: by their names in the first line, or by numbers from 0, where the
    /// first line counts as text. When absent, the table has two columns and no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<[String; 2]>,
    /// Held-out texts, of two files; without held-out texts a share of the pairs is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_source: Option<PathBuf>,
    /// Their translations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_target: Option<PathBuf>,
    /// A held-out table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// What becomes of pairs of which a side is longer than `data.sequence_length`.
    #[serde(skip_serializing_if = "LongPairs::is_usual")]
    pub long: LongPairs,
}

impl PairsSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "pairs",
        label: "Your own pairs, to translate",
        modality: Modality::Pairs,
        run_names: ["translation"; 2],
        tasks: &["translation"],
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for PairsSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn path_fields(&mut self) -> Vec<PathField<'_>> {
        vec![
            PathField::optional("data.source", &mut self.source),
            PathField::optional("data.target", &mut self.target),
            PathField::optional("data.path", &mut self.path),
            PathField::optional("data.validation_source", &mut self.validation_source),
            PathField::optional("data.validation_target", &mut self.validation_target),
            PathField::optional("data.validation_path", &mut self.validation_path),
        ]
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut add = |field: &str, message: &'static str| found.push(Problem::new(field, message));
        for field in self.clone().path_fields() {
            if field.path().is_some_and(|path| path.as_os_str().is_empty()) {
                add(field.name, "name a file, or leave the field out");
            }
        }
        match (&self.source, &self.target, &self.path) {
            (Some(_), Some(_), None) | (None, None, Some(_)) => {}
            (Some(_), None, None) => {
                add("data.target", "name the file of the translations, a line for each of {data.source}");
            }
            (None, Some(_), None) => add("data.source", "name the file of the texts that are translated"),
            (None, None, None) => {
                add("data.source", "name two files ({data.source} and {data.target}), or one table ({data.path})");
            }
            (_, _, Some(_)) => {
                add("data.path", "name two files ({data.source} and {data.target}) or one table, not both");
            }
        }
        match (&self.validation_source, &self.validation_target, &self.validation_path) {
            (None, None, _) | (Some(_), Some(_), None) => {}
            (Some(_), None, _) => add("data.validation_target", "name the file of the held-out translations"),
            (None, Some(_), _) => add("data.validation_source", "name the file of the held-out texts"),
            (Some(_), Some(_), Some(_)) => add("data.validation_path", "name two files or one table, not both"),
        }
        if let Some(text) = &self.text {
            let is_table = |own: &Option<PathBuf>| own.is_some();
            if !is_table(&self.path) && !is_table(&self.validation_path) {
                add("data.text", "columns are those of a table; name it ({data.path}), or leave them out");
            }
            if text.iter().any(|column| column.trim().is_empty()) || text[0] == text[1] {
                add("data.text", "name two columns, that of the texts and that of their translations");
            }
        }
        found
    }

    fn long_pairs(&self) -> LongPairs {
        self.long
    }

    fn turn_to(&mut self, path: &Path) -> bool {
        *self = Self { path: Some(path.to_owned()), text: self.text.take(), ..Self::default() };
        true
    }
}
