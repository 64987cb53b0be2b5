//! The probe: what the model can do, as text.

use std::ops::ControlFlow;

use super::{TrainError, boundary};
use crate::{
    config::RunConfig,
    data::{Batcher, Corpus},
    generate::{Sampling, continue_text, fill_masks},
    model::Model,
    objective::{Batch, IGNORED, Objective, Showing},
};

/// Tokens of a sample's prompt, at least, and at most where it goes on to the end of a word.
const PROMPT_TOKENS: usize = 8;
const LONGEST_PROMPT: usize = 24;

/// Tokens of a sample's continuation.
const NEW_TOKENS: usize = 40;

/// Examples that are shown of those in the probe batch: more cannot be read.
const SHOWN: usize = 4;

/// Tokens of an encoder's example that are shown.
const SHOWN_TOKENS: usize = 64;

/// A fixed piece of held-out text, on which samples are taken again and again.
pub(super) struct Probe {
    batch: Option<Batch>,
    shown: usize,
    seed: u64,
}

impl Probe {
    pub(super) fn new(config: &RunConfig, batcher: &Batcher) -> Self {
        let batch = batcher.validation_batches(1).next();
        Self { batch, shown: config.probe.examples.min(SHOWN), seed: config.seed }
    }

    /// What the model makes of it, a line an example, as its objective shows it.
    /// `None` when `should_stop` cut it short.
    pub(super) fn sample(
        &self,
        model: &Model,
        objective: &Objective,
        corpus: &Corpus,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<String>, TrainError> {
        let Some(batch) = &self.batch else { return Ok(Some(String::new())) };
        let mut lines = Vec::new();
        let examples = batch.input_ids.chunks(batch.sequence).zip(batch.labels.chunks(batch.sequence));
        for (row, (ids, labels)) in examples.take(self.shown).enumerate() {
            let line = match objective.task().showing() {
                Showing::Continuation => {
                    let ids = ids.get(..batch.tokens_of(row).max(1)).unwrap_or(ids);
                    self.continuation(model, corpus, ids, row as u64, should_stop)?
                }
                Showing::FilledIn => filled(model, corpus, ids, labels)?,
            };
            if should_stop() {
                return Ok(None);
            }
            lines.push(line);
        }
        Ok(Some(lines.join("\n")))
    }

    /// Some words of an example, a mark, and how the model goes on.
    fn continuation(
        &self,
        model: &Model,
        corpus: &Corpus,
        ids: &[u32],
        row: u64,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<String, TrainError> {
        // The held-out text begins with the first example.
        let range = boundary::prompt(&corpus.tokenizer, ids, row == 0, PROMPT_TOKENS, LONGEST_PROMPT)?;
        let prompt = ids.get(range).unwrap_or(ids);
        let sampling = Sampling {
            max_new_tokens: NEW_TOKENS,
            seed: self.seed.wrapping_add(row),
            end_token: corpus.tokenizer.specials().end_of_text,
            ..Sampling::default()
        };
        let continuation = continue_text(model, prompt, &sampling, |_| {
            if should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let text = |ids: &[u32]| corpus.tokenizer.decode(ids).map(|text| one_line(&text));
        Ok(format!("{} » {}", text(prompt)?, text(&continuation.ids())?))
    }
}

/// An example with its hidden tokens filled in: `[guess]` where right, `[guess, not truth]` where wrong.
fn filled(model: &Model, corpus: &Corpus, ids: &[u32], labels: &[i64]) -> Result<String, TrainError> {
    let Some(mask) = corpus.tokenizer.specials().mask else { return Ok(String::new()) };
    let ids = ids.get(..SHOWN_TOKENS.min(ids.len())).unwrap_or(ids);
    if !ids.contains(&mask) {
        return Ok(one_line(&corpus.tokenizer.decode(ids)?));
    }
    let mut text = Vec::new();
    let framed = usize::from(ids.first().copied() == corpus.tokenizer.specials().cls);
    let mut from = framed + boundary::first_word(&corpus.tokenizer, ids.get(framed..).unwrap_or_default())?;
    for hidden in fill_masks(model, ids, mask, 1)? {
        let at = hidden.position;
        if at < from {
            continue;
        }
        text.push(one_line(&corpus.tokenizer.decode(ids.get(from..at).unwrap_or_default())?));
        from = at + 1;
        let Some(best) = hidden.predictions.first() else { continue };
        let word = |id: u32| corpus.tokenizer.token(id).unwrap_or_default();
        let truth = labels.get(at).copied().unwrap_or(IGNORED);
        text.push(match u32::try_from(truth) {
            Ok(truth) if truth != best.token => format!("[{}, not {}]", word(best.token), word(truth)),
            _ => format!("[{}]", word(best.token)),
        });
    }
    text.push(one_line(&corpus.tokenizer.decode(ids.get(from..).unwrap_or_default())?));
    text.retain(|part| !part.is_empty());
    Ok(text.join(" "))
}

/// Text without line breaks, and with nothing in it that a terminal would obey.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "·")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sample_holds_no_control_characters() {
        assert_eq!(super::one_line("a\n b\u{1b}[2J\u{7}"), "a b·[2J·");
    }
}
