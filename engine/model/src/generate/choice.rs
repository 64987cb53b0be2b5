use super::{GenerateError, LogitsProcessors, Marks, Search};
use crate::ops::{index_of_largest, log_sum_exp, random::Stream};

/// Logits of what may follow a text, and the scores that are chosen by: the logits themselves, or log-probabilities.
pub(super) struct Choice<'a> {
    logits: &'a mut [f32],
    /// Normalisation as the model gives the logits.
    log_sum: f64,
    /// Difference of the logits and the scores.
    offset: f64,
    /// True where scores are log-probabilities.
    is_normalised: bool,
    /// Logits as the model gave them, where a processor changed them; the first of a token counts.
    changed: Vec<(u32, f32)>,
}

/// A text for which a token is chosen.
pub(super) struct TextSoFar<'a> {
    /// All that a decoder has read and written.
    pub tokens: &'a [u32],
    /// Number of new ones.
    pub written: usize,
    /// New tokens at most.
    pub most: usize,
    /// The source: what an encoder reads, or the prompt.
    pub source: &'a [u32],
}

impl<'a> Choice<'a> {
    /// The logits of a row, with their normalisation as the model gives them. Scores are logits.
    ///
    /// # Errors
    /// If they are not finite.
    pub fn new(logits: &'a mut [f32]) -> Result<Self, GenerateError> {
        let log_sum = log_sum_exp(logits);
        if !log_sum.is_finite() || logits.iter().fold(false, |any, logit| any | logit.is_nan()) {
            return Err(GenerateError::NotFinite);
        }
        Ok(Self { logits, log_sum, offset: 0.0, is_normalised: false, changed: Vec::new() })
    }

    /// The same, with log-probabilities as scores.
    pub fn normalised(logits: &'a mut [f32]) -> Result<Self, GenerateError> {
        let choice = Self::new(logits)?;
        Ok(Self { offset: choice.log_sum, is_normalised: true, ..choice })
    }

    /// Changes scores and rules out what may not come, as the logits processors of `transformers` do and in their order. What
    /// earlier groups chose costs `penalties`.
    pub fn process(&mut self, text: &TextSoFar<'_>, search: &Search, marks: &Marks, penalties: &[(u32, f64)]) {
        let processors = &marks.processors;
        self.add_biases(text.tokens, processors);
        for (token, penalty) in penalties {
            self.change(*token, |score| score - penalty);
        }
        self.penalise(text.source, 1.0 / processors.encoder_repetition_penalty);
        self.penalise(text.tokens, processors.repetition_penalty);
        self.forbid_repeated(text.tokens, text.tokens, search.no_repeat);
        self.forbid_repeated(text.source, text.tokens, processors.encoder_no_repeat);
        for words in &processors.bad_words {
            let Some((last, before)) = words.split_last().filter(|_| !is_end(words, marks)) else { continue };
            if text.tokens.ends_with(before) {
                self.forbid(*last);
            }
        }
        if text.written < search.min_new_tokens || text.tokens.len() < search.min_length {
            marks.end.iter().for_each(|token| self.forbid(*token));
        }
        if let (Some(token), 1) = (marks.forced_first, text.tokens.len()) {
            self.force(&[token]);
        }
        if !marks.forced_last.is_empty() && text.written + 1 == text.most {
            self.force(&marks.forced_last);
        }
        if let Some((start, factor)) = processors.length_decay.filter(|(start, _)| text.written > *start) {
            let growth = factor.powi(i32::try_from(text.written - start).unwrap_or(i32::MAX)) - 1.0;
            for token in &marks.end {
                self.change(*token, |score| score + if score.is_finite() { score.abs() * growth } else { 0.0 });
            }
        }
        processors.suppressed.iter().for_each(|token| self.forbid(*token));
        // A first token that is forced is not the one that is meant.
        let first = usize::from(text.tokens.len() - text.written <= 1 && marks.forced_first.is_some());
        if text.written == first {
            processors.suppressed_first.iter().for_each(|token| self.forbid(*token));
        }
        if processors.renormalises && self.is_normalised {
            let log_sum = log_sum_exp(self.logits);
            if log_sum.is_finite() {
                self.offset = log_sum;
            }
        }
    }

    /// Adds what sequences of tokens are biased by to the last token of each.
    fn add_biases(&mut self, tokens: &[u32], processors: &LogitsProcessors) {
        for (sequence, bias) in &processors.sequence_bias {
            if let Some((last, _)) = sequence.split_last().filter(|(_, before)| tokens.ends_with(before)) {
                self.change(*last, |score| score + bias);
            }
        }
    }

    /// Multiplies scores below 0 of these tokens, each once, and divides others.
    fn penalise(&mut self, tokens: &[u32], penalty: f64) {
        if penalty == 1.0 {
            return;
        }
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        for token in tokens {
            self.change(token, |score| if score < 0.0 { score * penalty } else { score / penalty });
        }
    }

    /// Forbids what would end a sequence of `n` tokens that `within` has already.
    fn forbid_repeated(&mut self, within: &[u32], tokens: &[u32], n: usize) {
        if n == 0 || tokens.len() + 1 < n {
            return;
        }
        let last = &tokens[tokens.len() + 1 - n..];
        for window in within.windows(n) {
            if let Some((token, _)) = window.split_last().filter(|(_, before)| *before == last) {
                self.forbid(*token);
            }
        }
    }

    fn forbid(&mut self, token: u32) {
        if let Some(logit) = self.logits.get_mut(token as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }

    /// Leaves these tokens alone, each with the score 0.
    fn force(&mut self, tokens: &[u32]) {
        let known = tokens.iter().filter_map(|token| Some((*token, *self.logits.get(*token as usize)?)));
        self.changed.extend(known);
        self.logits.fill(f32::NEG_INFINITY);
        for token in tokens {
            if let Some(logit) = self.logits.get_mut(*token as usize) {
                *logit = 0.0;
            }
        }
        self.offset = 0.0;
    }

    /// Gives a token another score.
    fn change(&mut self, token: u32, to: impl FnOnce(f64) -> f64) {
        if let Some(logit) = self.logits.get_mut(token as usize) {
            self.changed.push((token, *logit));
            *logit = (to(f64::from(*logit) - self.offset) + self.offset) as f32;
        }
    }

    /// The log-probability that the model gives a token.
    pub fn log_probability(&self, token: u32) -> f64 {
        let changed = self.changed.iter().find(|(other, _)| *other == token).map(|(_, logit)| logit);
        changed.or(self.logits.get(token as usize)).map_or(f64::NEG_INFINITY, |logit| f64::from(*logit) - self.log_sum)
    }

    /// The most probable token; the smaller id where two are equal. None where none may come.
    pub fn best(&self) -> Option<u32> {
        let best = index_of_largest(self.logits);
        self.logits.get(best).filter(|logit| **logit > f32::NEG_INFINITY).map(|_| best as u32)
    }

    /// Adds to `found`, which has the best continuations so far in order and `most` at most, those of a beam with this sum of
    /// scores.
    pub fn add_best(&self, found: &mut Vec<Candidate>, most: usize, (beam, sum): (usize, f64)) {
        const CHUNK: usize = 64;
        for (number, chunk) in self.logits.chunks(CHUNK).enumerate() {
            let worst =
                if found.len() < most { f64::NEG_INFINITY } else { found.last().map_or(f64::INFINITY, |c| c.sum) };
            if f64::from(largest(chunk)) - self.offset + sum <= worst {
                continue;
            }
            for (at, logit) in chunk.iter().enumerate() {
                let token = (number * CHUNK + at) as u32;
                let total = f64::from(*logit) - self.offset + sum;
                let is_in = total > f64::NEG_INFINITY
                    && (found.len() < most || found.last().is_some_and(|last| total > last.sum));
                if is_in {
                    let place = found.partition_point(|other| other.sum >= total);
                    found.insert(place, Candidate { beam, token, sum: total });
                    found.truncate(most);
                }
            }
        }
    }

    /// Draws a token at a temperature above 0, from those that the search and the processors leave. None where none may come.
    pub fn draw(&self, search: &Search, processors: &LogitsProcessors, stream: &mut Stream) -> Option<u32> {
        let mut tokens: Vec<(u32, f64)> = (0..)
            .zip(self.logits.iter())
            .filter(|(_, logit)| **logit > f32::NEG_INFINITY)
            .map(|(token, logit)| (token, f64::from(*logit) / search.temperature))
            .collect();
        let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if processors.top_h.is_some() {
            tokens.sort_unstable_by(order);
            processors.filter_by_entropy(&mut tokens);
        }
        if let Some(k) = search.top_k.filter(|k| *k < tokens.len()) {
            tokens.select_nth_unstable_by(k - 1, order);
            tokens.truncate(k);
        }
        tokens.sort_unstable_by(order);
        let largest = tokens.first()?.1;
        if let Some(p) = search.top_p {
            let total: f64 = tokens.iter().map(|(_, logit)| (logit - largest).exp()).sum();
            // The most probable until they have the share, the one that reaches it included.
            let mut before = 0.0;
            let count = tokens
                .iter()
                .take_while(|(_, logit)| {
                    let is_in = before < p * total;
                    before += (logit - largest).exp();
                    is_in
                })
                .count();
            tokens.truncate(count.max(1));
        }
        processors.filter(&mut tokens);
        for (_, weight) in &mut tokens {
            *weight = (*weight - largest).exp();
        }
        let total: f64 = tokens.iter().map(|(_, weight)| weight).sum();
        let mut left = stream.uniform() * total;
        for (token, weight) in &tokens {
            left -= weight;
            if left < 0.0 {
                return Some(*token);
            }
        }
        // Rounding left a little over.
        tokens.last().map(|(token, _)| *token)
    }
}

/// The largest of some numbers, NaN passed over: of several at a time, since one comparison would wait for the one before.
fn largest(numbers: &[f32]) -> f32 {
    const LANES: usize = 16;
    let of_two = |a: f32, b: f32| if b > a { b } else { a };
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for block in blocks {
        for (lane, number) in lanes.iter_mut().zip(block) {
            *lane = of_two(*lane, *number);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(f32::NEG_INFINITY, of_two)
}

/// A beam with one more token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// The beam, by its place in its group.
    pub beam: usize,
    pub token: u32,
    /// Sum of scores.
    pub sum: f64,
}

/// True of an end token alone, which bad words do not forbid.
fn is_end(words: &[u32], marks: &Marks) -> bool {
    matches!(words, [token] if marks.end.contains(token))
}
