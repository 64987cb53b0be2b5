//! Findings in data before anything is trained on them.

use serde::{Deserialize, Serialize};

use super::examples::ExamplesPreview;
use super::file::USUAL_TEXTS;
use super::images::ImagesPreview;
use super::seen::PreviewExample;
use crate::config::Column;

/// Names of columns that number the rows.
const NUMBERING: [&str; 6] = ["id", "idx", "index", "no", "row", "guid"];
/// Names that columns of labels often have.
const USUAL_LABELS: [&str; 8] =
    ["label", "labels", "gold_label", "is_duplicate", "target", "class", "sentiment", "score"];

/// The beginning of a table: all of it, where it is short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TablePreview {
    /// The columns: their names, or their numbers from 0 where nothing names them; each with what stands in its first cell.
    pub columns: Vec<(String, String)>,
    /// Rows with text that were read, by the columns of the config; 0 where these cannot be read.
    pub rows: u64,
    /// Rows without text, which are left out.
    pub without_text: u64,
    /// Rows without a label, which are left out.
    #[serde(default)]
    pub without_label: u64,
    /// Question about its labels that the config has to answer before anything is learnt from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Whether that is all of the table.
    pub is_whole: bool,
    /// What stands in the column of the label.
    pub answers: PreviewAnswers,
    /// Some rows, of different labels where there are some.
    pub examples: Vec<PreviewExample>,
}

impl TablePreview {
    /// The column of a text and that of its label, as far as names and first cells tell; none where they do not.
    pub fn proposal(&self) -> Option<(Column, Column)> {
        let named = |names: &[&str]| {
            let is_named = |(own, _): &&(String, String)| names.contains(&own.trim().to_lowercase().as_str());
            self.columns.iter().find(is_named).map(|(name, _)| name)
        };
        let letters = |sample: &str| sample.chars().count();
        let longest = || self.columns.iter().max_by_key(|(_, sample)| letters(sample)).map(|(name, _)| name);
        let text = named(&USUAL_TEXTS).or_else(longest)?;
        let numbers_rows = |name: &str| {
            let name = name.trim().to_lowercase();
            NUMBERING
                .iter()
                .any(|word| name == *word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_')))
        };
        // Of what is left, the last column that is shorter than a text: tables end in their label more often than not.
        let short = || {
            let is_left =
                |(name, sample): &&(String, String)| name != text && !sample.trim().is_empty() && !numbers_rows(name);
            let left = self.columns.iter().rev().filter(is_left);
            left.min_by_key(|(_, sample)| letters(sample)).map(|(name, _)| name)
        };
        let label = named(&USUAL_LABELS).filter(|label| *label != text).or_else(short)?;
        Some((Column::named(text), Column::named(label)))
    }

    /// Whether the columns have names of their own, and no numbers only.
    pub fn has_names(&self) -> bool {
        self.columns.iter().enumerate().any(|(place, (name, _))| *name != place.to_string())
    }
}

/// What the labels of a table are, counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviewAnswers {
    /// Each class in the order of the model's outputs, with how many rows have it.
    Classes(Vec<(String, u64)>),
    /// More different labels than classes are counted: how many.
    Many(u64),
    /// Numbers.
    Numbers {
        /// The smallest one.
        least: f64,
        /// The largest one.
        most: f64,
        /// Their mean.
        mean: f64,
    },
    /// No row could be read, or its label is no number where one is learnt.
    Unknown,
}

/// What is found in the data of a config before anything is trained on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataPreview {
    /// A table with labels.
    Table(TablePreview),
    /// Images with classes.
    Images(ImagesPreview),
    /// Some examples of other data.
    Examples(ExamplesPreview),
}

impl DataPreview {
    /// That of a table.
    pub fn table(&self) -> Option<&TablePreview> {
        match self {
            Self::Table(table) => Some(table),
            Self::Images(_) | Self::Examples(_) => None,
        }
    }

    /// Its classes with how many examples each has; empty where there are none, or they are not known.
    pub fn class_counts(&self) -> &[(String, u64)] {
        match self {
            Self::Table(TablePreview { answers: PreviewAnswers::Classes(counts), .. }) => counts,
            Self::Table(_) | Self::Examples(_) => &[],
            Self::Images(images) => &images.classes,
        }
    }

    /// Outputs of a model that learns its labels, as far as they were read; none where they are not known.
    pub fn outputs(&self) -> Option<usize> {
        let count = match self {
            Self::Table(TablePreview { answers, .. }) => match answers {
                PreviewAnswers::Classes(counts) => counts.len() as u64,
                PreviewAnswers::Many(count) => *count,
                PreviewAnswers::Numbers { .. } => 1,
                PreviewAnswers::Unknown => 0,
            },
            Self::Images(images) => images.classes.len() as u64,
            Self::Examples(_) => 0,
        };
        usize::try_from(count).ok().filter(|count| *count > 0)
    }

    /// That of images.
    pub fn images(&self) -> Option<&ImagesPreview> {
        match self {
            Self::Images(images) => Some(images),
            Self::Table(_) | Self::Examples(_) => None,
        }
    }

    /// That of other data.
    pub fn examples(&self) -> Option<&ExamplesPreview> {
        match self {
            Self::Examples(examples) => Some(examples),
            Self::Table(_) | Self::Images(_) => None,
        }
    }
}
