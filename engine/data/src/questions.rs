//! Questions about paragraphs as examples: a question and as much of its paragraph as fits, in overlapping windows.

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::file::{Needs, load_questions, parse_questions};
use super::row_answers::RowAnswers;
use super::{DataError, Documents, Progress, Silent, SquadError, TextTokenizer, TokenStream};
use crate::config::counted;
use crate::objective::{Answers, Paragraph, Questions, Spans, Window};

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

/// All paragraphs, then all questions: what tokens are made of.
pub(super) fn documents(questions: &Questions) -> Documents {
    let paragraphs = questions.paragraphs.iter().map(|paragraph| paragraph.text.as_str());
    paragraphs.chain(questions.all.iter().map(|question| question.text.trim())).collect()
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
    let start = if document == 0 { 0 } else { stream.ends[document - 1] };
    start..stream.ends[document]
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
