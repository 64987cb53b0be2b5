use std::path::PathBuf;

use super::error_wording::{list, suggestion};
use crate::config::counted;

/// Why a table of texts with labels cannot be learnt from. Every message says what failed, why, what to do, and the path last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A file whose ending names no table.
    #[error("A table of texts with labels is a .tsv, .csv, .jsonl or .parquet file, the first three with or without .gz; rename or convert it: {}", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
    },

    /// A table without a column.
    #[error(
        "There is no column `{column}`.{} Line {line} has {}. Set {field} to a name from there, or to a number from 0: {}",
        suggestion(nearest.as_deref()), list(found), path.display()
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The field of the config that names the column.
        field: &'static str,
        /// The column as it was asked for.
        column: String,
        /// The cells of that line.
        found: Vec<String>,
        /// The column that may have been meant.
        nearest: Option<String>,
    },

    /// A row that is too short to have a column.
    #[error(
        "Line {line} has {}, so that column `{column}` ({field}) is missing there. Correct or remove the line: {}",
        counted(*cells as u64, "cell"), path.display()
    )]
    ShortRow {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The field of the config that names the column.
        field: &'static str,
        /// The column as it was asked for.
        column: String,
        /// Cells of the line.
        cells: usize,
    },

    /// A cell of a JSONL file that is neither text nor a number.
    #[error("On line {line} `{column}` ({field}) is {found}, not text or a number. Correct the line: {}", path.display())]
    NoCell {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The field of the config that names the column.
        field: &'static str,
        /// The column.
        column: String,
        /// What it holds.
        found: &'static str,
    },

    /// A row without a label.
    #[error(
        "Line {line} has no label in column {column} (data.label). Write it, remove the line, or set task.unlabelled to \"\" to leave \
         out such rows: {}", path.display()
    )]
    NoLabel {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
    },

    /// A table all of whose labels are missing.
    #[error(
        "No row has a label: all of column {column} (data.label) is empty, null, - or -1, as where the labels of a test are kept secret. \
         Such a table is for `headroom predict` alone; name one with labels: {}", path.display()
    )]
    Unlabelled {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },

    /// A table with one class.
    #[error(
        "All rows have the label `{label}`, so that there is nothing to tell apart. Set {field} to the column of the \
         classes, or give rows of other classes: {}", path.display()
    )]
    OneClass {
        /// The file.
        path: PathBuf,
        /// The field of the config that names the column of the label.
        field: &'static str,
        /// The only label.
        label: String,
    },

    /// More classes than anybody tells apart.
    #[error(
        "There are {count} different labels in {}, more than the {most} classes that a model may tell apart. If they are numbers, \
         learn them with task.kind = \"regression\"; else set data.label to the column of the classes: {}",
        counted(*rows as u64, "row"), path.display()
    )]
    ManyClasses {
        /// The file.
        path: PathBuf,
        /// Different labels.
        count: usize,
        /// Rows.
        rows: usize,
        /// The most classes.
        most: usize,
    },

    /// A column whose name stands twice in the first row.
    #[error(
        "The name `{column}` ({field}) stands twice in line {line}, at the columns {} and {} (from 0), so that it is not said which \
         is meant. Give one of them another name, or set {field} to its number: {}", places[0], places[1], path.display()
    )]
    TwiceColumn {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The field of the config that names the column.
        field: &'static str,
        /// The name.
        column: String,
        /// Places of the first two columns of that name, from 0.
        places: [usize; 2],
    },

    /// Labels among which -1 may be a class or none.
    #[error(
        "The labels are -1, 0 and 1, and -1 may be a class or mean that a row has no label. Set {field} to \"-1\" to leave \
         out the rows that have it, or to \"none\" if it is a class: {}", path.display()
    )]
    AmbiguousMinusOne {
        /// The file.
        path: PathBuf,
        /// The field of the config that says it.
        field: &'static str,
    },

    /// A class that a map of labels names and that the model has not.
    #[error(
        "The label `{label}` is said to be the class `{class}`, which is none of the model's: {}. Name one of them",
        list(known)
    )]
    UnknownTarget {
        /// The label of the data.
        label: String,
        /// The class.
        class: String,
        /// The classes of the model.
        known: Vec<String>,
    },

    /// A label that is none of the classes of a finished model.
    #[error(
        "Line {line} has the label `{label}`, which is none of the classes of the model: {}. Say which class each label is with \
         --labels {}, correct the label, or train on rows that have it: {}",
        list(known), label_map(label, known), path.display()
    )]
    OtherLabel {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The label.
        label: String,
        /// The classes of the model.
        known: Vec<String>,
    },

    /// A held-out label that is none of the classes.
    #[error(
        "Line {line} has the label `{label}`, which is none of the classes that are known: {}. Correct the label, or train on rows \
         that have it: {}",
        list(known), path.display()
    )]
    UnknownLabel {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The label.
        label: String,
        /// The classes.
        known: Vec<String>,
    },

    /// A label that is no number.
    #[error(
        "On line {line} the label is `{label}`, which is no finite number. Correct the line, or learn classes with task.kind = \
         \"classification\": {}", path.display()
    )]
    NoNumber {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The label.
        label: String,
    },

    /// A weight of a class that is not there.
    #[error(
        "There is no class `{label}`, of which task.class_weights gives the weight. The classes are {}.",
        list(known)
    )]
    UnknownWeight {
        /// The label.
        label: String,
        /// The classes.
        known: Vec<String>,
    },

    /// Too few rows to fill one batch.
    #[error(
        "There are {} to train on, and one batch needs {batch}. Lower train.batch to {rows} or less, or give more rows",
        counted(*rows as u64, "row")
    )]
    TooFewRows {
        /// Rows.
        rows: usize,
        /// Examples in one batch.
        batch: usize,
    },
}

/// Other names of fields, such as options of a command.
pub type FieldNames = &'static [(&'static str, &'static str)];

impl TableError {
    /// The error with its field under another name, where it has one.
    pub(super) fn named(mut self, names: FieldNames) -> Self {
        if let Self::AmbiguousMinusOne { field, .. }
        | Self::MissingColumn { field, .. }
        | Self::NoCell { field, .. }
        | Self::OneClass { field, .. }
        | Self::ShortRow { field, .. }
        | Self::TwiceColumn { field, .. } = &mut self
            && let Some((_, name)) = names.iter().find(|(own, _)| own == field)
        {
            *field = name;
        }
        self
    }

    /// The field of the config to correct, where it is not the one that names the path.
    pub(super) fn field(&self) -> Option<&'static str> {
        match self {
            Self::AmbiguousMinusOne { field, .. }
            | Self::MissingColumn { field, .. }
            | Self::OneClass { field, .. }
            | Self::TwiceColumn { field, .. } => Some(field),
            Self::NoLabel { .. } | Self::ManyClasses { .. } | Self::NoNumber { .. } => Some("data.label"),
            Self::UnknownWeight { .. } => Some("task.class_weights"),
            Self::TooFewRows { .. } => Some("train.batch"),
            Self::NoTable { .. }
            | Self::ShortRow { .. }
            | Self::NoCell { .. }
            | Self::Unlabelled { .. }
            | Self::UnknownTarget { .. }
            | Self::OtherLabel { .. }
            | Self::UnknownLabel { .. } => None,
        }
    }
}

/// A map of labels that may be meant: the label with a class whose name ends as it does, or any.
fn label_map(label: &str, known: &[String]) -> String {
    let ends_so = |name: &&String| name.strip_suffix(label).is_some_and(|rest| rest.ends_with(['_', ' ', '-']));
    let class = known.iter().find(ends_so).or(known.first()).map_or("CLASS", String::as_str);
    format!("{label}={class},...")
}
