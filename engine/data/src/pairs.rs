//! Pairs of texts as examples: a source that an encoder reads, and a translation that a decoder writes.

use std::sync::Arc;

use super::{DataError, PairFraming, TextTokenizer, TokenStream};
use crate::config::LongPairs;
use crate::objective::{Batch, IGNORED, Sources};

/// Batches that are sorted by length together: enough that the lengths of a batch are almost equal, few enough that what is
/// in a batch changes from epoch to epoch.
pub(super) const SORTED_BATCHES: usize = 64;

/// Rules by which pairs become examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairRules {
    /// Treatment of pairs that are longer than an example.
    pub long: LongPairs,
    /// Tokens around each side.
    pub framing: PairFraming,
    /// Token before a translation; none: the token that ends a text.
    pub start: Option<u32>,
}

/// The pairs of a stream, in which each source stands before its translation.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    ids: Arc<[u32]>,
    /// Where the source of each pair begins, where its translation does, and how many tokens of both are read.
    places: Arc<[Place]>,
    /// The tokens before and after each text.
    frame: [Arc<[u32]>; 2],
    /// Stands before a translation.
    start: u32,
    pad: u32,
    sequence: usize,
    /// Pairs of which a side was too long.
    long: usize,
    /// What became of them.
    pub(super) rule: LongPairs,
    has_labels: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    source: usize,
    target: usize,
    source_tokens: usize,
    target_tokens: usize,
}

impl Pairs {
    /// The pairs of a stream of which each side has at most `sequence` tokens, those around it included.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub(super) fn new(
        stream: &TokenStream,
        tokenizer: &TextTokenizer,
        sequence: usize,
        PairRules { long, framing, start: first }: PairRules,
    ) -> Result<Self, DataError> {
        let specials = tokenizer.specials();
        let frame: [Arc<[u32]>; 2] = tokenizer.pair_frame(framing)?.map(Arc::from);
        let most = sequence.saturating_sub(frame.iter().map(|side| side.len()).sum());
        let mut start = 0;
        let (mut places, mut too_long) = (Vec::with_capacity(stream.ends.len() / 2), 0);
        for &[target, end] in stream.ends.as_chunks().0 {
            let place = Place { source: start, target, source_tokens: target - start, target_tokens: end - target };
            start = end;
            let is_long = place.source_tokens.max(place.target_tokens) > most;
            too_long += usize::from(is_long);
            let kept = match long {
                LongPairs::LeaveOut => !is_long,
                LongPairs::Truncate => true,
            };
            let (source_tokens, target_tokens) = (place.source_tokens.min(most), place.target_tokens.min(most));
            if kept && source_tokens > 0 && target_tokens > 0 {
                places.push(Place { source_tokens, target_tokens, ..place });
            }
        }
        Ok(Self {
            ids: Arc::clone(&stream.ids),
            places: places.into(),
            frame,
            start: first.or(specials.end_of_text).unwrap_or(specials.pad),
            pad: specials.pad,
            sequence,
            long: too_long,
            rule: long,
            has_labels: true,
        })
    }

    /// Tokens around texts, where they are more than the end token after them.
    pub(super) fn frame_words(&self) -> String {
        let [before, after] = &self.frame;
        if before.is_empty() && **after == [self.start] {
            return String::new();
        }
        format!(", {} before {before:?} {after:?}", self.start)
    }

    /// Number of tokens around a text.
    fn around(&self) -> usize {
        self.frame.iter().map(|side| side.len()).sum()
    }

    /// Tokens of a text between those that stand around it.
    fn framed<'a>(&'a self, text: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let [before, after] = &self.frame;
        before.iter().chain(text).chain(after.iter()).copied()
    }

    /// The same pairs with nothing to predict.
    pub(super) fn without_labels(self) -> Self {
        Self { has_labels: false, ..self }
    }

    /// How many pairs there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Pairs of which a side was too long: left out or cut off.
    pub(super) fn long(&self) -> usize {
        self.long
    }

    /// Tokens of a side, at most.
    pub(super) fn sequence(&self) -> usize {
        self.sequence
    }

    /// What pairs are sorted by: the longer side of a batch is the dearer one.
    fn length(&self, pair: usize) -> (usize, usize) {
        let place = &self.places[pair];
        (place.target_tokens, place.source_tokens)
    }

    /// Sorts pairs by their lengths; those of equal lengths stay in their order.
    pub(super) fn sort(&self, pairs: &mut [usize]) {
        pairs.sort_by_key(|pair| self.length(*pair));
    }

    /// Sorts an order of pairs by length, some batches at a time.
    pub(super) fn sort_nearly(&self, order: &mut [usize], batch: usize) {
        for part in order.chunks_mut(batch.max(1).saturating_mul(SORTED_BATCHES)) {
            self.sort(part);
        }
    }

    /// Positions that some batches compute, and how many of them are padding: sources and translations together.
    pub(super) fn padding<'a>(&self, batches: impl Iterator<Item = &'a [usize]>) -> (u64, u64) {
        let (mut all, mut used) = (0, 0);
        for batch in batches {
            let sides = |of: fn(&Place) -> usize| {
                let around = self.around() as u64;
                let lengths = batch.iter().map(|pair| of(&self.places[*pair]) as u64 + around);
                (lengths.clone().max().unwrap_or(0) * batch.len() as u64, lengths.sum::<u64>())
            };
            for (cells, tokens) in [sides(|place| place.source_tokens), sides(|place| place.target_tokens)] {
                all += cells;
                used += tokens;
            }
        }
        (all, all - used)
    }

    /// A batch of pairs, as long as its longest.
    pub(super) fn batch(&self, pairs: &[usize]) -> Batch {
        let places: Vec<Place> = pairs.iter().map(|pair| self.places[*pair]).collect();
        let batch = places.len();
        let longest = |of: fn(&Place) -> usize| places.iter().map(of).max().unwrap_or(0) + self.around();
        let (read, written) = (longest(|place| place.source_tokens), longest(|place| place.target_tokens));
        let mut sources = Side::new(batch, read, self.pad);
        let mut targets = Side::new(batch, written, self.pad);
        let mut labels = vec![IGNORED; batch * written];
        for (row, place) in places.iter().enumerate() {
            let tokens = |start: usize, count: usize| &self.ids[start..start + count];
            let source = tokens(place.source, place.source_tokens);
            let target = tokens(place.target, place.target_tokens);
            sources.set(row, self.framed(source));
            let before_last = target.len() + self.around().saturating_sub(1);
            targets.set(row, [self.start].into_iter().chain(self.framed(target).take(before_last)));
            if self.has_labels {
                let right = self.framed(target).map(i64::from);
                for (label, right) in labels.iter_mut().skip(row * written).zip(right) {
                    *label = right;
                }
            }
        }
        Batch {
            input_ids: targets.ids,
            labels,
            key_mask: targets.mask,
            batch,
            sequence: written,
            sources: Some(Sources { ids: sources.ids, key_mask: sources.mask, sequence: read }),
            token_types: None,
            answers: None,
            pixels: None,
        }
    }
}

/// One side of a batch while it is put together.
struct Side {
    ids: Vec<u32>,
    mask: Option<Vec<u8>>,
    sequence: usize,
}

impl Side {
    fn new(batch: usize, sequence: usize, pad: u32) -> Self {
        Self { ids: vec![pad; batch * sequence], mask: None, sequence }
    }

    fn set(&mut self, row: usize, tokens: impl Iterator<Item = u32>) {
        let (first, mut used) = (row * self.sequence, 0);
        for (place, token) in self.ids.iter_mut().skip(first).take(self.sequence).zip(tokens) {
            *place = token;
            used += 1;
        }
        if used < self.sequence {
            let all = self.ids.len();
            let mask = self.mask.get_or_insert_with(|| vec![1; all]);
            mask[first + used..first + self.sequence].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tempfile::TempDir;

    use crate::config::{ByteTokenizer, DataConfig, LongPairs, NumberWordsSource, PairsSource, Source, Tokenizer};
    use crate::objective::{Batch, IGNORED, Objective};
    use crate::{Batcher, Corpus, DataError, HeldOut, Silent};

    const TRANSLATION: Objective = Objective::TRANSLATION;

    fn load(source: Source, sequence_length: usize) -> Result<Corpus, DataError> {
        let folder = TempDir::new().unwrap();
        let config = DataConfig {
            source,
            sequence_length,
            tokenizer: Tokenizer::Bytes(ByteTokenizer {}),
            ..DataConfig::default()
        };
        Corpus::load(&config, &TRANSLATION, folder.path(), folder.path(), &Silent)
    }

    fn numbers(pairs: usize) -> Corpus {
        load(Source::NumberWords(NumberWordsSource { pairs, text_seed: 1 }), 128).unwrap()
    }

    /// The texts of a batch, with what is computed for padding checked.
    fn texts(corpus: &Corpus, batch: &Batch) -> Vec<(String, String)> {
        let sources = batch.sources.as_ref().unwrap();
        let end = corpus.tokenizer.specials().end_of_text.unwrap();
        let decode = |ids: &[u32]| corpus.tokenizer.decode(ids).unwrap();
        let mut used = 0;
        let rows = sources.ids.chunks(sources.sequence).zip(batch.input_ids.chunks(batch.sequence));
        let pairs =
            rows.zip(batch.labels.chunks(batch.sequence)).enumerate().map(|(row, ((source, written), labels))| {
                let tokens = source.iter().position(|id| *id == end).unwrap();
                let count = labels.iter().take_while(|label| **label != IGNORED).count();
                assert!(labels[count..].iter().all(|label| *label == IGNORED));
                assert_eq!((written[0], labels[count - 1]), (end, i64::from(end)));
                let labels: Vec<u32> = labels[..count - 1].iter().map(|label| *label as u32).collect();
                assert_eq!(written[1..count], labels);
                let mask = |mask: &Option<Vec<u8>>, length: usize| {
                    let keys = |mask: &Vec<u8>| -> usize {
                        mask[row * length..(row + 1) * length].iter().map(|key| usize::from(*key)).sum()
                    };
                    mask.as_ref().map_or(length, keys)
                };
                assert_eq!(mask(&sources.key_mask, sources.sequence), tokens + 1);
                assert_eq!(mask(&batch.key_mask, batch.sequence), count);
                used += tokens + 1 + count;
                (decode(&source[..tokens]), decode(&labels))
            });
        let pairs = pairs.collect();
        assert_eq!(batch.tokens(), used);
        pairs
    }

    #[test]
    fn every_pair_is_seen_once_an_epoch_with_little_padding() {
        let corpus = numbers(3001);
        let batcher = Batcher::new(&corpus, &TRANSLATION, 16, 128, 5).unwrap();
        let steps = batcher.steps_per_epoch();
        assert_eq!((steps, batcher.windows(), batcher.long_pairs()), (188, 3001, 0));
        let epoch = |number: u64| {
            let batches = (number * steps..(number + 1) * steps).map(|step| batcher.train_batch(step));
            let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
            for batch in batches {
                assert!((15..=16).contains(&batch.batch), "{}", batch.batch);
                for pair in texts(&corpus, &batch) {
                    *seen.entry(pair).or_default() += 1;
                }
            }
            seen
        };
        let first = epoch(0);
        assert_eq!(first.values().sum::<usize>(), 3001);
        assert_eq!(first, epoch(1), "the same pairs in another order");
        assert_ne!(batcher.train_batch(0), batcher.train_batch(steps));
        let again = Batcher::new(&corpus, &TRANSLATION, 16, 128, 5).unwrap();
        assert_eq!(again.train_batch(steps + 7), batcher.train_batch(steps + 7), "a function of seed and step alone");
        // Without sorting more than a third of all positions would be padding.
        let share = batcher.padding_share();
        assert!(share > 0.0 && share < 0.12, "{share}");
    }

    #[test]
    fn held_out_pairs_are_all_there_and_never_change() {
        let corpus = numbers(1000);
        let held_out = HeldOut::new(&corpus, &TRANSLATION, 8, 128).unwrap();
        let all: Vec<_> = held_out.batches(0).flat_map(|batch| texts(&corpus, &batch)).collect();
        assert_eq!(all.len(), corpus.statistics.validation.documents / 2);
        assert_eq!(held_out.batches(16).map(|batch| batch.batch).collect::<Vec<_>>(), [8, 8]);
        let few: Vec<_> = held_out.batches(16).flat_map(|batch| texts(&corpus, &batch)).collect();
        assert!(few.iter().all(|pair| all.contains(pair)));
        assert_eq!(held_out.spread(5, 2).map(|batch| batch.batch).collect::<Vec<_>>(), [2, 2, 1]);
        assert!(held_out.without_labels().batches(8).all(|batch| batch.targets() == 0));
    }

    /// A table of pairs of bytes: two of four letters, one of nine.
    fn files(long: LongPairs, sequence_length: usize) -> Result<Corpus, DataError> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("pairs.tsv");
        std::fs::write(&path, "four\tvier\nfour five\tvier\nfive\tneun neun\nzero\tnull\n").unwrap();
        let held_out = folder.path().join("held_out.tsv");
        std::fs::write(&held_out, "nine\tneun\n").unwrap();
        let source = PairsSource { path: Some(path), validation_path: Some(held_out), long, ..PairsSource::default() };
        load(Source::Pairs(source), sequence_length)
    }

    #[test]
    fn long_pairs_are_left_out_or_cut_off_and_counted() {
        let first = |corpus: &Corpus| {
            let batcher = Batcher::new(corpus, &TRANSLATION, 1, 5, 1).unwrap();
            let pairs = (0..batcher.steps_per_epoch()).flat_map(|step| texts(corpus, &batcher.train_batch(step)));
            let mut pairs: Vec<_> = pairs.map(|(source, target)| format!("{source} {target}")).collect();
            pairs.sort();
            pairs
        };
        let left_out = files(LongPairs::LeaveOut, 5).unwrap();
        assert_eq!(first(&left_out), ["four vier", "zero null"]);
        assert!(left_out.warnings.iter().any(|told| told.contains("2 pairs") && told.contains("left out")));
        let cut_off = files(LongPairs::Truncate, 5).unwrap();
        assert_eq!(first(&cut_off), ["five neun", "four vier", "four vier", "zero null"]);
        assert!(cut_off.warnings.iter().any(|told| told.contains("2 pairs") && told.contains("cut off")));
        assert!(files(LongPairs::LeaveOut, 10).unwrap().warnings.iter().all(|told| !told.contains("pairs")));
        let error = files(LongPairs::LeaveOut, 4).unwrap_err();
        assert!(matches!(error, DataError::NoPairFits { part: "validation", .. }), "{error}");
        let corpus = files(LongPairs::LeaveOut, 5).unwrap();
        let error = Batcher::new(&corpus, &TRANSLATION, 3, 5, 1).unwrap_err();
        assert!(matches!(error, DataError::TooFewPairs { pairs: 2, batch: 3 }), "{error}");
    }

    #[test]
    fn without_held_out_files_a_share_of_the_pairs_is_held_out() {
        let folder = TempDir::new().unwrap();
        let write = |name: &str, word: &str| {
            let path = folder.path().join(name);
            let lines: Vec<String> = (0..400).map(|number| format!("{word} {}", number % 300)).collect();
            std::fs::write(&path, lines.join("\n")).unwrap();
            Some(path)
        };
        let source =
            PairsSource { source: write("a.en", "number"), target: write("a.de", "Zahl"), ..PairsSource::default() };
        let corpus = load(Source::Pairs(source), 32).unwrap();
        let pairs = [corpus.statistics.train, corpus.statistics.validation].map(|part| part.documents / 2);
        assert_eq!(pairs[0] + pairs[1], 400);
        assert!((40..=42).contains(&pairs[1]), "{pairs:?}");
        let of = |held_out: bool| -> Vec<(String, String)> {
            let batcher = Batcher::new(&corpus, &TRANSLATION, 8, 32, 1).unwrap();
            if held_out {
                batcher.validation_batches(0).flat_map(|batch| texts(&corpus, &batch)).collect()
            } else {
                (0..batcher.steps_per_epoch()).flat_map(|step| texts(&corpus, &batcher.train_batch(step))).collect()
            }
        };
        let train = of(false);
        assert!(of(true).iter().all(|pair| !train.contains(pair)), "a text that comes twice is on one side");
        assert!(train.iter().all(|(source, target)| source.replace("number", "Zahl") == *target));
    }
}
