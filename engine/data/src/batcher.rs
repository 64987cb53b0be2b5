use std::sync::{Arc, Mutex, PoisonError};

use super::dataset::Dataset;
use super::images::Pictures;
use super::pairs::Pairs;
use super::questions::token_range;
use super::rng::{Purpose, Stream};
use super::windows::{Cut, Windows};
use super::{Corpus, DataError, ImageError, NumberedBatch, TableError, answered::Rows};
use crate::objective::{Answers, Batch, Objective};

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
    /// Rows of a table.
    Rows(Rows),
    /// Images.
    Images(Pictures),
}

/// A part of a corpus.
#[derive(Clone, Copy)]
enum Part {
    Train,
    Validation,
}

impl Part {
    /// The one of both parts that it names.
    fn of<'a, T>(self, train: &'a T, validation: &'a T) -> &'a T {
        match self {
            Self::Train => train,
            Self::Validation => validation,
        }
    }
}

impl Examples {
    fn of(part: Part, corpus: &Corpus, objective: &Objective, sequence: usize) -> Result<Self, DataError> {
        let tokenizer = &corpus.tokenizer;
        Ok(match &corpus.dataset {
            Dataset::Text { tokens } => {
                let stream = part.of(&tokens.train, &tokens.validation);
                Self::Windows(Windows::new(stream, objective, tokenizer, sequence))
            }
            Dataset::Pairs { tokens, rules } => {
                let stream = part.of(&tokens.train, &tokens.validation);
                Self::Pairs(Pairs::new(stream, tokenizer, sequence, *rules)?)
            }
            Dataset::Rows { tokens, answers, .. } | Dataset::Spans { tokens, answers } => {
                let stream = part.of(&tokens.train, &tokens.validation);
                Self::Rows(match (part.of(&answers.train, &answers.validation), objective.spans()) {
                    (Answers::Spans(spans), Some(span)) => {
                        Rows::of_questions(stream, &spans.questions, tokenizer, span, sequence)?
                    }
                    (own, _) => Rows::new(stream, own, tokenizer, answers.texts, sequence)?,
                })
            }
            Dataset::Images { images, answers } => {
                let pixels = Arc::clone(part.of(&images.train, &images.validation));
                let own = part.of(&answers.train, &answers.validation);
                Self::Images(Pictures::new(pixels, images.shape, images.normalisation.clone(), own, sequence))
            }
        })
    }

    /// Sorts an order of examples that have lengths of their own, some batches at a time; whether they do.
    fn sort_nearly(&self, order: &mut [usize], batch: usize) -> bool {
        match self {
            Self::Windows(_) => return false,
            // Of one length; the order is that of the epoch, and its batches differ by one at most.
            Self::Images(_) => {}
            Self::Pairs(pairs) => pairs.sort_nearly(order, batch),
            Self::Rows(rows) => rows.sort_nearly(order, batch),
        }
        true
    }

    /// Examples that are whole.
    fn full(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.full(),
            Self::Pairs(pairs) => pairs.len(),
            Self::Rows(rows) => rows.len(),
            Self::Images(images) => images.len(),
        }
    }

    /// Examples when the last may be padded.
    fn with_tail(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.with_tail(),
            Self::Pairs(pairs) => pairs.len(),
            Self::Rows(rows) => rows.len(),
            Self::Images(images) => images.len(),
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
/// Pairs of texts, and rows of a table, are as long as they are. Each epoch has its own order of them too, in which some
/// batches at a time are sorted by length, so that little padding is computed; the order of the batches is by chance again.
/// Every one is seen exactly once in each epoch, and its batches differ by one at most.
///
/// With accumulation ([`Batcher::with_accumulation`]) the batch of an optimiser step is drawn as one forward pass would have it,
/// and cut into micro-batches.
///
/// [`Batcher::train_batch`] is a pure function of the seed and the micro-step.
#[derive(Debug)]
pub struct Batcher {
    examples: Examples,
    held_out: HeldOut,
    /// Examples of one forward pass.
    batch: usize,
    /// Forward passes of one optimiser step.
    accumulation: usize,
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
        let examples = Examples::of(Part::Train, corpus, objective, sequence)?;
        match (&examples, examples.full()) {
            (Examples::Windows(windows), 0) => {
                Err(DataError::TooShort { part: "training", tokens: windows.tokens(), needed: windows.needed() })
            }
            (Examples::Windows(_), full) if full < batch => {
                Err(DataError::TooFewExamples { windows: full, batch, sequence })
            }
            (Examples::Pairs(_), 0) => {
                Err(DataError::NoPairFits { part: "training", pairs: corpus.statistics.train.documents / 2, sequence })
            }
            (Examples::Pairs(_), pairs) if pairs < batch => Err(DataError::TooFewPairs { pairs, batch }),
            (Examples::Images(_), images) if images < batch => Err(ImageError::TooFew { images, batch }.into()),
            (Examples::Rows(_), rows) if rows < batch => Err(TableError::TooFewRows { rows, batch }.into()),
            _ => Ok(Self { examples, held_out, batch, accumulation: 1, seed, order: Mutex::new(None) }),
        }
    }

    /// Draws `batch * accumulation` examples for each optimiser step, exactly those of a batch of that size, and cuts them into
    /// `accumulation` micro-batches of `batch` examples, so that a step learns the same however it is cut. The last
    /// micro-batches of a step are smaller, or empty, where the epoch does not divide evenly.
    #[must_use]
    pub fn with_accumulation(self, accumulation: usize) -> Self {
        Self { accumulation: accumulation.max(1), order: Mutex::new(None), ..self }
    }

    /// Examples of one optimiser step.
    fn step_batch(&self) -> usize {
        self.batch.saturating_mul(self.accumulation).max(1)
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
            Examples::Pairs(pairs) => pairs.batch(&self.in_step(micro_step)),
            Examples::Rows(rows) => rows.batch(&self.in_step(micro_step)),
            Examples::Images(images) => images.batch(&self.in_step(micro_step)),
        }
    }

    /// The same in which every example is as long as one may be: where all must have one length.
    pub fn whole_batch(&self, micro_step: u64) -> Batch {
        match &self.examples {
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => self.train_batch(micro_step),
            Examples::Rows(rows) => rows.whole_batch(&self.in_step(micro_step)),
        }
    }

    /// Examples with lengths of their own in the batch of a micro-step.
    fn in_step(&self, micro_step: u64) -> Vec<usize> {
        let (accumulation, batches) = (self.accumulation as u64, self.steps_per_epoch().max(1));
        let (step, part) = (micro_step / accumulation, (micro_step % accumulation) as usize);
        let order = self.order(step / batches);
        let number = (step % batches) as usize;
        let bound = |place: usize| order.starts.get(place).copied().unwrap_or(order.examples.len());
        let of_step = order.examples.get(bound(number)..bound(number + 1)).unwrap_or_default();
        of_step.chunks(self.batch.max(1)).nth(part).unwrap_or_default().to_vec()
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

    /// Optimiser steps after which every example was seen at least once: examples / (batch * accumulation), rounded up.
    pub fn steps_per_epoch(&self) -> u64 {
        self.examples.full().div_ceil(self.step_batch()) as u64
    }

    /// Tokens that the model reads in one training batch, special tokens included; at most, where examples have lengths of
    /// their own.
    pub fn tokens_per_batch(&self) -> usize {
        match &self.examples {
            Examples::Windows(windows) => self.batch * windows.sequence(),
            Examples::Pairs(pairs) => 2 * self.batch * pairs.sequence(),
            Examples::Rows(rows) => self.batch * rows.sequence(),
            Examples::Images(images) => self.batch * images.sequence(),
        }
    }

    /// Pairs for training of which a side is longer than an example may be: left out or cut off.
    pub fn long_pairs(&self) -> usize {
        match &self.examples {
            Examples::Windows(_) | Examples::Rows(_) | Examples::Images(_) => 0,
            Examples::Pairs(pairs) => pairs.long(),
        }
    }

    /// Rows of a table for training that were cut off.
    pub fn long_rows(&self) -> usize {
        match &self.examples {
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => 0,
            Examples::Rows(rows) => rows.long(),
        }
    }

    /// What is to be told of the windows of questions for training, as sentences.
    pub fn window_notes(&self) -> Vec<String> {
        match &self.examples {
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => Vec::new(),
            Examples::Rows(rows) => rows.notes(),
        }
    }

    /// Share of the positions that the batches of the first epoch compute which are padding, 0..1.
    pub fn padding_share(&self) -> f64 {
        let order = self.order(0);
        let steps = order.starts.array_windows().map(|&[first, end]| &order.examples[first..end]);
        let batches = steps.flat_map(|step| step.chunks(self.batch.max(1)));
        let (all, padding) = match &self.examples {
            Examples::Windows(_) | Examples::Images(_) => (0, 0),
            Examples::Pairs(pairs) => pairs.padding(batches),
            Examples::Rows(rows) => rows.padding(batches),
        };
        padding as f64 / all.max(1) as f64
    }

    /// The window at `position` of `epoch`'s order.
    fn window(&self, epoch: u64, position: u64) -> usize {
        self.order(epoch).examples[position as usize]
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
                let order = if self.examples.sort_nearly(&mut order, self.step_batch()) {
                    self.in_batches(&order, &mut stream)
                } else {
                    Order { examples: order.into(), starts: Arc::new([]) }
                };
                *cached = Some((epoch, order.clone()));
                order
            }
        }
    }

    /// Batches of examples of almost equal lengths, as they were sorted, in an order by chance.
    fn in_batches(&self, order: &[usize], stream: &mut Stream) -> Order {
        let (count, batches) = (order.len(), (self.steps_per_epoch() as usize).max(1));
        let mut numbers: Vec<usize> = (0..batches).collect();
        stream.shuffle(&mut numbers);
        let (mut examples, mut starts) = (Vec::with_capacity(count), vec![0]);
        for number in numbers {
            examples.extend_from_slice(&order[number * count / batches..(number + 1) * count / batches]);
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
        let examples = Examples::of(Part::Validation, corpus, objective, sequence)?;
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
                    let pairs = corpus.statistics.validation.documents / 2;
                    return Err(DataError::NoPairFits { part: "validation", pairs, sequence });
                }
            }
            Examples::Rows(rows) => {
                let least = objective.shortest_example();
                if batch == 0 || sequence < least || rows.len() == 0 {
                    return Err(DataError::BadShape { batch, sequence, least });
                }
            }
            Examples::Images(images) => {
                if batch == 0 || images.len() == 0 {
                    return Err(ImageError::TooFew { images: images.len(), batch: batch.max(1) }.into());
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
            Examples::Rows(rows) => Examples::Rows(rows.without_labels()),
            Examples::Images(images) => Examples::Images(images.without_labels()),
        };
        Self { examples, ..self }
    }

    /// At most `limit` examples (0 = all) in batches, always the same ones with the same labels, whatever the run's seed and its
    /// batch. With a limit the examples are spread evenly over the text. Every token is labelled once when there is no limit; the
    /// last example is padded and the last batch may have fewer rows. Pairs and rows are put into batches by their lengths. A question
    /// comes with all of its windows, so that there may be some examples more than the limit.
    pub fn batches(&self, limit: usize) -> impl Iterator<Item = Batch> {
        self.numbered_batches(limit).map(|(_, batch)| batch)
    }

    /// The same with the numbers of their examples among all.
    pub fn numbered_batches(&self, limit: usize) -> impl Iterator<Item = NumberedBatch> {
        let mut rows = self.chosen(limit);
        let taken = rows.len();
        match &self.examples {
            Examples::Windows(_) | Examples::Images(_) => {}
            Examples::Pairs(pairs) => pairs.sort(&mut rows),
            Examples::Rows(table) => table.sort(&mut rows),
        }
        let batch = self.batch;
        (0..taken).step_by(batch).map(move |first| {
            let chosen = &rows[first..taken.min(first + batch)];
            (chosen.to_vec(), self.batch_of(chosen))
        })
    }

    /// Returns the numbers of the examples in [`HeldOut::batches`] in ascending order.
    pub fn chosen(&self, limit: usize) -> Vec<usize> {
        let total = self.examples.with_tail();
        let taken = if limit == 0 { total } else { total.min(limit) };
        match &self.examples {
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => spread_over(taken, total),
            Examples::Rows(table) => table.whole(spread_over(taken, total)),
        }
    }

    /// The texts of a row of a table as the table has them, each as far as its tokens are read; none where `corpus`, of which
    /// these examples are, has no such texts.
    ///
    /// # Errors
    /// If the tokenizer does not tell where the last token ends that is read.
    pub fn texts_of(&self, corpus: &Corpus, row: usize) -> Result<Option<Vec<String>>, DataError> {
        let Examples::Rows(rows) = &self.examples else { return Ok(None) };
        let Dataset::Rows { tokens, answers, held_out_texts: Some(texts) } = &corpus.dataset else { return Ok(None) };
        let mut own = Vec::with_capacity(answers.texts);
        for (number, read) in rows.tokens_read(row).into_iter().take(answers.texts).enumerate() {
            let document = row * answers.texts + number;
            let Some(text) = texts.get(document) else { return Ok(None) };
            let is_whole = read >= token_range(&tokens.validation, document).len();
            own.push(if is_whole { text.to_owned() } else { corpus.tokenizer.beginning(text, read)?.to_owned() });
        }
        Ok(Some(own))
    }

    /// `examples` examples (fewer where the text has fewer) spread evenly over the text, up to `at_once` in a batch:
    /// always the same ones with the same labels. Those that are padded are left out unless nothing else is there.
    pub fn spread(&self, examples: usize, at_once: usize) -> impl Iterator<Item = Batch> {
        let full = self.examples.full().max(1).min(self.examples.with_tail());
        let taken = examples.min(full);
        let (rows, batch) = (spread_over(taken, full), at_once.max(1));
        (0..taken).step_by(batch).map(move |first| self.batch_of(&rows[first..taken.min(first + batch)]))
    }

    /// `examples` examples spread evenly over the text in one batch, questions with all of their windows; none where there is
    /// no example.
    pub fn some_whole(&self, examples: usize) -> Option<Batch> {
        let total = self.examples.with_tail();
        let rows = spread_over(examples.min(total), total);
        let rows = match &self.examples {
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => rows,
            Examples::Rows(table) => table.whole(rows),
        };
        (!rows.is_empty()).then(|| self.batch_of(&rows))
    }

    /// One of all examples by its number, in a batch of its own.
    pub fn one(&self, number: usize) -> Option<Batch> {
        (number < self.examples.with_tail()).then(|| self.batch_of(&[number]))
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
            Examples::Rows(table) => table.batch(rows),
            Examples::Images(images) => images.batch(rows),
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

mod evaluated;
#[cfg(test)]
mod tests;

pub use evaluated::EvaluatedSet;
