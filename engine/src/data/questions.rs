//! Questions about paragraphs as examples: a question and as much of its paragraph as fits, in overlapping windows.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::file::{Needs, load_questions, parse_questions};
use super::progress::advance;
use super::row_answers::{Labelled, RowAnswers};
use super::split::held_out_rows;
use super::{DataError, Documents, Progress, Silent, Split, SquadError, Stage, TextTokenizer, TokenStream};
use crate::config::{SquadSource, counted};
use crate::objective::{Answers, Labels, Paragraph, Question, Questions, Spans, Window};

/// Reads questions for training and holds out a part: those of their own file, or those about a share of the paragraphs.
pub(super) fn split_questions(
    source: &SquadSource,
    fraction: f64,
    base_dir: &Path,
    progress: &dyn Progress,
) -> Result<Labelled, DataError> {
    let path = base_dir.join(&source.path);
    let found = load_questions(&path, Needs::Answers, source.strict, progress)?;
    let mut warnings: Vec<String> = found.warning().into_iter().collect();
    let mut train = found.questions;
    let mut left_out = 0;
    let (mut validation, files) = if let Some(validation_path) = &source.validation_path {
        let path = base_dir.join(validation_path);
        let found = load_questions(&path, Needs::Answers, source.strict, progress)?;
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
    Ok(Labelled { left_out, ..labelled(train, validation, files, warnings) })
}

/// Reads all questions of a file as held-out ones.
pub(super) fn all_questions(
    source: &SquadSource,
    base_dir: &Path,
    progress: &dyn Progress,
) -> Result<Labelled, DataError> {
    let found = load_questions(&base_dir.join(&source.path), Needs::Answers, source.strict, progress)?;
    let (warnings, left_out, validation) = (found.warning(), found.elsewhere, found.questions);
    let train = Questions { may_lack_answers: validation.may_lack_answers, ..Questions::default() };
    Ok(Labelled { left_out, ..labelled(train, validation, 1, warnings.into_iter().collect()) })
}

/// The questions of the text of a `SQuAD` file, whose answers need not be there.
///
/// # Errors
/// What is wrong, by article, paragraph, question and field.
pub fn questions_of(text: &str, path: &Path) -> Result<Questions, DataError> {
    Ok(parse_questions(text, path, Needs::Questions, false)?.questions)
}

/// The questions of a `SQuAD` file, whose answers need not be there.
///
/// # Errors
/// As [`questions_of`], and if it cannot be read.
pub fn questions_at(path: &Path) -> Result<Questions, DataError> {
    Ok(load_questions(path, Needs::Questions, false, &Silent)?.questions)
}

fn labelled(train: Questions, validation: Questions, files: usize, warnings: Vec<String>) -> Labelled {
    let texts = Split { train: documents(&train), validation: documents(&validation) };
    let labels = Labels::Span { may_lack_answers: validation.may_lack_answers };
    let [train, validation] = [train, validation]
        .map(|questions| Answers::Spans(Spans { questions: Arc::new(questions), windows: Vec::new() }));
    Labelled { texts, answers: RowAnswers { labels, texts: 2, train, validation }, files, warnings, left_out: 0 }
}

/// All paragraphs, then all questions: what tokens are made of.
pub(super) fn documents(questions: &Questions) -> Documents {
    let paragraphs = questions.paragraphs.iter().map(|paragraph| paragraph.text.as_str());
    paragraphs.chain(questions.all.iter().map(|question| question.text.trim())).collect()
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
    let known: std::collections::HashSet<&str> = train.paragraphs.iter().map(|own| own.text.as_str()).collect();
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

/// The answers of both parts with the places of all tokens of their paragraphs, where they are answers to questions.
///
/// # Errors
/// If the tokenizer does not tell them, or the load was stopped.
pub(super) fn located(
    answers: RowAnswers,
    streams: [&TokenStream; 2],
    tokenizer: &TextTokenizer,
    progress: &dyn Progress,
) -> Result<RowAnswers, DataError> {
    let RowAnswers { labels, texts, train, validation } = answers;
    let [train_stream, validation_stream] = streams;
    let of = |answers, stream| match answers {
        Answers::Spans(spans) => Ok(Answers::Spans(with_places(spans, stream, tokenizer, progress)?)),
        other @ (Answers::Classes { .. } | Answers::Numbers(_)) => Ok::<_, DataError>(other),
    };
    let (train, validation) = (of(train, train_stream)?, of(validation, validation_stream)?);
    Ok(RowAnswers { labels, texts, train, validation })
}

pub(super) fn with_places(
    spans: Spans,
    stream: &TokenStream,
    tokenizer: &TextTokenizer,
    progress: &dyn Progress,
) -> Result<Spans, DataError> {
    let mut questions = Arc::unwrap_or_clone(spans.questions);
    let tokens = |number: usize| token_range(stream, number).len();
    let place = |(number, paragraph): (usize, &mut Paragraph)| {
        if progress.is_stopped() {
            return Err(DataError::Stopped);
        }
        paragraph.offsets = tokenizer.offsets(&paragraph.text)?;
        let (tokens, places) = (tokens(number), paragraph.offsets.len());
        if tokens == places { Ok(()) } else { Err(SquadError::NoPlaces { tokens, places }.into()) }
    };
    questions.paragraphs.par_iter_mut().enumerate().try_for_each(place)?;
    Ok(Spans { questions: Arc::new(questions), windows: spans.windows })
}

/// Where a document's tokens stand in a stream.
pub(super) fn token_range(stream: &TokenStream, document: usize) -> std::ops::Range<usize> {
    let end = |document: usize| stream.ends.get(document).copied().unwrap_or(stream.ids.len());
    document.checked_sub(1).map_or(0, end)..end(document)
}

/// How paragraphs are cut into windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cutting {
    /// Tokens of a question and its window of the paragraph together, at most.
    pub most: usize,
    /// Tokens from the beginning of a window to that of the next, where as many fit.
    pub stride: usize,
}

/// A window with the tokens of its question that are read.
pub(super) struct CutWindow {
    pub window: Window,
    pub question_tokens: usize,
}

impl Cutting {
    /// The windows of a question, in order: together they hold the whole paragraph. A question leaves half of the room at
    /// least to the paragraph.
    pub(super) fn windows(&self, question: usize, question_tokens: usize, paragraph_tokens: usize) -> Vec<CutWindow> {
        let question_tokens = question_tokens.min(self.most / 2);
        let room = (self.most - question_tokens).max(1);
        let stride = self.stride.clamp(1, room);
        let (mut windows, mut first) = (Vec::new(), 0);
        loop {
            let tokens = room.min(paragraph_tokens.saturating_sub(first));
            windows.push(CutWindow { window: Window { question, before: 0, first, tokens }, question_tokens });
            if first + tokens >= paragraph_tokens {
                return windows;
            }
            first += stride;
        }
    }
}

/// What is to be told of questions that were cut into windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowNotes {
    /// Questions that were cut off.
    pub cut_questions: usize,
    /// Questions whose answer is whole in no window.
    pub lost_answers: usize,
    /// Windows that begin where the one before ends, since no more fits.
    pub apart: usize,
}

impl WindowNotes {
    /// As sentences.
    pub(super) fn words(&self, sequence: usize) -> Vec<String> {
        let mut told = Vec::new();
        let length = counted(sequence as u64, "token");
        if self.cut_questions > 0 {
            told.push(format!(
                "{} for training longer than half of {length}: the rest of {} is not read. Raise data.sequence_length.",
                counted(self.cut_questions as u64, "question"),
                if self.cut_questions == 1 { "it" } else { "each" },
            ));
        }
        if self.lost_answers > 0 {
            told.push(format!(
                "The answers of {} for training are whole in no window of {length}, so that they teach that there is none. Raise \
                 data.sequence_length, or lower task.doc_stride.",
                counted(self.lost_answers as u64, "question"),
            ));
        }
        if self.apart > 0 {
            told.push(format!(
                "Windows of {length} do not overlap for {} for training, since task.doc_stride is no less than what fits of a \
                 paragraph. Lower it, or raise data.sequence_length.",
                counted(self.apart as u64, "question"),
            ));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_and_hold_the_whole_paragraph() {
        for (most, stride, question, paragraph) in
            [(20, 4, 6, 50), (20, 128, 6, 50), (20, 14, 6, 14), (9, 2, 30, 17), (8, 1, 3, 1), (2, 5, 1, 3)]
        {
            let windows = Cutting { most, stride }.windows(7, question, paragraph);
            let mut end = 0;
            for (number, CutWindow { window, question_tokens }) in windows.iter().enumerate() {
                assert_eq!(window.question, 7);
                assert!(question_tokens + window.tokens <= most && *question_tokens <= question);
                assert!(*question_tokens == question || *question_tokens == most / 2);
                assert!(window.tokens > 0 && window.first <= end, "nothing is left out");
                if number > 0 {
                    let room = most - question_tokens;
                    assert_eq!(window.first, number * stride.min(room));
                }
                end = window.first + window.tokens;
            }
            assert_eq!(end, paragraph);
        }
        assert_eq!(Cutting { most: 20, stride: 128 }.windows(0, 6, 14).len(), 1);
    }
}
