//! What a table holds and how a model will see it, before anything is trained on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DataError;
use super::answers::{labelled_rows, sort_classes};
use super::class_labels::counted_classes;
use super::examples::{ExamplesPreview, preview_examples};
use super::file::{Beginning, Judged, LabelledRows, USUAL_TEXTS, beginning};
use super::images::{ImagesPreview, preview_images};
use super::reading::Reading;
use super::seen::{PreviewExample, brief, known_tokenizer, seen};
use crate::config::{Column, DataConfig, Source, TableSource};
use crate::objective::Objective;

/// Rows that are shown.
const SHOWN: usize = 3;
/// Different labels that are counted.
const MOST_LABELS: usize = 200;
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
    if config.source.has_images() {
        return Ok(preview_images(&config.source)?.map(DataPreview::Images));
    }
    if let Some(table) = preview_table(config, objective, reading)? {
        return Ok(Some(DataPreview::Table(table)));
    }
    Ok(preview_examples(config, objective)?.map(DataPreview::Examples))
}

/// Looks at the beginning of the table of a config with absolute paths; nothing where its text is of another kind, or no
/// table is named.
///
/// # Errors
/// If the table cannot be read. Columns that are not there are no error: the others are listed.
fn preview_table(
    config: &DataConfig,
    objective: &Objective,
    reading: &Reading,
) -> Result<Option<TablePreview>, DataError> {
    let Source::Table(source) = &config.source else { return Ok(None) };
    if source.path.as_os_str().is_empty() {
        return Ok(None);
    }
    let Beginning { columns, rows, is_whole } = beginning(&source.path, source, Judged::of(objective))?;
    let columns = columns.into_iter().map(|(name, sample)| (brief(&name), brief(&sample))).collect();
    let rows = rows.unwrap_or_default();
    let (rows, question) = match labelled_rows(rows.clone(), source, objective, reading) {
        Ok(labelled) => (labelled, None),
        Err(error) => (rows, Some(error.to_string())),
    };
    Ok(Some(TablePreview {
        columns,
        rows: rows.labels.len() as u64,
        without_text: rows.without_text as u64,
        without_label: rows.without_label as u64,
        question,
        is_whole,
        answers: answers(&rows, objective, reading),
        examples: examples(&rows, source, config, objective),
    }))
}

fn answers(rows: &LabelledRows, objective: &Objective, reading: &Reading) -> PreviewAnswers {
    if rows.labels.is_empty() {
        return PreviewAnswers::Unknown;
    }
    if matches!(objective, Objective::Regression(_)) {
        let numbers: Option<Vec<f64>> =
            rows.labels.iter().map(|(label, _)| label.parse().ok().filter(|number: &f64| number.is_finite())).collect();
        return numbers.map_or(PreviewAnswers::Unknown, |numbers| PreviewAnswers::Numbers {
            least: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            most: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: numbers.iter().sum::<f64>() / numbers.len() as f64,
        });
    }
    let labels = rows.labels.iter().map(|(label, _)| label.as_str());
    let counts: BTreeMap<&str, u64> = counted_classes(labels, reading.edition).into_iter().collect();
    if counts.len() > MOST_LABELS {
        return PreviewAnswers::Many(counts.len() as u64);
    }
    let mut names: Vec<String> = counts.keys().map(|name| (*name).to_owned()).collect();
    sort_classes(&mut names);
    let count = |name: String| {
        let count = counts.get(name.as_str()).copied().unwrap_or_default();
        (name, count)
    };
    PreviewAnswers::Classes(names.into_iter().map(count).collect())
}

/// The first rows of different labels; where there are fewer labels, the first rows that are left.
fn examples(
    rows: &LabelledRows,
    source: &TableSource,
    config: &DataConfig,
    objective: &Objective,
) -> Vec<PreviewExample> {
    let mut chosen: Vec<usize> = Vec::new();
    for (row, (label, _)) in rows.labels.iter().enumerate() {
        if chosen.len() < SHOWN
            && !chosen.iter().any(|other| rows.labels.get(*other).is_some_and(|(own, _)| own == label))
        {
            chosen.push(row);
        }
    }
    let others = (0..rows.labels.len()).filter(|row| !chosen.contains(row)).take(SHOWN).collect::<Vec<_>>();
    chosen.extend(others);
    chosen.truncate(SHOWN);
    chosen.sort_unstable();
    let tokenizer = known_tokenizer(&config.tokenizer, objective);
    let texts = source.text.len();
    let example = |row: usize| {
        let own: Vec<&str> = (0..texts).filter_map(|text| rows.texts.get(row * texts + text)).collect();
        let label = rows.labels.get(row).map(|(label, _)| label.clone()).unwrap_or_default();
        let (tokens, cut_off) = seen(tokenizer.as_ref(), &own, config.sequence_length);
        PreviewExample { texts: own.into_iter().map(brief).collect(), label, tokens, cut_off }
    };
    chosen.into_iter().map(example).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::config::{ByteTokenizer, Tokenizer};

    fn look(content: &str, change: impl FnOnce(&mut DataConfig), objective: &Objective) -> TablePreview {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.tsv");
        std::fs::write(&path, content).unwrap();
        let source = Source::Table(TableSource { path, text: vec![Column::named("text")], ..TableSource::default() });
        let tokenizer = Tokenizer::Bytes(ByteTokenizer {});
        let mut config = DataConfig { source, tokenizer, sequence_length: 8, ..DataConfig::default() };
        change(&mut config);
        preview_table(&config, objective, &Reading::default()).unwrap().unwrap()
    }

    #[test]
    fn labels_are_counted_and_rows_of_different_ones_are_shown() {
        let rows = "text\tlabel\none\t10\ntwo\t10\nthree\t9\n\t9\nfour is long\t10\n";
        let found = look(rows, |_| (), &Objective::CLASSIFICATION);
        assert_eq!(found.columns, [("text".to_owned(), "one".to_owned()), ("label".to_owned(), "10".to_owned())]);
        assert_eq!((found.rows, found.without_text, found.is_whole), (4, 1, true));
        assert_eq!(found.answers, PreviewAnswers::Classes(vec![("9".to_owned(), 1), ("10".to_owned(), 3)]));
        let shown: Vec<(&str, &str)> =
            found.examples.iter().map(|one| (one.texts[0].as_str(), one.label.as_str())).collect();
        assert_eq!(shown, [("one", "10"), ("two", "10"), ("three", "9")]);
        let tokens = found.examples[0].tokens.as_ref().unwrap();
        assert_eq!(tokens, &["[CLS]", "o", "n", "e", "[SEP]"]);
    }

    #[test]
    fn columns_are_proposed_by_their_names_and_else_by_what_stands_in_them() {
        let proposed = |content: &str| {
            let found = look(content, |_| (), &Objective::CLASSIFICATION);
            let (text, label) = found.proposal().unwrap();
            (text.0, label.0, found.has_names())
        };
        let of = |text: &str, label: &str, named: bool| (text.to_owned(), label.to_owned(), named);
        assert_eq!(proposed("id\tSentence\tlabel\n7\tgood\t1\n"), of("Sentence", "label", true));
        assert_eq!(proposed("id\tstory\tverdict\n7\tlong ago\tgood\n"), of("story", "verdict", true));
        assert_eq!(proposed("kind\tstory\nA\tlong ago it was\n"), of("story", "kind", true));
        // CoLA: source, label, mark of the author, sentence, without names.
        assert_eq!(proposed("gj04\t1\t\tOur friends won't buy this analysis.\n"), of("3", "1", false));
        assert_eq!(look("only\nshort\n", |_| (), &Objective::CLASSIFICATION).proposal(), None);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let found = look("text\tlabel\n0123456789\ta\nb\tb\n", |_| (), &Objective::CLASSIFICATION);
        assert_eq!((found.examples[0].tokens.as_ref().unwrap().len(), found.examples[0].cut_off), (8, 4));
    }

    #[test]
    fn numbers_have_a_range_and_columns_that_are_not_there_leave_the_others() {
        let found = look("text\tlabel\na\t1\nb\t2.5\n", |_| (), &Objective::REGRESSION);
        assert_eq!(found.answers, PreviewAnswers::Numbers { least: 1.0, most: 2.5, mean: 1.75 });
        let found = look("sentence\tlabel\na\t1\n", |_| (), &Objective::CLASSIFICATION);
        assert_eq!((found.columns.len(), found.rows, &found.answers), (2, 0, &PreviewAnswers::Unknown));
        let many = (0..201).map(|label| format!("x\tl{label}")).collect::<Vec<_>>().join("\n");
        let found = look(&format!("text\tlabel\n{many}"), |_| (), &Objective::CLASSIFICATION);
        assert_eq!(found.answers, PreviewAnswers::Many(201));
    }
}
