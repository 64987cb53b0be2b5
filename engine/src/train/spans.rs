//! Questions of held-out text with their answers, as text.

use super::{TrainError, probe::one_line};
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
        let is_silent = questions.may_lack_answers && guess.doubt() > no_answer_threshold;
        let best = guess.best.filter(|_| !is_silent).and_then(|best| questions.text_of(guess.question, best.tokens));
        let answer = best.map_or(NONE, |best| best.text);
        let right = question.answers.first().map_or(NONE, String::as_str);
        let is_right = answer == right || question.answers.iter().any(|right| right == answer);
        let other = if is_right { String::new() } else { format!(" (not {})", one_line(right)) };
        lines.push(format!("{} \u{2192} {}{other}", one_line(&question.text), one_line(answer)));
    }
    Ok(lines.join("\n"))
}
