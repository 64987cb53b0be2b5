use super::{GenerateError, Marks, Search};
use crate::ops::{index_of_largest, log_sum_exp, random::Stream};

/// Logits of what may follow a text.
pub(super) struct Choice<'a> {
    logits: &'a mut [f32],
    log_sum: f64,
}

impl<'a> Choice<'a> {
    /// The logits of a row, with their normalisation as the model gives them.
    ///
    /// # Errors
    /// If they are not finite.
    pub fn new(logits: &'a mut [f32]) -> Result<Self, GenerateError> {
        let log_sum = log_sum_exp(logits);
        if !log_sum.is_finite() || logits.iter().fold(false, |any, logit| any | logit.is_nan()) {
            return Err(GenerateError::NotFinite);
        }
        Ok(Self { logits, log_sum })
    }

    /// Rules out what may not come: `text` is all that was read and written, of which the last `written` tokens are new. The
    /// probabilities of the others stay as they are.
    pub fn restrict(&mut self, text: &[u32], written: usize, most: usize, search: &Search, marks: &Marks) {
        let only = |logits: &mut [f32], token: u32| {
            let kept = logits.get(token as usize).copied();
            logits.fill(f32::NEG_INFINITY);
            if let Some((logit, kept)) = logits.get_mut(token as usize).zip(kept) {
                *logit = kept;
            }
        };
        if let (Some(token), 0) = (marks.forced_first, written) {
            only(self.logits, token);
            return;
        }
        if let (Some(token), true) = (marks.forced_last, written + 1 == most) {
            only(self.logits, token);
            return;
        }
        if written < search.min_new_tokens {
            for token in &marks.end {
                self.forbid(*token);
            }
        }
        let n = search.no_repeat;
        if n > 0 && text.len() + 1 >= n {
            let last = &text[text.len() + 1 - n..];
            for window in text.windows(n) {
                if let Some((token, before)) = window.split_last().filter(|(_, before)| *before == last) {
                    debug_assert_eq!(before.len(), n - 1);
                    self.forbid(*token);
                }
            }
        }
    }

    fn forbid(&mut self, token: u32) {
        if let Some(logit) = self.logits.get_mut(token as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }

    /// The log-probability that the model gives a token.
    pub fn log_probability(&self, token: u32) -> f64 {
        self.logits.get(token as usize).map_or(f64::NEG_INFINITY, |logit| f64::from(*logit) - self.log_sum)
    }

    /// The most probable token; the smaller id where two are equal. None where none may come.
    pub fn best(&self) -> Option<u32> {
        let best = index_of_largest(self.logits);
        self.logits.get(best).filter(|logit| **logit > f32::NEG_INFINITY).map(|_| best as u32)
    }

    /// Adds to `found`, which has the best continuations so far in order and `most` at most, those of a beam of this
    /// log-probability. What earlier groups chose costs `penalty` each time.
    pub fn add_best(
        &self,
        found: &mut Vec<Candidate>,
        most: usize,
        (beam, sum): (usize, f64),
        penalties: &[(u32, f64)],
    ) {
        const CHUNK: usize = 64;
        for (number, chunk) in self.logits.chunks(CHUNK).enumerate() {
            let worst =
                if found.len() < most { f64::NEG_INFINITY } else { found.last().map_or(f64::INFINITY, |c| c.sum) };
            let largest = largest(chunk);
            // Penalties only lower it further.
            if f64::from(largest) - self.log_sum + sum <= worst {
                continue;
            }
            for (at, logit) in chunk.iter().enumerate() {
                let token = (number * CHUNK + at) as u32;
                let mut total = f64::from(*logit) - self.log_sum + sum;
                if let Some((_, penalty)) = penalties.iter().find(|(other, _)| *other == token) {
                    total -= penalty;
                }
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

    /// Draws a token at a temperature above 0, from the most probable ones where the search says so. None where none may come.
    pub fn draw(&self, search: &Search, stream: &mut Stream) -> Option<u32> {
        let mut tokens: Vec<(u32, f64)> = (0..)
            .zip(self.logits.iter())
            .filter(|(_, logit)| **logit > f32::NEG_INFINITY)
            .map(|(token, logit)| (token, f64::from(*logit) / search.temperature))
            .collect();
        let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Some(k) = search.top_k.filter(|k| *k < tokens.len()) {
            tokens.select_nth_unstable_by(k - 1, order);
            tokens.truncate(k);
        }
        tokens.sort_unstable_by(order);
        let largest = tokens.first()?.1;
        for (_, weight) in &mut tokens {
            *weight = (*weight - largest).exp();
        }
        let mut total: f64 = tokens.iter().map(|(_, weight)| weight).sum();
        if let Some(p) = search.top_p {
            // The most probable until they have the share, the one that reaches it included.
            let mut before = 0.0;
            let count = tokens
                .iter()
                .take_while(|(_, weight)| {
                    let is_in = before < p * total;
                    before += weight;
                    is_in
                })
                .count();
            tokens.truncate(count.max(1));
            total = tokens.iter().map(|(_, weight)| weight).sum();
        }
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
    /// Its log-probability, with what diversity takes away.
    pub sum: f64,
}
