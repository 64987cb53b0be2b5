//! `data.kind = "table"`: one or two texts a row, with a label.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize};

use super::{Modality, PathField, SourceFacts, SourceSettings, TextPlace};
use crate::config::Problem;

/// A table with one or two texts and a label a row: `.tsv` (never quoted), `.csv` or `.jsonl`, each also gzipped, or `.parquet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableSource {
    /// The file. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// Held-out rows; without it a share of the rows of `path` is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// The columns of the texts, one or two.
    #[serde(deserialize_with = "one_or_more")]
    pub text: Vec<Column>,
    /// The column of the label: a class, as a word or a number, or the number that is learnt.
    pub label: Column,
    /// Whether the first row names the columns. When absent: it does where a column is given by its name, or where what
    /// stands in the label's column of that row is a label of no other row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
}

impl Default for TableSource {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            validation_path: None,
            text: vec![Column::named("text")],
            label: Column::named("label"),
            header: None,
        }
    }
}

impl TableSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "table",
        label: "A table with labels",
        modality: Modality::Rows,
        run_names: ["text classifier"; 2],
        tasks: &["classification", "regression"],
        without_task: Some(
            "a table is for a task; set {task.kind} to {task.kind=classification} or {task.kind=regression}, or read the text of a column \
             with {data.kind} = {data.kind=file}",
        ),
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for TableSource {
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
            add("data.path", "name a table: a .tsv, .csv, .jsonl or .parquet file");
        }
        if self.validation_path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            add("data.validation_path", "name a table, or leave the field out");
        }
        let all: Vec<&Column> = self.text.iter().chain([&self.label]).collect();
        if !(1..=2).contains(&self.text.len()) {
            add("data.text", "name one or two columns, such as [\"sentence1\", \"sentence2\"]");
        }
        for (field, column) in self.text.iter().map(|column| ("data.text", column)).chain([("data.label", &self.label)])
        {
            if column.0.trim().is_empty() {
                add(field, "name a column of the table, or give its number from 0");
            }
            if self.header == Some(false) && column.number().is_none() {
                add(field, "without a header columns have no names; give the column's number from 0");
            }
        }
        if all.iter().enumerate().any(|(place, column)| all.iter().skip(place + 1).any(|other| other == column)) {
            add("data.text", "the same column stands there twice; texts and label are columns of their own");
        }
        found
    }

    fn texts(&self) -> Option<usize> {
        Some(self.text.len())
    }

    fn set_text_place(&mut self, place: &TextPlace) {
        if !place.texts.is_empty() {
            self.text = place.texts.iter().map(|name| Column::named(name)).collect();
        }
        if let Some(label) = &place.label {
            self.label = Column::named(label);
        }
    }

    fn turn_to(&mut self, path: &Path) -> bool {
        (self.path, self.validation_path) = (path.to_owned(), None);
        true
    }
}

/// A column of a table: its name in the first row, or its number from 0. A name goes before a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Column(pub String);

impl Column {
    /// The column of a name, or of a number that is written.
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Its number, where it may be one.
    pub fn number(&self) -> Option<usize> {
        self.0.trim().parse().ok()
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim())
    }
}

/// A number or a name, as configs write them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a column: its name in quotes, or its number from 0")]
enum Written {
    Number(usize),
    Name(String),
}

/// One of them, or a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the columns of one or two texts: names in quotes, or numbers from 0")]
enum OneOrMore {
    One(Column),
    More(Vec<Column>),
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Number(number) => number.to_string(),
            Written::Name(name) => name,
        }))
    }
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Column>, D::Error> {
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(column) => vec![column],
        OneOrMore::More(columns) => columns,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{Source, from_toml, to_toml};

    const TABLE: &str = "format = 1\nmodel.kind = \"encoder\"\ntask.kind = \"classification\"\n[data]\nkind = \"table\"\n\
                         path = \"a.tsv\"\n";

    #[test]
    fn columns_are_names_or_numbers_one_or_two() {
        for (written, expected) in [
            ("text = \"sentence\"\nlabel = 1", (vec!["sentence"], "1")),
            ("text = 3\nlabel = \"1\"", (vec!["3"], "1")),
            ("text = [\"a\", 2]\nlabel = \"gold label\"", (vec!["a", "2"], "gold label")),
            ("", (vec!["text"], "label")),
        ] {
            let config = from_toml(&format!("{TABLE}{written}\n")).unwrap();
            let Source::Table(table) = &config.data.source else { panic!("{written}") };
            let found: Vec<&str> = table.text.iter().map(|column| column.0.as_str()).collect();
            assert_eq!((found, table.label.0.as_str()), expected);
            assert_eq!(config.validate(), vec![], "{written}");
            assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
        }
    }

    #[test]
    fn columns_that_cannot_be_are_refused() {
        let fields = |written: &str| -> Vec<String> {
            let config = from_toml(&format!("{TABLE}{written}\n")).unwrap();
            config.validate().into_iter().map(|problem| problem.field).collect()
        };
        assert_eq!(fields("text = []"), ["data.text"]);
        assert_eq!(fields("text = [\"a\", \"b\", \"c\"]"), ["data.text"]);
        assert_eq!(fields("text = \"label\""), ["data.text"]);
        assert_eq!(fields("text = 0\nlabel = \"label\"\nheader = false"), ["data.label"]);
        assert_eq!(fields("text = 0\nlabel = 1\nheader = false"), Vec::<String>::new());
        let told = from_toml(&format!("{TABLE}text = true\n")).unwrap_err().to_string();
        assert!(told.contains("data.text") && told.contains("names in quotes"), "{told}");
    }
}
