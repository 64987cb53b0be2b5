//! Questions of held-out text with their answers, as text.

use super::{TrainError, writing::one_line};
use crate::{
    model::{ForwardOptions, Model},
    objective::{Batch, Guess, Spans, guesses},
};

/// Questions, the answer to each, and, where that is none of the right ones, the first of these. An answer that there is none
/// is written in brackets.
pub(super) fn answered(
    model: &Model,
    batch: &Batch,
    spans: &Spans,
    max_answer: usize,
    no_answer_threshold: f64,
) -> Result<String, TrainError> {
    const NONE: &str = "[no answer]";
    let logits = model.forward(&batch.input(model)?, &ForwardOptions::default())?.logits.detach();
    let questions = &spans.questions;
    let mut lines = Vec::new();
    for guess in Guess::by_question(&guesses(&logits, &spans.windows, max_answer)?) {
        let Some(question) = questions.all.get(guess.question) else { continue };
        let answer = questions.given_answer(&guess, no_answer_threshold);
        let is_right = questions.score(guess.question, answer).is_some_and(|score| score.exact > 0.0);
        let right = question.answers.first().map_or(NONE, String::as_str);
        let other = if is_right { String::new() } else { format!(" (right: {})", one_line(right)) };
        let said = answer.map_or(NONE, |answer| answer.text);
        lines.push(format!("{} \u{2192} {}{other}", one_line(&question.text), one_line(said)));
    }
    Ok(lines.join("\n"))
}
