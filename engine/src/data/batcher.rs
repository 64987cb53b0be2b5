use std::sync::{Arc, Mutex, PoisonError};

use super::masking::Masker;
use super::rng::{Purpose, Stream};
use super::windows::Windows;
use super::{Batch, Corpus, DataError};
use crate::config::Architecture;

/// Share of tokens hidden from an encoder unless [`Batcher::with_mask_fraction`] says otherwise.
const MASK_FRACTION: f64 = 0.15;

/// Seeds the masks of held-out text, the same for every run so that runs can be compared.
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
    masker: Option<Masker>,
    held_out: HeldOut,
    batch: usize,
    seed: u64,
    /// The last order that was needed, with its epoch.
    order: Mutex<Option<(u64, Arc<[usize]>)>>,
}

impl Batcher {
    /// Batches of `batch` examples of `sequence` tokens from both parts of `corpus`.
    pub fn new(corpus: &Corpus, batch: usize, sequence: usize, seed: u64) -> Result<Self, DataError> {
        let held_out = HeldOut::new(corpus, batch, sequence)?;
        let windows = Windows::new(&corpus.train, corpus.architecture, corpus.tokenizer.specials(), sequence);
        match windows.full() {
            0 => Err(DataError::TooShort { part: "training", tokens: windows.tokens(), needed: windows.needed() }),
            full if full < batch => Err(DataError::TooFewExamples { windows: full, batch, sequence }),
            _ => {
                let masker = held_out.masker.clone();
                Ok(Self { windows, masker, held_out, batch, seed, order: Mutex::new(None) })
            }
        }
    }

    /// Hides this share (0..1) of the tokens from an encoder, in training and in held-out text; 0.15 by default.
    #[must_use]
    pub fn with_mask_fraction(mut self, fraction: f64) -> Self {
        self.held_out = self.held_out.with_mask_fraction(fraction);
        self.masker.clone_from(&self.held_out.masker);
        self
    }

    /// The training batch of `micro_step`, counted from 0: one forward pass, so an optimiser step with accumulation
    /// `a` uses micro-steps `a * step .. a * (step + 1)`.
    pub fn train_batch(&self, micro_step: u64) -> Batch {
        let full = self.windows.full().max(1) as u64;
        let first = micro_step.wrapping_mul(self.batch as u64);
        let examples: Vec<u64> = (0..self.batch as u64).map(|row| first.wrapping_add(row)).collect();
        let rows: Vec<usize> = examples.iter().map(|example| self.window(example / full, example % full)).collect();
        let mut example = examples.iter();
        self.windows.batch(&rows, |_, ids, labels| {
            if let (Some(masker), Some(example)) = (&self.masker, example.next()) {
                masker.hide(self.seed, *example, ids, labels);
            }
        })
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
    masker: Option<Masker>,
    batch: usize,
}

impl HeldOut {
    /// Batches of up to `batch` examples of `sequence` tokens from the validation part of `corpus`.
    pub fn new(corpus: &Corpus, batch: usize, sequence: usize) -> Result<Self, DataError> {
        let windows = Windows::new(&corpus.validation, corpus.architecture, corpus.tokenizer.specials(), sequence);
        if batch == 0 || windows.content() == 0 {
            return Err(DataError::BadShape { batch, sequence, least: windows.least_sequence() });
        }
        if windows.with_tail() == 0 {
            let needed = windows.needed() - windows.content() + 1;
            return Err(DataError::TooShort { part: "validation", tokens: windows.tokens(), needed });
        }
        let masker = match corpus.architecture {
            Architecture::Encoder => Masker::new(&corpus.tokenizer, MASK_FRACTION),
            Architecture::Decoder => None,
        };
        Ok(Self { windows, masker, batch })
    }

    /// At most `limit` batches (0 = all), always the same ones with the same masks, whatever the run's seed. With a
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
    /// always the same ones with the same masks. Those that are padded are left out unless nothing else is there.
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
        self.windows.batch(rows, |window, ids, labels| {
            if let Some(masker) = &self.masker {
                masker.hide(HELD_OUT_SEED, window as u64, ids, labels);
            }
        })
    }

    /// Hides this share (0..1) of the tokens from an encoder; 0.15 by default.
    #[must_use]
    pub fn with_mask_fraction(mut self, fraction: f64) -> Self {
        self.masker = self.masker.map(|masker| masker.with_fraction(fraction));
        self
    }

    /// Examples in the held-out text.
    pub fn windows(&self) -> usize {
        self.windows.with_tail()
    }
}

#[cfg(test)]
mod tests;
