//! A table with labels on disk: classes in their order, or numbers.

use std::collections::BTreeMap;
use std::path::Path;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, Note};
use crate::class_labels::{ClassFinder, KnownClasses, counted_classes, is_among, sort_classes, unlabelled_keys};
use crate::config::{DataConfig, TableSource, counted};
use crate::error_wording::cell;
use crate::file::{Beginning, Judged, LabelledRows, TableColumns, beginning, load_rows, probe_rows};
use crate::objective::{Answers, Labels, Objective};
use crate::preview::{DataPreview, PreviewAnswers, TablePreview};
use crate::progress::advance;
use crate::seen::{PreviewExample, brief, known_tokenizer, seen};
use crate::split::held_out_rows;
use crate::{DataError, Documents, Reading, RowAnswers, Split, Stage, TableError};

/// The most classes: what is counted of them grows with their square.
const MOST_CLASSES: usize = 1000;

/// Rows that are shown.
const SHOWN: usize = 3;
/// Different labels that are counted.
const MOST_LABELS: usize = 200;

/// Rows with the file that they are from.
struct Part<'a> {
    rows: LabelledRows,
    path: &'a Path,
}

impl<'a> Part<'a> {
    /// Rows with labels.
    fn new(
        rows: LabelledRows,
        path: &'a Path,
        texts: usize,
        known: KnownClasses<'_>,
        reading: &Reading,
        objective: &Objective,
    ) -> Result<Self, TableError> {
        // Any number may be right; only what the task says is none.
        if objective.learns_numbers() && reading.labels.unlabelled.is_none() {
            return Ok(Self { rows, path });
        }
        let all: Vec<String> = rows.labels.iter().map(|(label, _)| label.clone()).collect();
        let missing = unlabelled_keys(all.iter().map(String::as_str), known, reading, path)?;
        if missing.is_empty() {
            return Ok(Self { rows, path });
        }
        Ok(Self { rows: rows.retain(texts, |label| !is_among(label, &missing, reading.edition)), path })
    }

    fn warnings(&self) -> Vec<String> {
        let LabelledRows { without_text, first_without_text, without_label, first_without_label, .. } = self.rows;
        let counts = [(without_text, first_without_text, "text"), (without_label, first_without_label, "a label")];
        let told = |(count, line, what): (usize, u64, &str)| {
            format!(
                "{} without {what} {} left out, the first in line {line}: {}",
                counted(count as u64, "row"),
                if count == 1 { "was" } else { "were" },
                self.path.display()
            )
        };
        counts.into_iter().filter(|(count, ..)| *count > 0).map(told).chain(self.chosen_columns()).collect()
    }

    /// A note of the columns that were chosen by their numbers.
    fn chosen_columns(&self) -> Option<String> {
        let chosen: Vec<String> =
            self.rows.numbered.iter().map(|(place, first)| format!("{place} begins with `{}`", cell(first))).collect();
        let names = if self.rows.has_header { "; a name from there says the same" } else { "" };
        (!chosen.is_empty()).then(|| {
            format!(
                "Columns of data.text and data.label are counted from 0, so that {}{names}: {}",
                chosen.join(", "),
                self.path.display()
            )
        })
    }
}

impl DataSource for TableSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let LoadContext { objective, reading, base_dir, progress } = context;
        let judged = Judged::of(objective);
        let (path, texts) = (base_dir.join(&self.path), self.text.len());
        let rows = load_rows(&path, columns(self), judged, reading, progress)?;
        let train = Part::new(rows, &path, texts, KnownClasses::None, reading, objective)?;
        let labels = labels_of(&train, objective, reading)?;
        let mut warnings = train.warnings();
        let (all, _) = answers_of(&train, &labels, reading, false)?;
        let Some(validation_path) = &self.validation_path else {
            let held_out = held_out_rows(&train.rows.texts, texts, fraction);
            let rows = |wanted: bool| -> Vec<usize> {
                held_out.iter().enumerate().filter(|(_, held_out)| **held_out == wanted).map(|(row, _)| row).collect()
            };
            let (kept, held_out) = (rows(false), rows(true));
            let part = |rows: &[usize]| -> Documents {
                let texts = rows.iter().flat_map(|row| (0..texts).map(move |text| row * texts + text));
                texts.filter_map(|text| train.rows.texts.get(text)).collect()
            };
            if kept.is_empty() {
                return Err(DataError::Empty { path });
            }
            let answers = RowAnswers { texts, train: all.of_rows(&kept), validation: all.of_rows(&held_out), labels };
            let texts = Split { train: part(&kept), validation: part(&held_out) };
            return Ok(Examples { files: 1, warnings, ..Content::Rows(texts, answers).into() });
        };
        let validation_path = base_dir.join(validation_path);
        let rows = load_rows(&validation_path, columns(self), judged, reading, progress)?;
        let validation = Part::new(rows, &validation_path, texts, of_training(&labels), reading, objective)?;
        warnings.extend(validation.warnings());
        let (held_out, _) = answers_of(&validation, &labels, reading, false)?;
        warnings.extend(seen_in_training(&train, &validation, texts));
        let answers = RowAnswers { labels, texts, train: all, validation: held_out };
        let left_out = validation.rows.without_label;
        let texts = Split { train: train.rows.texts, validation: validation.rows.texts };
        advance(progress, Stage::Reading, 1, 1)?;
        Ok(Examples { files: 2, warnings, left_out, ..Content::Rows(texts, answers).into() })
    }

    fn all(&self, model: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let LoadContext { objective, reading, base_dir, progress } = context;
        let path = base_dir.join(&self.path);
        let rows = load_rows(&path, columns(self), Judged::of(objective), reading, progress)?;
        let classes = match model.labels {
            Some(Labels::Classes(names)) => KnownClasses::OfModel(names),
            Some(Labels::Number | Labels::Span { .. }) | None => KnownClasses::None,
        };
        let part = Part::new(rows, &path, self.text.len(), classes, reading, objective)?;
        let labels = match model.labels {
            Some(labels) => labels.clone(),
            None => labels_of(&part, objective, reading)?,
        };
        let (validation, folded) = answers_of(&part, &labels, reading, model.labels.is_some())?;
        let (mut warnings, left_out) = (part.warnings(), part.rows.without_label);
        warnings.extend(folded);
        let answers = RowAnswers { texts: self.text.len(), train: validation.of_rows(&[]), validation, labels };
        let texts = Split { train: Documents::new(), validation: part.rows.texts };
        Ok(Examples { files: 1, warnings, left_out, ..Content::Rows(texts, answers).into() })
    }

    fn labels(&self, context: LoadContext<'_>) -> Result<Option<Labels>, DataError> {
        let LoadContext { objective, reading, base_dir, progress } = context;
        let path = base_dir.join(&self.path);
        let rows = load_rows(&path, columns(self), Judged::of(objective), reading, progress)?;
        let part = Part::new(rows, &path, self.text.len(), KnownClasses::None, reading, objective)?;
        Ok(Some(labels_of(&part, objective, reading)?))
    }

    fn probe(&self, (objective, reading): (&Objective, &Reading), note: Note<'_>) {
        let probe = |path: &Path| probe_table(self, objective, reading, path);
        let is_readable = self.path.as_os_str().is_empty() || probe(&self.path).is_ok();
        note("data.path", &self.path, &|| probe(&self.path));
        if let Some(path) = self.validation_path.as_ref().filter(|_| is_readable) {
            note("data.validation_path", path, &|| probe(path));
        }
    }

    fn preview(
        &self,
        config: &DataConfig,
        (objective, reading): (&Objective, &Reading),
    ) -> Result<Option<DataPreview>, DataError> {
        if self.path.as_os_str().is_empty() {
            return Ok(None);
        }
        let Beginning { columns: found, rows, is_whole } = beginning(&self.path, columns(self), Judged::of(objective))?;
        let columns = found.into_iter().map(|(name, sample)| (brief(&name), brief(&sample))).collect();
        let rows = rows.unwrap_or_default();
        let (rows, question) = match labelled_rows(rows.clone(), self, objective, reading) {
            Ok(labelled) => (labelled, None),
            Err(error) => (rows, Some(error.to_string())),
        };
        Ok(Some(DataPreview::Table(TablePreview {
            columns,
            rows: rows.labels.len() as u64,
            without_text: rows.without_text as u64,
            without_label: rows.without_label as u64,
            question,
            is_whole,
            answers: answers(&rows, objective, reading),
            examples: examples(&rows, self, config, objective),
        })))
    }
}

fn columns(TableSource { text, label, header, .. }: &TableSource) -> TableColumns<'_> {
    TableColumns { texts: text, label, header: *header }
}

/// What is wrong with a table, where it is small enough to look.
fn probe_table(source: &TableSource, objective: &Objective, reading: &Reading, path: &Path) -> Result<(), DataError> {
    let (judged, texts) = (Judged::of(objective), source.text.len());
    let Some(rows) = probe_rows(&source.path, columns(source), judged, reading)? else {
        return if path == source.path { Ok(()) } else { probe_rows(path, columns(source), judged, reading).map(drop) };
    };
    let train = Part::new(rows, &source.path, texts, KnownClasses::None, reading, objective)?;
    let labels = labels_of(&train, objective, reading)?;
    answers_of(&train, &labels, reading, false)?;
    if path != source.path
        && let Some(rows) = probe_rows(path, columns(source), judged, reading)?
    {
        let held_out = Part::new(rows, path, texts, of_training(&labels), reading, objective)?;
        answers_of(&held_out, &labels, reading, false)?;
    }
    Ok(())
}

/// Leaves out the rows of the beginning of a table that have no label.
///
/// # Errors
/// If -1 may be a class as well as no label.
fn labelled_rows(
    rows: LabelledRows,
    source: &TableSource,
    objective: &Objective,
    reading: &Reading,
) -> Result<LabelledRows, TableError> {
    Ok(Part::new(rows, &source.path, source.text.len(), KnownClasses::None, reading, objective)?.rows)
}

/// The classes of rows to train on.
fn of_training(labels: &Labels) -> KnownClasses<'_> {
    match labels {
        Labels::Classes(names) => KnownClasses::OfTraining(names),
        Labels::Number | Labels::Span { .. } => KnownClasses::None,
    }
}

/// The classes of a table: numbers in their order, words in theirs.
fn labels_of(part: &Part<'_>, objective: &Objective, reading: &Reading) -> Result<Labels, TableError> {
    if objective.learns_numbers() {
        return Ok(Labels::Number);
    }
    let (path, rows) = (part.path.to_owned(), part.rows.labels.len());
    let classes = counted_classes(part.rows.labels.iter().map(|(label, _)| label.as_str()), reading.edition);
    let mut names: Vec<String> = classes.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.sort();
    match names.as_slice() {
        [label] => return Err(TableError::OneClass { path, field: "data.label", label: label.clone() }),
        _ if names.len() > MOST_CLASSES => {
            return Err(TableError::ManyClasses { path, count: names.len(), rows, most: MOST_CLASSES });
        }
        _ => {}
    }
    sort_classes(&mut names);
    Ok(Labels::Classes(names))
}

/// The answers of the rows of a table, and a warning where labels are classes of a finished model in other letters.
fn answers_of(
    part: &Part<'_>,
    labels: &Labels,
    reading: &Reading,
    are_of_model: bool,
) -> Result<(Answers, Option<String>), TableError> {
    let path = || part.path.to_owned();
    match labels {
        Labels::Classes(names) => {
            let finder = ClassFinder::new(names, reading, are_of_model)?;
            let mut folded: BTreeMap<&str, u32> = BTreeMap::new();
            let mut classes = Vec::with_capacity(part.rows.labels.len());
            for (label, line) in &part.rows.labels {
                let Some((class, is_folded)) = finder.class(label) else {
                    let (path, line, label, known) = (path(), *line, label.clone(), names.clone());
                    return Err(if are_of_model {
                        TableError::OtherLabel { path, line, label, known }
                    } else {
                        TableError::UnknownLabel { path, line, label, known }
                    });
                };
                if is_folded {
                    folded.insert(label, class);
                }
                classes.push(class);
            }
            let pairs: Vec<String> =
                folded.iter().map(|(label, class)| format!("`{label}` is `{}`", finder.name(*class))).collect();
            let told = (!pairs.is_empty()).then(|| {
                format!(
                    "Labels are classes of the model in other letters: {}: {}",
                    pairs.join(", "),
                    part.path.display()
                )
            });
            Ok((Answers::Classes { classes, weights: None }, told))
        }
        Labels::Number => {
            let number = |(label, line): &(String, u64)| {
                label.parse::<f32>().ok().filter(|number| number.is_finite()).ok_or_else(|| TableError::NoNumber {
                    path: path(),
                    line: *line,
                    label: label.clone(),
                })
            };
            Ok((Answers::Numbers(part.rows.labels.iter().map(number).collect::<Result<_, _>>()?), None))
        }
        // A model of such answers takes no table.
        Labels::Span { .. } => Err(TableError::Unlabelled { path: path(), column: "of spans".to_owned() }),
    }
}

/// A warning where held-out rows are among those for training.
fn seen_in_training(train: &Part<'_>, validation: &Part<'_>, texts: usize) -> Option<String> {
    let row = |part: &Part<'_>, row: usize| -> Vec<String> {
        (0..texts).filter_map(|text| part.rows.texts.get(row * texts + text)).map(str::to_owned).collect()
    };
    let known: std::collections::HashSet<Vec<String>> =
        (0..train.rows.labels.len()).map(|number| row(train, number)).collect();
    let count = validation.rows.labels.len();
    let seen = (0..count).filter(|number| known.contains(&row(validation, *number))).count();
    (seen > 0).then(|| {
        format!(
            "{seen} of {} have the texts of rows to train on, so that what is measured on them is too good: {}",
            counted(count as u64, "held-out row"),
            validation.path.display()
        )
    })
}

fn answers(rows: &LabelledRows, objective: &Objective, reading: &Reading) -> PreviewAnswers {
    if rows.labels.is_empty() {
        return PreviewAnswers::Unknown;
    }
    if objective.learns_numbers() {
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
    use crate::Silent;
    use crate::config::{ClassificationTask, Column, TaskConfig};

    struct Loaded {
        texts: Split,
        answers: RowAnswers,
        warnings: Vec<String>,
    }

    fn load(train: &str, held_out: Option<&str>, objective: &Objective) -> Result<Loaded, DataError> {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.tsv"), train).unwrap();
        if let Some(held_out) = held_out {
            std::fs::write(folder.path().join("b.tsv"), held_out).unwrap();
        }
        let source = TableSource {
            path: "a.tsv".into(),
            validation_path: held_out.map(|_| "b.tsv".into()),
            text: vec![Column::named("text")],
            ..TableSource::default()
        };
        let reading = &Reading::default();
        let context = LoadContext { objective, reading, base_dir: folder.path(), progress: &Silent };
        let Examples { content, warnings, .. } = source.split(0.25, context)?;
        let Content::Rows(texts, answers) = content else { panic!("no rows") };
        Ok(Loaded { texts, answers, warnings })
    }

    fn table(labels: &[&str]) -> String {
        let rows = labels.iter().enumerate().map(|(row, label)| format!("word {row}\t{label}\n"));
        format!("text\tlabel\n{}", rows.collect::<String>())
    }

    #[test]
    fn classes_are_sorted_words_or_numbers() {
        let names = |labels: &[&str]| load(&table(labels), None, &Objective::CLASSIFICATION).unwrap().answers.labels;
        let classes = |names: &[&str]| Labels::Classes(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            names(&["neutral", "entailment", "contradiction", "neutral"]),
            classes(&["contradiction", "entailment", "neutral"])
        );
        assert_eq!(names(&["10", "9", "-1", "10"]), classes(&["-1", "9", "10"]));
        let held_out = load(&table(&["b", "a"]), Some("text\tlabel\nnew\ta\n"), &Objective::CLASSIFICATION).unwrap();
        assert_eq!(held_out.answers.train, Answers::Classes { classes: vec![1, 0], weights: None });
        assert_eq!(held_out.answers.validation, Answers::Classes { classes: vec![0], weights: None });
        assert!(held_out.warnings.is_empty());
    }

    #[test]
    fn without_a_file_of_its_own_a_share_is_held_out_with_its_answers() {
        let labels: Vec<String> = (0..200).map(|row| (row % 3).to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let found = load(&table(&labels), None, &Objective::CLASSIFICATION).unwrap();
        assert_eq!(found.texts.train.len() + found.texts.validation.len(), 200);
        assert!((40..=60).contains(&found.texts.validation.len()));
        for (texts, answers) in
            [(&found.texts.train, &found.answers.train), (&found.texts.validation, &found.answers.validation)]
        {
            let Answers::Classes { classes, .. } = answers else { panic!() };
            assert_eq!(texts.len(), classes.len());
            for (text, class) in texts.iter().zip(classes) {
                assert_eq!(text[5..].parse::<u32>().unwrap() % 3, *class);
            }
        }
    }

    #[test]
    fn labels_that_cannot_be_learnt_are_refused() {
        let (classes, numbers) = (&Objective::CLASSIFICATION, &Objective::REGRESSION);
        let said = |train: &str, held_out: Option<&str>, objective: &Objective| {
            load(train, held_out, objective).err().unwrap().to_string()
        };
        for (told, wanted) in [
            (said(&table(&["a", "a"]), None, classes), vec!["All rows have the label `a`", "a.tsv"]),
            (
                said(&table(&["a", "b"]), Some("text\tlabel\nx\ta\ny\tc\n"), classes),
                vec!["Line 3 has the label `c`", "`a`, `b`", "b.tsv"],
            ),
            (said(&table(&["1", "x"]), None, numbers), vec!["On line 3 the label is `x`", "a.tsv"]),
            (said(&table(&["1", "inf"]), None, numbers), vec!["On line 3 the label is `inf`"]),
        ] {
            assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
        }
        let many: Vec<String> = (0..1001).map(|row| format!("c{row}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(
            said(&table(&many), None, classes).contains("1,001 different labels")
                || said(&table(&many), None, classes).contains("1001 different labels")
        );
    }

    #[test]
    fn weights_are_given_by_label() {
        let answers = load(&table(&["b", "a", "b"]), Some(&table(&["a"])), &Objective::CLASSIFICATION).unwrap().answers;
        let task = |label: &str| {
            let class_weights = [(label.to_owned(), 2.5)].into_iter().collect();
            TaskConfig::Classification(ClassificationTask { class_weights, ..ClassificationTask::default() })
        };
        let mut found = answers.clone();
        found.weigh(&task("b")).unwrap();
        assert_eq!(found.train, Answers::Classes { classes: vec![1, 0, 1], weights: Some(vec![2.5, 1.0, 2.5]) });
        assert_eq!(found.validation, answers.validation, "all classes count alike in what a model is judged by");
        assert!(found.weigh(&task("c")).unwrap_err().to_string().contains("no class `c`"));
    }
}
