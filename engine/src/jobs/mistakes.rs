//! Held-out examples that a model gets wrong: those that it puts into another class than their own, and questions that it gives
//! another answer.

use std::{collections::BTreeMap, sync::Arc};

use super::{error::JobError, predict::answers, subject::Subject};
use crate::{
    config::Span,
    data::{HeldOut, PreviewImage},
    model::ForwardOptions,
    objective::{Answers, Batch, Guess, Labels, Questions, Window, guesses},
    protocol::{AnswerPlaces, Mistake},
};

/// Images that are shown with their mistakes.
const PICTURES: usize = 100;

/// What stands in the place of an answer where there is none.
const NO_ANSWER: &str = "no answer";

/// The mistakes of a model on so many held-out examples (0 = all), those first of which it is the surest, at most `most`;
/// none where it was stopped.
///
/// # Errors
/// If the model neither puts examples into one of some classes nor answers questions about paragraphs.
pub(crate) fn mistakes(
    subject: &Subject,
    (held_out, limit): (&HeldOut, usize),
    most: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Mistake>>, JobError> {
    if let Some(span) = subject.objective.spans() {
        return other_answers(subject, span, held_out.batches(limit), most, should_stop);
    }
    let told = |error: &dyn std::fmt::Display| JobError::failure(error.to_string());
    let Some(labels @ Labels::Classes(_)) = subject.corpus.labels() else {
        return Err(JobError::refusal(
            "Mistakes are those of a model that puts texts or images into classes, or answers questions.",
        ));
    };
    let name = |class: usize| labels.name(class).unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for (numbers, batch) in held_out.numbered_batches(limit) {
        if should_stop() {
            return Ok(None);
        }
        let Some(Answers::Classes { classes, .. }) = &batch.answers else { continue };
        let input = batch.input(&subject.model).map_err(|error| told(&error))?;
        let outputs = subject.model.forward(&input, &ForwardOptions::default()).map_err(|error| told(&error))?;
        let shares = answers(&outputs.logits, labels).map_err(|error| told(&error))?;
        for (row, (right, shares)) in classes.iter().zip(shares).enumerate() {
            let best = shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let Some((predicted, confidence)) = best.filter(|(place, _)| *place != *right as usize) else { continue };
            let own = match numbers.get(row) {
                Some(number) => held_out.texts_of(&subject.corpus, *number).map_err(|error| told(&error))?,
                None => None,
            };
            found.push(Mistake {
                texts: own.map_or_else(|| texts(subject, &batch, row), Ok)?,
                image: batch.pixels.as_ref().and_then(|pixels| pixels.images.get(row).copied()),
                picture: None,
                right: name(*right as usize),
                predicted: name(predicted),
                confidence: *confidence,
                places: None,
            });
        }
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    found.truncate(most);
    if let Some(images) = subject.corpus.images() {
        for mistake in found.iter_mut().take(PICTURES) {
            let numbers = images.shape.numbers();
            let pixels = mistake.image.and_then(|at| images.validation.get(at * numbers..(at + 1) * numbers));
            mistake.picture = pixels.map(|pixels| PreviewImage::new(mistake.right.clone(), images.shape, pixels));
        }
    }
    Ok(Some(found))
}

/// What was read of a question in one window: what the model says of it, and the logarithm of the sum over all beginnings of all ends.
type Read = (Guess, f64);

/// The questions that get another answer than each of the right ones, or one where there is none, by the rules of `SQuAD`.
fn other_answers(
    subject: &Subject,
    span: &Span,
    batches: impl Iterator<Item = Batch>,
    most: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Mistake>>, JobError> {
    let told = |error: &dyn std::fmt::Display| JobError::failure(error.to_string());
    let mut read: BTreeMap<usize, Vec<Read>> = BTreeMap::new();
    let mut questions = Arc::new(Questions::default());
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        let Some(Answers::Spans(spans)) = &batch.answers else { continue };
        let input = batch.input(&subject.model).map_err(|error| told(&error))?;
        let outputs = subject.model.forward(&input, &ForwardOptions::default()).map_err(|error| told(&error))?;
        let said = guesses(&outputs.logits, &spans.windows, span.max_answer).map_err(|error| told(&error))?;
        let logits = outputs.logits.to_dtype(candle_core::DType::F64).and_then(|logits| logits.to_vec3::<f64>());
        for ((guess, window), row) in said.into_iter().zip(&spans.windows).zip(logits.map_err(|error| told(&error))?) {
            read.entry(guess.question).or_default().push((guess, log_sum(window, &row)));
        }
        questions = Arc::clone(&spans.questions);
    }
    let mut found: Vec<Mistake> =
        read.into_values().filter_map(|windows| other_answer(&questions, span, &windows)).collect();
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    found.truncate(most);
    Ok(Some(found))
}

/// The logarithm of the sum over all pairs of a beginning and an end in a window of `e` to their score; the first position stands
/// for no answer.
fn log_sum(window: &Window, logits: &[Vec<f64>]) -> f64 {
    let places = std::iter::once(0).chain(window.before..window.before + window.tokens);
    let of = |end: usize| {
        let values: Vec<f64> = places.clone().filter_map(|place| logits.get(place)?.get(end).copied()).collect();
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + values.iter().map(|value| (value - most).exp()).sum::<f64>().ln()
    };
    of(0) + of(1)
}

/// The mistake that a model makes in a question, by all of its windows; none where it is right.
fn other_answer(questions: &Questions, span: &Span, windows: &[Read]) -> Option<Mistake> {
    let said: Vec<Guess> = windows.iter().map(|(guess, _)| *guess).collect();
    let guess = Guess::by_question(&said).into_iter().next()?;
    let (question, paragraph) = (questions.all.get(guess.question)?, questions.paragraph(guess.question)?);
    let answer = questions.given_answer(&guess, span.no_answer_threshold);
    if questions.score(guess.question, answer)?.exact > 0.0 {
        return None;
    }
    let confidence = windows.iter().find_map(|(here, sum)| match guess.best.filter(|_| answer.is_some()) {
        Some(best) => (here.best == Some(best)).then(|| (best.score - sum).exp()),
        None => (here.no_answer.total_cmp(&guess.no_answer).is_eq()).then(|| (here.no_answer - sum).exp()),
    });
    let characters = |bytes: u32| paragraph.text.get(..bytes as usize).map(|before| before.chars().count());
    let right = question.place.and_then(|[start, end]| Some([characters(start)?, characters(end)?]));
    Some(Mistake {
        texts: vec![question.text.clone(), paragraph.text.clone()],
        image: None,
        picture: None,
        right: question.answers.first().cloned().unwrap_or_else(|| NO_ANSWER.to_owned()),
        predicted: answer.map_or(NO_ANSWER, |answer| answer.text).to_owned(),
        confidence: confidence.unwrap_or(f64::NAN),
        places: Some(AnswerPlaces { right, predicted: answer.map(|answer| [answer.start, answer.end]) }),
    })
}

/// The texts of a row of a batch put together from its tokens, without special ones: the second has the other type of token.
fn texts(subject: &Subject, batch: &Batch, row: usize) -> Result<Vec<String>, JobError> {
    if batch.pixels.is_some() {
        return Ok(Vec::new());
    }
    let places = row * batch.sequence..(row + 1) * batch.sequence;
    let is_text = |place: usize| batch.key_mask.as_ref().and_then(|mask| mask.get(place)).is_none_or(|kept| *kept != 0);
    let part = |place: usize| batch.token_types.as_ref().and_then(|types| types.get(place)).copied().unwrap_or(0);
    let mut all = Vec::new();
    for kind in [0, 1] {
        let own = places.clone().filter(|place| is_text(*place) && part(*place) == kind);
        let ids: Vec<u32> = own.filter_map(|place| batch.input_ids.get(place).copied()).collect();
        if kind == 0 || !ids.is_empty() {
            all.push(subject.corpus.tokenizer.decode(&ids).map_err(|error| JobError::failure(error.to_string()))?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::{Paragraph, Question};

    fn asked(answers: &[&str], place: Option<[u32; 2]>) -> Questions {
        let paragraph =
            Paragraph { text: "zo\u{eb} has 42 cats".to_owned(), offsets: vec![[0, 4], [5, 8], [9, 11], [12, 16]] };
        let question = Question {
            text: "how many?".to_owned(),
            answers: answers.iter().map(|&answer| answer.to_owned()).collect(),
            place,
            ..Question::default()
        };
        Questions { paragraphs: vec![paragraph], all: vec![question], may_lack_answers: true }
    }

    #[test]
    fn a_question_with_another_answer_is_told_with_places_and_probability() {
        let span = Span::default();
        // [CLS] how [SEP], then the paragraph: of what stands before it the first position alone counts, for no answer.
        let window = Window { question: 0, before: 3, first: 0, tokens: 4 };
        let mut logits = vec![vec![0.0, 0.0]; 7];
        (logits[4][0], logits[5][1]) = (2.0, 1.0);
        let pairs: Vec<[f64; 2]> = logits.iter().map(|pair| [pair[0], pair[1]]).collect();
        let read = [(Guess::of(&window, &pairs, 30), log_sum(&window, &logits))];
        let questions = asked(&["42"], Some([9, 11]));
        let found = other_answer(&questions, &span, &read).unwrap();
        assert_eq!((found.right.as_str(), found.predicted.as_str()), ("42", "has 42"));
        assert_eq!(found.places, Some(AnswerPlaces { right: Some([8, 10]), predicted: Some([4, 10]) }));
        // Of five beginnings and five ends.
        let expected = (2.0_f64.exp() / (2.0_f64.exp() + 4.0)) * (1.0_f64.exp() / (1.0_f64.exp() + 4.0));
        assert!((found.confidence - expected).abs() < 1e-12, "{} {expected}", found.confidence);
        assert_eq!(
            other_answer(&asked(&["Has 42."], Some([5, 11])), &span, &read),
            None,
            "right but for case and a stop"
        );
        // Where there is none, an answer is a mistake; and none where there is one.
        let found = other_answer(&asked(&[], None), &span, &read).unwrap();
        assert_eq!((found.right.as_str(), found.places.unwrap().right), (NO_ANSWER, None));
        let silent = [(Guess { no_answer: 9.0, ..read[0].0 }, 10.0)];
        let found = other_answer(&questions, &span, &silent).unwrap();
        assert_eq!((found.predicted.as_str(), found.places.unwrap().predicted), (NO_ANSWER, None));
        assert!((found.confidence - (-1.0_f64).exp()).abs() < 1e-12);
        assert_eq!(other_answer(&asked(&[], None), &span, &silent), None);
    }
}
