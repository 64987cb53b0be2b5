//! The probe: what the model can do, as text.

use std::ops::ControlFlow;

use candle_core::DType;

use super::{
    TrainError, boundary, spans,
    writing::{goes_on, one_line, translation_marks},
};
use crate::{
    config::RunConfig,
    data::{Batcher, Corpus},
    generate::{Ending, Progress, Sampling, Search, continue_text, fill_masks, generate},
    model::{ForwardOptions, Model},
    objective::{Answers, Batch, Labels, LearnedTask, Objective, Showing, Sources},
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
        let shown = config.probe.examples.min(SHOWN);
        let batch = match config.objective().task().showing() {
            Showing::Continuation | Showing::FilledIn => batcher.validation_batches(config.train.batch).next(),
            // Of pairs a batch has those of one length.
            Showing::Translated => batcher.held_out().spread(shown, shown).next(),
            Showing::Answered => batcher.held_out().some_whole(shown),
        };
        Self { batch, shown, seed: config.seed }
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
        if let (Showing::Translated, Some(sources)) = (objective.task().showing(), &batch.sources) {
            return translated(model, corpus, batch, sources, should_stop);
        }
        if objective.task().showing() == Showing::Answered {
            return match (objective.spans(), &batch.answers) {
                (Some(span), Some(Answers::Spans(spans))) => {
                    spans::answered(model, batch, spans, span.max_answer, span.no_answer_threshold)
                }
                _ => answered(model, corpus, batch),
            }
            .map(Some);
        }
        let mut lines = Vec::new();
        let examples = batch.input_ids.chunks(batch.sequence).zip(batch.labels.chunks(batch.sequence));
        for (row, (ids, labels)) in examples.take(self.shown).enumerate() {
            let line = match objective.task().showing() {
                Showing::Continuation => {
                    let ids = &ids[..batch.tokens_of(row).max(1)];
                    self.continuation(model, corpus, ids, row as u64, should_stop)?
                }
                Showing::FilledIn => filled(model, corpus, ids, labels)?,
                Showing::Translated | Showing::Answered => String::new(),
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
        let prompt = &ids[range];
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
    let ids = &ids[..SHOWN_TOKENS.min(ids.len())];
    if !ids.contains(&mask) {
        return Ok(one_line(&corpus.tokenizer.decode(ids)?));
    }
    let mut text = Vec::new();
    let framed = usize::from(ids.first().copied() == corpus.tokenizer.specials().cls);
    let mut from = framed + boundary::first_word(&corpus.tokenizer, &ids[framed..])?;
    for hidden in fill_masks(model, ids, mask, 1)? {
        let at = hidden.position;
        if at < from {
            continue;
        }
        text.push(one_line(&corpus.tokenizer.decode(&ids[from..at])?));
        from = at + 1;
        let Some(best) = hidden.predictions.first() else { continue };
        let word = |id: u32| corpus.tokenizer.piece(id).trim().to_owned();
        let truth = labels[at];
        text.push(match u32::try_from(truth) {
            Ok(truth) if truth != best.token => format!("[{}, not {}]", word(best.token), word(truth)),
            _ => format!("[{}]", word(best.token)),
        });
    }
    text.push(one_line(&corpus.tokenizer.decode(&ids[from..])?));
    text.retain(|part| !part.is_empty());
    Ok(text.join(" "))
}

/// Texts, how the model translates them, and, where that is something else, the right translation.
fn translated(
    model: &Model,
    corpus: &Corpus,
    batch: &Batch,
    sources: &Sources,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<String>, TrainError> {
    let tokenizer = &corpus.tokenizer;
    let marks = translation_marks(tokenizer);
    let search = Search { max_new_tokens: batch.sequence + batch.sequence / 2, ..Search::default() };
    let stops = |progress: Progress<'_>| goes_on(&progress, should_stop);
    let written = generate(model, &sources.rows(), &marks, &search, None, stops)?.texts;
    if written.iter().any(|text| text.ending == Ending::Stopped) {
        return Ok(None);
    }
    let mut lines = Vec::new();
    let rows = sources.ids.chunks(sources.sequence.max(1)).zip(batch.labels.chunks(batch.sequence.max(1)));
    for ((source, labels), written) in rows.zip(&written) {
        let right: Vec<u32> = labels.iter().filter_map(|label| u32::try_from(*label).ok()).collect();
        let [source, written, right] = [source, &written.tokens, &right].map(|ids| tokenizer.decode(ids));
        let (source, written, right) = (one_line(&source?), one_line(&written?), one_line(&right?));
        let other = if written == right { String::new() } else { format!(" (right: {right})") };
        lines.push(format!("{source} \u{2192} {written}{other}"));
    }
    Ok(Some(lines.join("\n")))
}

/// Examples, what the model answers about each, and, where that is something else, the right answer.
fn answered(model: &Model, corpus: &Corpus, batch: &Batch) -> Result<String, TrainError> {
    let (Some(own), Some(right)) = (corpus.answers(), &batch.answers) else { return Ok(String::new()) };
    let outputs = model.forward(&batch.input(model)?, &ForwardOptions::default())?.logits.detach();
    let outputs = outputs.to_dtype(DType::F64)?.to_vec2::<f64>()?;
    let name = |class: usize| own.labels.name(class).unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for (row, outputs) in outputs.iter().enumerate() {
        let text = example(corpus, batch, row)?;
        let best = outputs.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (answer, truth) = match (&own.labels, right, best) {
            (Labels::Classes(_), Answers::Classes { classes, .. }, Some((best, _))) => {
                (name(best), name(classes[row] as usize))
            }
            (Labels::Number, Answers::Numbers(numbers), Some((_, number))) => {
                (format!("{number:.2}"), format!("{:.2}", numbers[row]))
            }
            (Labels::Classes(_) | Labels::Number | Labels::Span { .. }, _, _) => continue,
        };
        let other = if answer == truth { String::new() } else { format!(" (right: {})", one_line(&truth)) };
        lines.push(format!("{text} \u{2192} {}{other}", one_line(&answer)));
    }
    Ok(lines.join("\n"))
}

/// An example in words: its texts, or which of the held-out images it is.
fn example(corpus: &Corpus, batch: &Batch, row: usize) -> Result<String, TrainError> {
    if let Some(pixels) = &batch.pixels {
        return Ok(format!("held-out image {}", pixels.images[row] + 1));
    }
    let cells = row * batch.sequence..row * batch.sequence + batch.tokens_of(row);
    let of_row = &batch.input_ids[cells.clone()];
    let second = batch.token_types.as_ref().and_then(|types| types[cells].iter().position(|text| *text > 0));
    let (first, second) = of_row.split_at_checked(second.unwrap_or(of_row.len())).unwrap_or((of_row, &[]));
    let mut text = one_line(&corpus.tokenizer.decode(first)?);
    if !second.is_empty() {
        text.push_str(" | ");
        text.push_str(&one_line(&corpus.tokenizer.decode(second)?));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sample_holds_no_control_characters() {
        assert_eq!(super::one_line("a\n b\u{1b}[2J\u{7}"), "a b·[2J·");
    }
}
