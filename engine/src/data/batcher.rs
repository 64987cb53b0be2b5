use std::sync::{Arc, Mutex, PoisonError};

use super::rng::{Purpose, Stream};
use super::windows::{Cut, Windows};
use super::{Corpus, DataError};
use crate::objective::{Batch, Objective};

/// Seeds the random choices on held-out text, the same for every run so that runs can be compared.
const HELD_OUT_SEED: u64 = 0x6865_6c64_206f_7574;

/// Cuts the training text into batches.
///
/// The text is cut into windows of equal length, the same in every epoch; each epoch has its own order of them. The
/// orders stand behind one another without a gap, so that a batch may end one epoch and begin the next: nothing is
/// dropped, and every window is seen exactly once in each epoch. Only the tokens after the last full window (fewer
/// than a window holds) are never seen in training.
///
/// [`Batcher::train_batch`] is a pure function of the seed and the micro-step.
#[derive(Debug)]
pub struct Batcher {
    windows: Windows,
    held_out: HeldOut,
    batch: usize,
    seed: u64,
    /// The last order that was needed, with its epoch.
    order: Mutex<Option<(u64, Arc<[usize]>)>>,
}

impl Batcher {
    /// Batches of `batch` examples of `sequence` tokens from both parts of `corpus`.
    pub fn new(
        corpus: &Corpus,
        objective: &Objective,
        batch: usize,
        sequence: usize,
        seed: u64,
    ) -> Result<Self, DataError> {
        let held_out = HeldOut::new(corpus, objective, batch, sequence)?;
        let windows = Windows::new(&corpus.train, objective, &corpus.tokenizer, sequence);
        match windows.full() {
            0 => Err(DataError::TooShort { part: "training", tokens: windows.tokens(), needed: windows.needed() }),
            full if full < batch => Err(DataError::TooFewExamples { windows: full, batch, sequence }),
            _ => Ok(Self { windows, held_out, batch, seed, order: Mutex::new(None) }),
        }
    }

    /// The training batch of `micro_step`, counted from 0: one forward pass, so an optimiser step with accumulation
    /// `a` uses micro-steps `a * step .. a * (step + 1)`.
    pub fn train_batch(&self, micro_step: u64) -> Batch {
        let full = self.windows.full().max(1) as u64;
        let first = micro_step.wrapping_mul(self.batch as u64);
        let cut = |row| {
            let number = first.wrapping_add(row);
            Cut { window: self.window(number / full, number % full), seed: self.seed, number }
        };
        self.windows.batch(&(0..self.batch as u64).map(cut).collect::<Vec<_>>())
    }

    /// Batches of held-out text, always the same ones; see [`HeldOut::batches`].
    pub fn validation_batches(&self, limit: usize) -> impl Iterator<Item = Batch> {
        self.held_out.batches(limit)
    }

    /// The held-out text.
    pub fn held_out(&self) -> &HeldOut {
        &self.held_out
    }

    /// Examples in the training text.
    pub fn windows(&self) -> usize {
        self.windows.full()
    }

    /// Micro-steps after which every example was seen at least once: examples / batch, rounded up.
    pub fn steps_per_epoch(&self) -> u64 {
        self.windows.full().div_ceil(self.batch.max(1)) as u64
    }

    /// Tokens that the model reads in one training batch, special tokens included.
    pub fn tokens_per_batch(&self) -> usize {
        self.batch * self.windows.sequence()
    }

    /// The window at `position` of `epoch`'s order.
    fn window(&self, epoch: u64, position: u64) -> usize {
        let mut cached = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let order = match &*cached {
            Some((known, order)) if *known == epoch => Arc::clone(order),
            _ => {
                let mut order: Vec<usize> = (0..self.windows.full()).collect();
                Stream::new(self.seed, Purpose::DataOrder, epoch).shuffle(&mut order);
                let order: Arc<[usize]> = order.into();
                *cached = Some((epoch, Arc::clone(&order)));
                order
            }
        };
        order.get(position as usize).copied().unwrap_or(0)
    }
}

/// Cuts held-out text into batches that never change.
#[derive(Clone, Debug)]
pub struct HeldOut {
    windows: Windows,
    batch: usize,
}

impl HeldOut {
    /// Batches of up to `batch` examples of `sequence` tokens from the validation part of `corpus`.
    pub fn new(corpus: &Corpus, objective: &Objective, batch: usize, sequence: usize) -> Result<Self, DataError> {
        let windows = Windows::new(&corpus.validation, objective, &corpus.tokenizer, sequence);
        if batch == 0 || windows.content() == 0 {
            return Err(DataError::BadShape { batch, sequence, least: windows.least_sequence() });
        }
        if windows.with_tail() == 0 {
            let needed = windows.needed() - windows.content() + 1;
            return Err(DataError::TooShort { part: "validation", tokens: windows.tokens(), needed });
        }
        Ok(Self { windows, batch })
    }

    /// The same examples with nothing to predict and every token as it stands in the text.
    #[must_use]
    pub fn without_labels(self) -> Self {
        Self { windows: self.windows.without_labels(), ..self }
    }

    /// At most `limit` batches (0 = all), always the same ones with the same labels, whatever the run's seed. With a
    /// limit the examples are spread evenly over the text. Every token is labelled once when there is no limit; the
    /// last example is padded and the last batch may have fewer rows.
    pub fn batches(&self, limit: usize) -> impl Iterator<Item = Batch> {
        let total = self.windows.with_tail();
        let taken = if limit == 0 { total } else { total.min(limit.saturating_mul(self.batch)) };
        (0..taken).step_by(self.batch).map(move |first| {
            let rows: Vec<usize> = (first..taken.min(first + self.batch))
                .map(|row| (row as u128 * total as u128 / taken as u128) as usize)
                .collect();
            self.batch_of(&rows)
        })
    }

    /// `examples` examples (fewer where the text has fewer) spread evenly over the text, up to `at_once` in a batch:
    /// always the same ones with the same labels. Those that are padded are left out unless nothing else is there.
    pub fn spread(&self, examples: usize, at_once: usize) -> impl Iterator<Item = Batch> {
        let full = self.windows.full().max(1).min(self.windows.with_tail());
        let taken = examples.min(full);
        (0..taken).step_by(at_once.max(1)).map(move |first| {
            let rows: Vec<usize> = (first..taken.min(first + at_once.max(1)))
                .map(|row| (row as u128 * full as u128 / taken as u128) as usize)
                .collect();
            self.batch_of(&rows)
        })
    }

    /// How many examples [`HeldOut::spread`] gives when `examples` are asked for.
    pub fn spread_count(&self, examples: usize) -> usize {
        examples.min(self.windows.full().max(1).min(self.windows.with_tail()))
    }

    fn batch_of(&self, rows: &[usize]) -> Batch {
        let cut = |&window: &usize| Cut { window, seed: HELD_OUT_SEED, number: window as u64 };
        self.windows.batch(&rows.iter().map(cut).collect::<Vec<_>>())
    }

    /// Examples in the held-out text.
    pub fn windows(&self) -> usize {
        self.windows.with_tail()
    }
}

#[cfg(test)]
mod tests;
