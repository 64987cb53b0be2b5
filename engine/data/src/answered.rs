//! Rows of a table as examples: one or two texts in the frame of the tokenizer, with the answer of the row. Questions with windows
//! of their paragraphs are such rows, too.

use std::sync::Arc;

use super::encode::Encoder;
use super::pairs::SORTED_BATCHES;
use super::questions::{Cutting, WindowNotes, documents, token_range, with_places};
use super::tokenizer::Frame;
use super::{DataError, Documents, NumberedBatch, Silent, TextTokenizer, TokenStream};
use crate::config::Span;
use crate::objective::{Answers, Batch, IGNORED, Questions, Spans, Window};

/// The rows of a part of a table.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    ids: Arc<[u32]>,
    places: Arc<[Place]>,
    frame: Arc<Frame>,
    pad: u32,
    sequence: usize,
    /// Rows that were cut off.
    long: usize,
    answers: Arc<Answers>,
    has_labels: bool,
    /// What is to be told of windows.
    notes: WindowNotes,
}

/// Where the texts of a row begin, and how many tokens of each are read; nothing of the second where there is one.
#[derive(Clone, Copy, Debug)]
struct Place {
    starts: [usize; 2],
    tokens: [usize; 2],
}

impl Rows {
    /// The rows of a stream, of which each has `texts` texts. What does not fit into `sequence` tokens is cut off, of two
    /// texts from the longer one.
    pub(super) fn new(
        stream: &TokenStream,
        answers: &Answers,
        tokenizer: &TextTokenizer,
        texts: usize,
        sequence: usize,
    ) -> Result<Self, DataError> {
        let frame = tokenizer.frame(texts)?;
        let most = sequence.saturating_sub(frame.tokens());
        let (mut places, mut long, mut start) = (Vec::with_capacity(answers.len()), 0, 0);
        for ends in stream.ends.chunks_exact(texts.max(1)) {
            let (first, last) = (ends[0], ends[ends.len() - 1]);
            let (starts, whole) = ([start, first], [first - start, last - first]);
            start = last;
            let tokens = cut(whole, most);
            long += usize::from(tokens != whole);
            places.push(Place { starts, tokens });
        }
        Ok(Self {
            ids: Arc::clone(&stream.ids),
            places: places.into(),
            frame: Arc::new(frame),
            pad: tokenizer.specials().pad,
            sequence,
            long,
            answers: Arc::new(answers.clone()),
            has_labels: true,
            notes: WindowNotes::default(),
        })
    }

    /// A row for each window of each question about the paragraphs of a stream, in which all paragraphs come first.
    pub(super) fn of_questions(
        stream: &TokenStream,
        questions: &Arc<Questions>,
        tokenizer: &TextTokenizer,
        span: &Span,
        sequence: usize,
    ) -> Result<Self, DataError> {
        let frame = tokenizer.frame(2)?;
        let cutting = Cutting { most: sequence.saturating_sub(frame.tokens()), stride: span.doc_stride };
        let (mut places, mut windows) = (Vec::new(), Vec::new());
        let mut notes = WindowNotes::default();
        for (number, question) in questions.all.iter().enumerate() {
            let own = token_range(stream, questions.paragraphs.len() + number);
            let paragraph = token_range(stream, question.paragraph);
            let answer = questions.tokens_of_answer(number);
            let (mut has_answer, mut end, mut overlaps) = (answer.is_none(), None, true);
            for cut in cutting.windows(number, own.len(), paragraph.len()) {
                let Window { first, tokens, .. } = cut.window;
                has_answer |= answer.is_some_and(|[from, to]| from >= first && to < first + tokens);
                overlaps &= end != Some(first);
                end = Some(first + tokens);
                notes.cut_questions += usize::from(first == 0 && cut.question_tokens < own.len());
                places.push(Place {
                    starts: [own.start, paragraph.start + first],
                    tokens: [cut.question_tokens, tokens],
                });
                windows.push(Window { before: frame.before_second(cut.question_tokens), ..cut.window });
            }
            notes.lost_answers += usize::from(!has_answer);
            notes.apart += usize::from(!overlaps);
        }
        Ok(Self {
            ids: Arc::clone(&stream.ids),
            places: places.into(),
            frame: Arc::new(frame),
            pad: tokenizer.specials().pad,
            sequence,
            long: 0,
            answers: Arc::new(Answers::Spans(Spans { questions: Arc::clone(questions), windows })),
            has_labels: true,
            notes,
        })
    }

    /// What is to be told of windows, as sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.words(self.sequence)
    }

    /// All rows of the questions that some rows are of: a question is judged by all of its windows together. Rows of tables
    /// stand for themselves.
    pub(super) fn whole(&self, rows: Vec<usize>) -> Vec<usize> {
        let Answers::Spans(Spans { windows, .. }) = &*self.answers else { return rows };
        let chosen: std::collections::BTreeSet<usize> = rows.iter().map(|row| windows[*row].question).collect();
        (0..windows.len()).filter(|row| chosen.contains(&windows[*row].question)).collect()
    }

    /// The same rows with nothing to predict.
    pub(super) fn without_labels(self) -> Self {
        Self { has_labels: false, ..self }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The answers of the rows.
    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Rows that were cut off.
    pub(super) fn long(&self) -> usize {
        self.long
    }

    /// Tokens of an example, at most.
    pub(super) fn sequence(&self) -> usize {
        self.sequence
    }

    /// Tokens of each text of a row that are read.
    pub(super) fn tokens_read(&self, row: usize) -> [usize; 2] {
        self.places[row].tokens
    }

    /// Tokens of a row with those of its frame.
    fn length(&self, row: usize) -> usize {
        self.frame.tokens() + self.places[row].tokens.iter().sum::<usize>()
    }

    /// Sorts rows by their lengths; those of equal lengths stay in their order.
    pub(super) fn sort(&self, rows: &mut [usize]) {
        rows.sort_by_key(|row| self.length(*row));
    }

    /// Sorts an order of rows by length, some batches at a time.
    pub(super) fn sort_nearly(&self, order: &mut [usize], batch: usize) {
        for part in order.chunks_mut(batch.max(1).saturating_mul(SORTED_BATCHES)) {
            self.sort(part);
        }
    }

    /// Positions that some batches compute, and how many of them are padding.
    pub(super) fn padding<'a>(&self, batches: impl Iterator<Item = &'a [usize]>) -> (u64, u64) {
        let (mut all, mut used) = (0, 0);
        for batch in batches {
            let lengths = batch.iter().map(|row| self.length(*row) as u64);
            all += lengths.clone().max().unwrap_or(0) * batch.len() as u64;
            used += lengths.sum::<u64>();
        }
        (all, all - used)
    }

    /// A batch of rows, as long as its longest.
    pub(super) fn batch(&self, rows: &[usize]) -> Batch {
        let longest = rows.iter().map(|row| self.length(*row)).max().unwrap_or(0);
        self.batch_of(rows, longest)
    }

    /// A batch of rows in which each is as long as a row may be.
    pub(super) fn whole_batch(&self, rows: &[usize]) -> Batch {
        self.batch_of(rows, self.sequence)
    }

    fn batch_of(&self, rows: &[usize], sequence: usize) -> Batch {
        let batch = rows.len();
        let mut input_ids = vec![self.pad; batch * sequence];
        let mut token_types = (self.frame.texts() > 1).then(|| vec![0; batch * sequence]);
        let mut key_mask = vec![0; batch * sequence];
        for (number, row) in rows.iter().enumerate() {
            let place = &self.places[*row];
            let text = |text: usize| &self.ids[place.starts[text]..][..place.tokens[text]];
            let framed = self.frame.around(text(0), text(1));
            let cells = number * sequence..;
            for (place, (id, text)) in cells.clone().take(sequence).zip(framed) {
                (input_ids[place], key_mask[place]) = (id, 1);
                if let Some(types) = &mut token_types {
                    types[place] = text;
                }
            }
        }
        Batch {
            input_ids,
            labels: vec![IGNORED; batch * sequence],
            key_mask: key_mask.contains(&0).then_some(key_mask),
            token_types,
            batch,
            sequence,
            sources: None,
            answers: self.has_labels.then(|| self.answers.of_rows(rows)),
            pixels: None,
        }
    }
}

/// Batches of rows whose answers nobody knows, each with the numbers of its rows; rows of almost equal lengths stand together.
/// Beside them how many rows were cut off.
///
/// # Errors
/// If a text cannot be encoded, or no token fits into the frame.
pub fn unanswered_batches(
    documents: &Documents,
    texts: usize,
    tokenizer: &TextTokenizer,
    sequence: usize,
    batch: usize,
) -> Result<(Vec<NumberedBatch>, usize), DataError> {
    let stream = Encoder::new(tokenizer, None, documents.bytes() as u64, &Silent).encode(documents)?;
    let rows = Rows::new(&stream, &Answers::Numbers(Vec::new()), tokenizer, texts, sequence)?.without_labels();
    let least = rows.frame.tokens() + texts;
    if sequence < least {
        return Err(DataError::BadShape { batch, sequence, least });
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    rows.sort(&mut order);
    let batches = order.chunks(batch.max(1)).map(|chosen| (chosen.to_vec(), rows.batch(chosen))).collect();
    Ok((batches, rows.long()))
}

/// Windows of questions that nobody knows the answers to.
pub struct Asked {
    /// The questions, with the places of the tokens of their paragraphs.
    pub questions: Arc<Questions>,
    /// The windows in batches; those of almost equal lengths stand together.
    pub batches: Vec<(Vec<Window>, Batch)>,
    /// Questions that were cut off.
    pub cut_questions: usize,
}

/// Questions in batches of up to `batch` windows of up to `sequence` tokens.
///
/// # Errors
/// If a text cannot be encoded, or no token fits into the frame.
pub fn question_batches(
    questions: Questions,
    tokenizer: &TextTokenizer,
    span: &Span,
    sequence: usize,
    batch: usize,
) -> Result<Asked, DataError> {
    let texts = documents(&questions);
    let stream = Encoder::new(tokenizer, None, texts.bytes() as u64, &Silent).encode(&texts)?;
    let spans = Spans { questions: Arc::new(questions), windows: Vec::new() };
    let Spans { questions, .. } = with_places(spans, &stream, tokenizer, &Silent)?;
    let rows = Rows::of_questions(&stream, &questions, tokenizer, span, sequence)?;
    let least = rows.frame.tokens() + 2;
    if sequence < least {
        return Err(DataError::BadShape { batch, sequence, least });
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    rows.sort(&mut order);
    let windows = |chosen: &[usize]| match rows.answers.of_rows(chosen) {
        Answers::Spans(spans) => spans.windows,
        Answers::Classes { .. } | Answers::Numbers(_) => Vec::new(),
    };
    let batches = order.chunks(batch.max(1)).map(|chosen| (windows(chosen), rows.batch(chosen))).collect();
    Ok(Asked { questions, batches, cut_questions: rows.notes.cut_questions })
}

/// How many tokens of two texts are read where `most` fit: the longer one gives up first.
pub(super) fn cut([first, second]: [usize; 2], most: usize) -> [usize; 2] {
    if first + second <= most {
        return [first, second];
    }
    let half = most / 2;
    match (first <= half, second <= half) {
        (true, _) => [first, most - first],
        (false, true) => [most - second, second],
        // The first gets the odd one.
        (false, false) => [most - half, half],
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::config::{ByteTokenizer, Column, DataConfig, Source, TableSource, Tokenizer};
    use crate::objective::Objective;
    use crate::{Batcher, Corpus, HeldOut, Silent};

    #[test]
    fn the_longer_text_is_cut_first() {
        assert_eq!(cut([3, 4], 7), [3, 4]);
        assert_eq!(cut([3, 9], 8), [3, 5]);
        assert_eq!(cut([9, 3], 8), [5, 3]);
        assert_eq!(cut([9, 8], 7), [4, 3]);
        assert_eq!(cut([9, 0], 5), [5, 0]);
        for (first, second, most) in
            (0..8).flat_map(|a| (0..8).flat_map(move |b| (0..12).map(move |most| (a, b, most))))
        {
            let [one, other] = cut([first, second], most);
            assert!(one <= first && other <= second && one + other == most.min(first + second));
        }
    }

    /// Rows of one text or two, with lengths that vary.
    fn corpus(texts: usize, rows: usize, sequence_length: usize) -> Corpus {
        let folder = tempfile::TempDir::new().unwrap();
        let words = |row: usize, text: usize| vec!["w"; 1 + (row * 7 + text * 3) % 12].join(" ");
        let mut table = String::from("a\tb\tlabel\n");
        for row in 0..rows {
            let label = ["no", "yes"][row % 2];
            writeln!(table, "{row} {}\t{}\t{label}", words(row, 0), words(row, 1)).unwrap();
        }
        std::fs::write(folder.path().join("t.tsv"), table).unwrap();
        let text = ["a", "b"].into_iter().take(texts).map(Column::named).collect();
        let config = DataConfig {
            source: Source::Table(TableSource { path: "t.tsv".into(), text, ..TableSource::default() }),
            sequence_length,
            tokenizer: Tokenizer::Bytes(ByteTokenizer {}),
            ..DataConfig::default()
        };
        Corpus::load(&config, &Objective::CLASSIFICATION, folder.path(), folder.path(), &Silent).unwrap()
    }

    #[test]
    fn every_row_is_seen_once_an_epoch_with_its_answer_and_little_padding() {
        for texts in [1, 2] {
            let corpus = corpus(texts, 500, 64);
            let batcher = Batcher::new(&corpus, &Objective::CLASSIFICATION, 8, 64, 3).unwrap();
            let [cls, sep] = [corpus.tokenizer.specials().cls, corpus.tokenizer.specials().sep].map(Option::unwrap);
            let mut seen = Vec::new();
            for step in 0..batcher.steps_per_epoch() {
                let batch = batcher.train_batch(step);
                let Some(Answers::Classes { classes, weights: None }) = &batch.answers else { panic!() };
                assert_eq!((batch.targets(), classes.len()), (batch.batch, batch.batch));
                assert!(batch.labels.iter().all(|label| *label == IGNORED));
                for (row, class) in classes.iter().enumerate() {
                    let tokens = batch.tokens_of(row);
                    let ids = &batch.input_ids[row * batch.sequence..][..tokens];
                    assert_eq!((ids[0], ids[tokens - 1]), (cls, sep));
                    assert_eq!(ids.iter().filter(|id| **id == sep).count(), texts);
                    if let Some(types) = &batch.token_types {
                        let types = &types[row * batch.sequence..][..tokens];
                        let first = ids.iter().position(|id| *id == sep).unwrap() + 1;
                        assert!(
                            types[..first].iter().all(|text| *text == 0)
                                && types[first..].iter().all(|text| *text == 1)
                        );
                    }
                    let text = corpus.tokenizer.decode(ids).unwrap();
                    let number: usize = text.split_whitespace().next().unwrap().parse().unwrap();
                    assert_eq!(*class as usize, number % 2, "{text}");
                    seen.push(number);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen.len(), corpus.statistics.train.documents / texts);
            seen.dedup();
            assert_eq!(seen.len(), corpus.statistics.train.documents / texts, "no row comes twice");
            let share = batcher.padding_share();
            assert!(share > 0.0 && share < 0.1, "{share}");
            let again = Batcher::new(&corpus, &Objective::CLASSIFICATION, 8, 64, 3).unwrap();
            assert_eq!(again.train_batch(77), batcher.train_batch(77), "a function of seed and step alone");
        }
    }

    #[test]
    fn held_out_rows_are_all_there_and_never_change() {
        let corpus = corpus(2, 300, 64);
        let held_out = HeldOut::new(&corpus, &Objective::CLASSIFICATION, 8, 64).unwrap();
        let rows: usize = held_out.batches(0).map(|batch| batch.batch).sum();
        assert_eq!(rows, corpus.statistics.validation.documents / 2);
        assert_eq!(held_out.batches(16).collect::<Vec<_>>(), held_out.batches(16).collect::<Vec<_>>());
        assert!(held_out.without_labels().batches(8).all(|batch| batch.targets() == 0 && batch.answers.is_none()));
    }

    #[test]
    fn held_out_rows_have_their_own_texts_as_far_as_they_are_read() {
        for (texts, sequence) in [(1, 64), (1, 9), (2, 64), (2, 12)] {
            let corpus = corpus(texts, 300, 64);
            let held_out = HeldOut::new(&corpus, &Objective::CLASSIFICATION, 8, sequence).unwrap();
            let mut seen = 0;
            for (rows, batch) in held_out.numbered_batches(0) {
                assert_eq!(rows.len(), batch.batch);
                for (at, row) in rows.iter().enumerate() {
                    let own = held_out.texts_of(&corpus, *row).unwrap().unwrap();
                    let ids = &batch.input_ids[at * batch.sequence..][..batch.tokens_of(at)];
                    assert_eq!((own.len(), own.concat()), (texts, corpus.tokenizer.decode(ids).unwrap()));
                    seen += 1;
                }
            }
            assert_eq!(seen, corpus.statistics.validation.documents / texts);
            let shuffled = corpus.shuffled();
            assert_eq!(held_out.texts_of(&shuffled, 0).unwrap(), None, "its tokens are of other rows");
        }
    }

    #[test]
    fn long_rows_are_cut_off_and_counted() {
        let corpus = corpus(2, 300, 12);
        let batcher = Batcher::new(&corpus, &Objective::CLASSIFICATION, 8, 12, 3).unwrap();
        assert!((0..batcher.steps_per_epoch()).all(|step| batcher.train_batch(step).sequence <= 12));
        assert!(corpus.warnings.iter().any(|told| told.contains("cut off")), "{:?}", corpus.warnings);
        assert_eq!(batcher.whole_batch(0).sequence, 12);
    }
}
