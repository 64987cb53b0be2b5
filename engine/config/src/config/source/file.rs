//! `data.kind = "file"`: plain text on disk.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{PathField, SourceFacts, SourceSettings, TextPlace};
use crate::config::Problem;

/// Text files: `.txt`, `.jsonl`, `.csv`, `.tsv`, any of them gzipped, `.parquet`, or a folder of such.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSource {
    /// A file or a folder. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// Held-out text; without it a share of `path` is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// The field of a JSONL object that holds the text; `text` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text: its name in the header line, or a number from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl FileSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "file",
        label: "Your own files",
        run_names: ["text decoder", "text encoder"],
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for FileSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn path_fields(&mut self) -> Vec<PathField<'_>> {
        vec![
            PathField::required("data.path", &mut self.path),
            PathField::optional("data.validation_path", &mut self.validation_path),
        ]
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut add = |field: &str, message: &'static str| found.push(Problem::new(field, message));
        if self.path.as_os_str().is_empty() {
            add("data.path", "name a text file or a folder of text files");
        }
        if self.validation_path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            add("data.validation_path", "name a text file, or leave the field out");
        }
        if self.field.as_ref().is_some_and(String::is_empty) {
            add("data.field", "name the JSONL field that holds the text, or leave it out for `text`");
        }
        if self.column.as_ref().is_some_and(String::is_empty) {
            add("data.column", "name the column that holds the text, or give its number from 1");
        }
        found
    }

    fn text_place(&self) -> TextPlace {
        TextPlace { field: self.field.clone(), column: self.column.clone(), ..TextPlace::default() }
    }

    fn set_text_place(&mut self, place: &TextPlace) {
        for (own, named) in [(&mut self.field, &place.field), (&mut self.column, &place.column)] {
            if named.is_some() {
                own.clone_from(named);
            }
        }
    }

    fn turn_to(&mut self, path: &Path) -> bool {
        (self.path, self.validation_path) = (path.to_owned(), None);
        true
    }
}
