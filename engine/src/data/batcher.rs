use std::sync::{Arc, Mutex, PoisonError};

use super::pairs::Pairs;
use super::rng::{Purpose, Stream};
use super::windows::{Cut, Windows};
use super::{Corpus, DataError, TokenStream};
use crate::objective::{Batch, Objective};

/// Seeds the random choices on held-out text, the same for every run so that runs can be compared.
const HELD_OUT_SEED: u64 = 0x6865_6c64_206f_7574;

/// Tokens of the shortest side of a pair: one of text, and the one that ends it.
const LEAST_SIDE: usize = 2;

/// What batches are made of.
#[derive(Clone, Debug)]
enum Examples {
    /// Windows of plain text.
    Windows(Windows),
    /// Pairs of texts.
    Pairs(Pairs),
}

impl Examples {
    fn of(stream: &TokenStream, corpus: &Corpus, objective: &Objective, sequence: usize) -> Self {
        if objective.task().reads_sources() {
            Self::Pairs(Pairs::new(stream, &corpus.tokenizer, sequence, corpus.long_pairs))
        } else {
            Self::Windows(Windows::new(stream, objective, &corpus.tokenizer, sequence))
        }
    }

    /// Examples that are whole.
    fn full(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.full(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }

    /// Examples when the last may be padded.
    fn with_tail(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.with_tail(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }
}

/// Cuts the training text into batches.
///
/// Plain text is cut into windows of equal length, the same in every epoch; each epoch has its own order of them. The
/// orders stand behind one another without a gap, so that a batch may end one epoch and begin the next: nothing is
/// dropped, and every window is seen exactly once in each epoch. Only the tokens after the last full window (fewer
/// than a window holds) are never seen in training.
///
/// Pairs of texts are as long as they are. Each epoch has its own order of them too, in which some batches at a time are
/// sorted by length, so that little padding is computed; the order of the batches is by chance again. Every pair is seen
/// exactly once in each epoch, and its batches differ by one pair at most.
///
/// [`Batcher::train_batch`] is a pure function of the seed and the micro-step.
#[derive(Debug)]
pub struct Batcher {
    examples: Examples,
    held_out: HeldOut,
    batch: usize,
    seed: u64,
    /// The last order that was needed, with its epoch.
    order: Mutex<Option<(u64, Order)>>,
}

/// The order of the examples of an epoch.
#[derive(Clone, Debug)]
struct Order {
    examples: Arc<[usize]>,
    /// Where each batch begins among them, and the end; empty where all have one size.
    starts: Arc<[usize]>,
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
        let examples = Examples::of(&corpus.train, corpus, objective, sequence);
        match (&examples, examples.full()) {
            (Examples::Windows(windows), 0) => {
                Err(DataError::TooShort { part: "training", tokens: windows.tokens(), needed: windows.needed() })
            }
            (Examples::Windows(_), full) if full < batch => {
                Err(DataError::TooFewExamples { windows: full, batch, sequence })
            }
            (Examples::Pairs(_), 0) => {
                Err(DataError::NoPairFits { part: "training", pairs: corpus.train.ends.len() / 2, sequence })
            }
            (Examples::Pairs(_), pairs) if pairs < batch => Err(DataError::TooFewPairs { pairs, batch }),
            _ => Ok(Self { examples, held_out, batch, seed, order: Mutex::new(None) }),
        }
    }

    /// The training batch of `micro_step`, counted from 0: one forward pass, so an optimiser step with accumulation
    /// `a` uses micro-steps `a * step .. a * (step + 1)`.
    pub fn train_batch(&self, micro_step: u64) -> Batch {
        let full = self.examples.full().max(1) as u64;
        match &self.examples {
            Examples::Windows(windows) => {
                let first = micro_step.wrapping_mul(self.batch as u64);
                let cut = |row| {
                    let number = first.wrapping_add(row);
                    Cut { window: self.window(number / full, number % full), seed: self.seed, number }
                };
                windows.batch(&(0..self.batch as u64).map(cut).collect::<Vec<_>>())
            }
            Examples::Pairs(pairs) => {
                let batches = self.steps_per_epoch().max(1);
                let order = self.order(micro_step / batches);
                let number = (micro_step % batches) as usize;
                let bound = |place: usize| order.starts.get(place).copied().unwrap_or(order.examples.len());
                pairs.batch(order.examples.get(bound(number)..bound(number + 1)).unwrap_or_default())
            }
        }
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
        self.examples.full()
    }

    /// Micro-steps after which every example was seen at least once: examples / batch, rounded up.
    pub fn steps_per_epoch(&self) -> u64 {
        self.examples.full().div_ceil(self.batch.max(1)) as u64
    }

    /// Tokens that the model reads in one training batch, special tokens included; at most, where examples have lengths of
    /// their own.
    pub fn tokens_per_batch(&self) -> usize {
        match &self.examples {
            Examples::Windows(windows) => self.batch * windows.sequence(),
            Examples::Pairs(pairs) => 2 * self.batch * pairs.sequence(),
        }
    }

    /// Pairs for training of which a side is longer than an example may be: left out or cut off.
    pub fn long_pairs(&self) -> usize {
        match &self.examples {
            Examples::Windows(_) => 0,
            Examples::Pairs(pairs) => pairs.long(),
        }
    }

    /// Share of the positions that the batches of the first epoch compute which are padding, 0..1.
    pub fn padding_share(&self) -> f64 {
        let Examples::Pairs(pairs) = &self.examples else { return 0.0 };
        let order = self.order(0);
        let batches = order.starts.windows(2).filter_map(|bounds| match bounds {
            &[first, end] => order.examples.get(first..end),
            _ => None,
        });
        let (all, padding) = pairs.padding(batches);
        padding as f64 / all.max(1) as f64
    }

    /// The window at `position` of `epoch`'s order.
    fn window(&self, epoch: u64, position: u64) -> usize {
        self.order(epoch).examples.get(position as usize).copied().unwrap_or(0)
    }

    /// The order of an epoch.
    fn order(&self, epoch: u64) -> Order {
        let mut cached = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cached {
            Some((known, order)) if *known == epoch => order.clone(),
            _ => {
                let mut stream = Stream::new(self.seed, Purpose::DataOrder, epoch);
                let mut order: Vec<usize> = (0..self.examples.full()).collect();
                stream.shuffle(&mut order);
                let order = match &self.examples {
                    Examples::Windows(_) => Order { examples: order.into(), starts: Arc::new([]) },
                    Examples::Pairs(pairs) => self.nearly_sorted(pairs, order, &mut stream),
                };
                *cached = Some((epoch, order.clone()));
                order
            }
        }
    }

    /// Batches of pairs of almost equal lengths, in an order by chance.
    fn nearly_sorted(&self, pairs: &Pairs, mut order: Vec<usize>, stream: &mut Stream) -> Order {
        pairs.sort_nearly(&mut order, self.batch);
        let (count, batches) = (order.len(), (self.steps_per_epoch() as usize).max(1));
        let mut numbers: Vec<usize> = (0..batches).collect();
        stream.shuffle(&mut numbers);
        let (mut examples, mut starts) = (Vec::with_capacity(count), vec![0]);
        for number in numbers {
            examples.extend_from_slice(
                order.get(number * count / batches..(number + 1) * count / batches).unwrap_or_default(),
            );
            starts.push(examples.len());
        }
        Order { examples: examples.into(), starts: starts.into() }
    }
}

/// Cuts held-out text into batches that never change.
#[derive(Clone, Debug)]
pub struct HeldOut {
    examples: Examples,
    batch: usize,
}

impl HeldOut {
    /// Batches of up to `batch` examples of `sequence` tokens from the validation part of `corpus`.
    pub fn new(corpus: &Corpus, objective: &Objective, batch: usize, sequence: usize) -> Result<Self, DataError> {
        let examples = Examples::of(&corpus.validation, corpus, objective, sequence);
        match &examples {
            Examples::Windows(windows) => {
                if batch == 0 || windows.content() == 0 {
                    return Err(DataError::BadShape { batch, sequence, least: windows.least_sequence() });
                }
                if windows.with_tail() == 0 {
                    let needed = windows.needed() - windows.content() + 1;
                    return Err(DataError::TooShort { part: "validation", tokens: windows.tokens(), needed });
                }
            }
            Examples::Pairs(pairs) => {
                if batch == 0 || sequence < LEAST_SIDE {
                    return Err(DataError::BadShape { batch, sequence, least: LEAST_SIDE });
                }
                if pairs.len() == 0 {
                    let pairs = corpus.validation.ends.len() / 2;
                    return Err(DataError::NoPairFits { part: "validation", pairs, sequence });
                }
            }
        }
        Ok(Self { examples, batch })
    }

    /// The same examples with nothing to predict and every token as it stands in the text.
    #[must_use]
    pub fn without_labels(self) -> Self {
        let examples = match self.examples {
            Examples::Windows(windows) => Examples::Windows(windows.without_labels()),
            Examples::Pairs(pairs) => Examples::Pairs(pairs.without_labels()),
        };
        Self { examples, ..self }
    }

    /// At most `limit` batches (0 = all), always the same ones with the same labels, whatever the run's seed. With a
    /// limit the examples are spread evenly over the text. Every token is labelled once when there is no limit; the
    /// last example is padded and the last batch may have fewer rows. Pairs are put into batches by their lengths.
    pub fn batches(&self, limit: usize) -> impl Iterator<Item = Batch> {
        let total = self.examples.with_tail();
        let taken = if limit == 0 { total } else { total.min(limit.saturating_mul(self.batch)) };
        let mut rows = spread_over(taken, total);
        if let Examples::Pairs(pairs) = &self.examples {
            pairs.sort(&mut rows);
        }
        let batch = self.batch;
        (0..taken)
            .step_by(batch)
            .map(move |first| self.batch_of(rows.get(first..taken.min(first + batch)).unwrap_or_default()))
    }

    /// `examples` examples (fewer where the text has fewer) spread evenly over the text, up to `at_once` in a batch:
    /// always the same ones with the same labels. Those that are padded are left out unless nothing else is there.
    pub fn spread(&self, examples: usize, at_once: usize) -> impl Iterator<Item = Batch> {
        let full = self.examples.full().max(1).min(self.examples.with_tail());
        let taken = examples.min(full);
        let (rows, batch) = (spread_over(taken, full), at_once.max(1));
        (0..taken)
            .step_by(batch)
            .map(move |first| self.batch_of(rows.get(first..taken.min(first + batch)).unwrap_or_default()))
    }

    /// How many examples [`HeldOut::spread`] gives when `examples` are asked for.
    pub fn spread_count(&self, examples: usize) -> usize {
        examples.min(self.examples.full().max(1).min(self.examples.with_tail()))
    }

    fn batch_of(&self, rows: &[usize]) -> Batch {
        let cut = |&window: &usize| Cut { window, seed: HELD_OUT_SEED, number: window as u64 };
        match &self.examples {
            Examples::Windows(windows) => windows.batch(&rows.iter().map(cut).collect::<Vec<_>>()),
            Examples::Pairs(pairs) => pairs.batch(rows),
        }
    }

    /// Examples in the held-out text.
    pub fn windows(&self) -> usize {
        self.examples.with_tail()
    }
}

/// `taken` of the numbers below `total`, evenly spread.
fn spread_over(taken: usize, total: usize) -> Vec<usize> {
    (0..taken).map(|row| (row as u128 * total as u128 / taken.max(1) as u128) as usize).collect()
}

#[cfg(test)]
mod tests;
