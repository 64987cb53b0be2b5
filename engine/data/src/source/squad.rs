//! Questions about paragraphs on disk.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, Note};
use crate::config::{DataConfig, SquadSource, counted};
use crate::examples::{ExamplesPreview, SHOWN};
use crate::file::{Needs, load_questions, probe_questions, questions_beginning};
use crate::objective::{Answers, Labels, Objective, Question, Questions, Spans};
use crate::preview::DataPreview;
use crate::progress::advance;
use crate::questions::documents;
use crate::row_answers::RowAnswers;
use crate::seen::{PreviewExample, brief, known_tokenizer, seen};
use crate::split::held_out_rows;
use crate::{DataError, Documents, Reading, Split, Stage};

/// Articles of a file of questions that are read for its preview: some hundred questions.
const ARTICLES: usize = 3;
/// Letters of a paragraph that are shown to either side of an answer.
const AROUND: usize = 120;

impl DataSource for SquadSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let LoadContext { base_dir, progress, .. } = context;
        let path = base_dir.join(&self.path);
        let found = load_questions(&path, Needs::Answers, self.strict, progress)?;
        let mut warnings: Vec<String> = found.warning().into_iter().collect();
        let mut train = found.questions;
        let mut left_out = 0;
        let (mut validation, files) = if let Some(validation_path) = &self.validation_path {
            let path = base_dir.join(validation_path);
            let found = load_questions(&path, Needs::Answers, self.strict, progress)?;
            warnings.extend(found.warning());
            left_out = found.elsewhere;
            let validation = found.questions;
            warnings.extend(seen_in_training(&train, &validation, &path));
            (validation, 2)
        } else {
            let paragraphs: Documents = train.paragraphs.iter().map(|paragraph| &paragraph.text).collect();
            let held_out = held_out_rows(&paragraphs, 1, fraction);
            let of = |wanted| those(&train, |paragraph| held_out.get(paragraph) == Some(&wanted));
            let (kept, held_out) = (of(false), of(true));
            if kept.all.is_empty() {
                return Err(DataError::Empty { path });
            }
            train = kept;
            (held_out, 1)
        };
        // The model is the same for both.
        let may_lack_answers = train.may_lack_answers || validation.may_lack_answers;
        (train.may_lack_answers, validation.may_lack_answers) = (may_lack_answers, may_lack_answers);
        advance(progress, Stage::Reading, 1, 1)?;
        Ok(Examples { files, left_out, warnings, ..content(train, validation).into() })
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let LoadContext { base_dir, progress, .. } = context;
        let found = load_questions(&base_dir.join(&self.path), Needs::Answers, self.strict, progress)?;
        let (warnings, left_out, validation) = (found.warning(), found.elsewhere, found.questions);
        let train = Questions { may_lack_answers: validation.may_lack_answers, ..Questions::default() };
        let warnings = warnings.into_iter().collect();
        Ok(Examples { files: 1, left_out, warnings, ..content(train, validation).into() })
    }

    fn probe(&self, _: (&Objective, &Reading), note: Note<'_>) {
        note("data.path", &self.path, &|| probe_questions(&self.path, self.strict));
        if let Some(path) = &self.validation_path {
            note("data.validation_path", path, &|| probe_questions(path, self.strict));
        }
    }

    fn preview(
        &self,
        config: &DataConfig,
        (objective, _): (&Objective, &Reading),
    ) -> Result<Option<DataPreview>, DataError> {
        if self.path.as_os_str().is_empty() {
            return Ok(None);
        }
        let (found, is_whole) = questions_beginning(&self.path, ARTICLES, self.strict)?;
        let mut seen = of_questions(&found.questions, is_whole, config, objective);
        if let Some(warning) = found.warning() {
            seen.about += &[". ", warning.trim_end_matches('.')].concat();
        }
        Ok(Some(DataPreview::Examples(seen)))
    }
}

fn content(train: Questions, validation: Questions) -> Content {
    let texts = Split { train: documents(&train), validation: documents(&validation) };
    let labels = Labels::Span { may_lack_answers: validation.may_lack_answers };
    let [train, validation] = [train, validation]
        .map(|questions| Answers::Spans(Spans { questions: Arc::new(questions), windows: Vec::new() }));
    Content::Spans(texts, RowAnswers { labels, texts: 2, train, validation })
}

/// The questions about some of the paragraphs.
fn those(all: &Questions, is_wanted: impl Fn(usize) -> bool) -> Questions {
    let mut chosen = Questions { may_lack_answers: all.may_lack_answers, ..Questions::default() };
    for (number, paragraph) in all.paragraphs.iter().enumerate().filter(|(number, _)| is_wanted(*number)) {
        let questions = all.all.iter().filter(|question| question.paragraph == number);
        let here = chosen.paragraphs.len();
        chosen.all.extend(questions.map(|question| Question { paragraph: here, ..question.clone() }));
        chosen.paragraphs.push(paragraph.clone());
    }
    chosen
}

/// A warning where held-out paragraphs are among those for training.
fn seen_in_training(train: &Questions, validation: &Questions, path: &Path) -> Option<String> {
    let known: HashSet<&str> = train.paragraphs.iter().map(|own| own.text.as_str()).collect();
    let count = validation.paragraphs.len();
    let seen = validation.paragraphs.iter().filter(|own| known.contains(own.text.as_str())).count();
    (seen > 0).then(|| {
        format!(
            "{seen} of {} {} among those to train on, so that what is measured on them is too good: {}",
            counted(count as u64, "held-out paragraph"),
            if seen == 1 { "is" } else { "are" },
            path.display()
        )
    })
}

fn of_questions(found: &Questions, is_whole: bool, config: &DataConfig, objective: &Objective) -> ExamplesPreview {
    let questions = counted(found.all.len() as u64, "question");
    let paragraphs = counted(found.paragraphs.len() as u64, "paragraph");
    let unanswered = found.all.iter().filter(|question| question.answers.is_empty()).count() as u64;
    let first = if is_whole { "" } else { "The first " };
    let mut about = format!("{first}{questions} on {paragraphs}");
    if unanswered > 0 {
        about += &[", ", &unanswered.to_string(), " without an answer"].concat();
    }
    let tokenizer = known_tokenizer(&config.tokenizer, objective);
    let examples = chosen(found).into_iter().filter_map(|place| {
        let question = found.all.get(place)?;
        let paragraph = &found.paragraphs.get(question.paragraph)?.text;
        let (tokens, cut_off) = seen(tokenizer.as_ref(), &[&question.text, paragraph], config.sequence_length);
        let label = question.answers.first().map_or_else(|| "no answer".to_owned(), |answer| brief(answer));
        let texts = vec![brief(&question.text), around(paragraph, question.place)];
        Some(PreviewExample { texts, label, tokens, cut_off })
    });
    ExamplesPreview { about, examples: examples.collect() }
}

/// The first questions, one that has no answer among them where there is one, about different paragraphs where there are some.
fn chosen(found: &Questions) -> Vec<usize> {
    let of = |place: usize| found.all.get(place);
    let unanswered = found.all.iter().position(|question| question.answers.is_empty());
    let mut chosen: Vec<usize> = unanswered.into_iter().collect();
    for is_other in [true, false] {
        for place in 0..found.all.len() {
            let is_of_other =
                || chosen.iter().all(|own| of(*own).map(|q| q.paragraph) != of(place).map(|q| q.paragraph));
            if chosen.len() < SHOWN && !chosen.contains(&place) && (!is_other || is_of_other()) {
                chosen.push(place);
            }
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The paragraph around a place in it, in bytes.
fn around(paragraph: &str, place: Option<[u32; 2]>) -> String {
    let [start, end] = place.unwrap_or_default().map(|at| at as usize);
    let (before, rest) = paragraph.split_at_checked(start).unwrap_or(("", paragraph));
    let (answer, after) = rest.split_at_checked(end.saturating_sub(start)).unwrap_or(("", rest));
    let skipped = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(skipped).collect();
    let kept: String = after.chars().take(if place.is_some() { AROUND } else { 2 * AROUND }).collect();
    let more = if kept.len() < after.len() { "…" } else { "" };
    format!("{}{before}{answer}{kept}{more}", if skipped > 0 { "…" } else { "" })
}
