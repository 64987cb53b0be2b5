//! Answers to questions about paragraphs.

use super::{control::JobControl, error::JobError, subject::Subject};
use crate::{
    config::RunConfig,
    data::{Asked, TextTokenizer, question_batches},
    model::{ForwardOptions, Model},
    objective::{Guess, Objective, Paragraph, Question, Questions, guesses},
    protocol::{AnswerSpan, FoundAnswer, Prediction, commands, events},
};

/// What questions are answered by.
pub(crate) struct Answering<'a> {
    pub(crate) model: &'a Model,
    pub(crate) tokenizer: &'a TextTokenizer,
    /// The config of its run, where that is known.
    pub(crate) config: Option<&'a RunConfig>,
    /// Tokens of a window, at most.
    pub(crate) sequence: usize,
    /// Whether it learnt that questions may have no answer.
    pub(crate) may_lack_answers: bool,
}

/// Windows that are read at the same time.
const AT_ONCE: usize = 32;

/// Answers rows of a question and its paragraph, in their order.
///
/// # Errors
/// If the texts cannot be read, the outputs are no numbers, or it was stopped.
pub(crate) fn answer(
    answering: &Answering<'_>,
    job: &commands::Predict,
    control: &JobControl,
) -> Result<Prediction, JobError> {
    let told = |error: &dyn std::fmt::Display| JobError::refusal(error.to_string());
    let objective = answering.config.map(RunConfig::objective);
    let span = objective.as_ref().and_then(Objective::spans).copied().unwrap_or_default();
    let Asked { questions, batches, cut_questions } =
        question_batches(questions(&job.rows), answering.tokenizer, &span, answering.sequence, AT_ONCE)
            .map_err(|error| told(&error))?;
    let mut said = Vec::new();
    for (windows, batch) in batches {
        if control.should_stop() {
            return Err(JobError::stopped("It was stopped."));
        }
        let input = batch.input(answering.model).map_err(|error| told(&error))?;
        let found = answering.model.forward(&input, &ForwardOptions::default()).map_err(|error| told(&error))?;
        said.extend(guesses(&found.logits, &windows, span.max_answer).map_err(|error| told(&error))?);
    }
    let is_finite = |guess: &Guess| guess.no_answer.is_finite() && guess.best.is_none_or(|best| best.score.is_finite());
    if !said.iter().all(is_finite) {
        return Err(JobError::failure(
            "Its outputs are no finite numbers: the model was damaged or its run diverged. Take an earlier checkpoint.",
        ));
    }
    let answer = |guess: Guess| {
        let best = guess.best.and_then(|best| Some((best.score, questions.text_of(guess.question, best.tokens)?)));
        FoundAnswer {
            answer: best.map(|(score, place)| AnswerSpan {
                text: place.text.to_owned(),
                start: place.start,
                end: place.end,
                score,
            }),
            no_answer_score: guess.no_answer,
        }
    };
    let answers = Guess::by_question(&said).into_iter().map(answer).collect();
    Ok(Prediction::Answers(events::AnswersFound {
        target: Subject::name(&job.target),
        may_lack_answers: answering.may_lack_answers,
        no_answer_threshold: span.no_answer_threshold,
        answers,
        cut_questions,
    }))
}

/// Rows of a question and a paragraph. A paragraph that the row before has too is kept once.
fn questions(rows: &[Vec<String>]) -> Questions {
    let mut found = Questions::default();
    for row in rows {
        let (text, paragraph) = match row.as_slice() {
            [question, paragraph] => (question.clone(), paragraph),
            _ => continue,
        };
        if found.paragraphs.last().is_none_or(|last| last.text != *paragraph) {
            found.paragraphs.push(Paragraph { text: paragraph.clone(), offsets: Vec::new() });
        }
        found.all.push(Question { text, paragraph: found.paragraphs.len() - 1, ..Question::default() });
    }
    found
}
