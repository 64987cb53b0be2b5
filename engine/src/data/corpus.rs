use std::path::Path;
use std::sync::Arc;

use super::answers::{all_of_table, split_table};
use super::cache::TokenizerCache;
use super::encode::Encoder;
use super::error_wording::cell;
use super::file::{PairFiles, load_pairs};
use super::hash::sha256_hex;
use super::images::{Pictured, all_images, split_images};
use super::listops::generate_listops;
use super::number_words::{all_number_words, generate_number_words};
use super::progress::advance;
use super::questions::{all_questions, located, split_questions};
use super::rng::{Purpose, Stream};
use super::row_answers::{Labelled, RowAnswers};
use super::split::split_in_pairs;
use super::tokenizer::{bpe, bytes, given, of_model, symbols, word_piece, words_of};
use super::{
    DataError, Documents, Edition, ImageCorpus, Normalisation, PairRules, Progress, Reading, Split, Stage,
    TextTokenizer, TokenStream, generate_grammar, generate_random, load_files, memory, split,
};
use crate::config::{
    DataConfig, FileSource, ImageShape, ListOpsSource, LongPairs, NumberWordsSource, PairsSource, Source, TaskConfig,
    Tokenizer, counted,
};
use crate::objective::{Answers, Labels, Objective};

/// Seeds the order of shuffled text, the same for every run so that runs can be compared.
const SHUFFLE_SEED: u64 = 0x7368_7566_666c_6564;

/// Fewer held-out tokens than this give a noisy validation loss.
const FEW_TOKENS: usize = 2000;

/// Text as tokens, ready to be cut into batches.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// What the model learns from.
    pub train: TokenStream,
    /// What it is judged by; shares no text with `train` unless the user named overlapping files.
    pub validation: TokenStream,
    /// Made the tokens; without any where there are images.
    pub tokenizer: TextTokenizer,
    /// Lower-case hex SHA-256 over the text of both parts and the tokenizer: equal hashes, equal tokens.
    pub data_hash: String,
    /// The same over the held-out text and the tokenizer alone: equal hashes, comparable losses. Where each example has one
    /// label or number, its loss knows no tokens: then it is over the texts and the answers, whatever the tokenizer. Runs from before that
    /// was so keep a hash with the tokenizer, so that they are compared among themselves only.
    pub held_out_hash: String,
    /// How much there is.
    pub statistics: Statistics,
    /// Rules by which pairs become examples, where it holds pairs: each source, then its translation.
    pub pair_rules: PairRules,
    /// What is right of each row, where it holds the texts of a table: those of a row one after the other. Of questions about
    /// paragraphs all paragraphs come first, then all questions.
    pub answers: Option<RowAnswers>,
    /// The texts of the held-out rows of a table as it has them, one after the other, while their tokens are in their order.
    pub held_out_texts: Option<Arc<Documents>>,
    /// The images in place of text, where there are such; both parts of text are empty then.
    pub images: Option<ImageCorpus>,
    /// Held-out rows that were left out since they have no label, and questions whose answers stand elsewhere than they say.
    pub left_out: usize,
    /// What the user should know and may ignore, as sentences.
    pub warnings: Vec<String>,
}

/// How much text there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The training part.
    pub train: PartStatistics,
    /// The held-out part.
    pub validation: PartStatistics,
    /// Files that were read; 0 for generated text.
    pub files: usize,
    /// Files in folders that were left out because their ending names no text format.
    pub skipped_files: usize,
}

/// How much text there is in one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartStatistics {
    /// Documents; a text cut by position counts its pieces.
    pub documents: usize,
    /// Tokens, separators included.
    pub tokens: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
}

impl Corpus {
    /// Everything of [`Self::load_for`] that needs no batches.
    pub(super) fn assembled(
        model_tokenizer: Option<&str>,
        config: &DataConfig,
        (objective, reading): (&Objective, &Reading),
        base_dir: &Path,
        cache_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        if config.source.has_images() {
            return Self::load_images(config, (base_dir, reading.edition), progress);
        }
        // Before text is read for it.
        let given_by_model = match &config.tokenizer {
            // The tokens of the source are those of a model that is to learn from it.
            _ if config.source.has_own_tokens() && model_tokenizer.is_none() => None,
            _ if config.source.has_own_tokens() => Some(of_model(model_tokenizer, objective)?),
            Tokenizer::Initial(_) => Some(of_model(model_tokenizer, objective)?),
            Tokenizer::Bytes(_)
            | Tokenizer::Bpe(_)
            | Tokenizer::WordPiece(_)
            | Tokenizer::Words(_)
            | Tokenizer::File(_) => None,
        };
        let mut notes = Notes::default();
        let texts = split_texts(config, objective, (base_dir, reading), &mut notes, progress)?;
        let specials = objective.special_tokens();
        let tokenizer = match (&config.tokenizer, given_by_model) {
            (_, Some(tokenizer)) => tokenizer,
            _ if config.source.has_own_tokens() => symbols(specials, &ListOpsSource::SYMBOLS)?,
            (Tokenizer::Initial(_), None) => return Err(DataError::NoModelTokenizer),
            (Tokenizer::Bytes(_), None) => bytes(specials)?,
            (Tokenizer::Words(words), None) => words_of(specials, &texts.train, words.vocabulary, progress)?,
            (Tokenizer::File(file), None) => given(&base_dir.join(&file.path), objective)?,
            (Tokenizer::Bpe(trained), None) => TokenizerCache::new(cache_dir).get_or_train(
                &format!("bpe {} {}", trained.vocabulary, specials.cache_key),
                &texts.train,
                &mut notes.warnings,
                || bpe(&texts.train, trained.vocabulary, specials, progress),
            )?,
            (Tokenizer::WordPiece(trained), None) => TokenizerCache::new(cache_dir).get_or_train(
                &format!("word_piece {}", trained.vocabulary),
                &texts.train,
                &mut notes.warnings,
                || word_piece(&texts.train, trained.vocabulary, progress),
            )?,
        };
        let tokenizer = tokenizer.in_edition(reading.edition);
        let corpus = Self::from_texts(&texts, tokenizer, objective, notes, progress)?;
        let framing = reading.edition.pair_framing();
        let pair_rules = PairRules { long: long_pairs(&config.source), framing, start: None };
        let mut corpus = Self { pair_rules, ..corpus };
        if config.shuffled {
            corpus = corpus.shuffled();
        }
        Ok(corpus)
    }

    /// The same where each class counts as the task says in the training loss.
    ///
    /// # Errors
    /// If the task gives the weight of a class that is not there.
    pub fn weighted(mut self, task: Option<&TaskConfig>) -> Result<Self, DataError> {
        self.answers = match (self.answers, task) {
            (Some(answers), Some(task)) => Some(answers.weighted(task)?),
            (answers, _) => answers,
        };
        Ok(self)
    }

    /// The whole of `source` as held-out text, encoded with a model's own tokenizer; `train` stays empty. For
    /// evaluating a finished model on other text with [`super::HeldOut`]. Labels of a table are those of the model, where it
    /// is known what they are.
    pub fn load_held_out(
        source: &Source,
        tokenizer: TextTokenizer,
        objective: &Objective,
        (labels, reading): (Option<&Labels>, &Reading),
        base_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let mut notes = Notes::default();
        let validation = match source {
            Source::Table(table) => {
                notes.take(all_of_table(table, objective, labels, (base_dir, reading), progress)?).validation
            }
            Source::Squad(squad) => notes.take(all_questions(squad, base_dir, progress)?).validation,
            Source::ListOps(expressions) => {
                let mut found = generate_listops(expressions, progress)?;
                found.answers.train = found.answers.train.of_rows(&[]);
                notes.take(found).validation
            }
            other => all_texts(other, base_dir, &mut notes, progress)?,
        };
        let texts = Split { train: Documents::new(), validation };
        let corpus = Self::from_texts(&texts, tokenizer, objective, notes, progress)?;
        Ok(Self { pair_rules: PairRules { long: long_pairs(source), ..PairRules::default() }, ..corpus })
    }

    /// Images in place of text.
    fn load_images(
        config: &DataConfig,
        (base_dir, edition): (&Path, Edition),
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let mut corpus = Self::of_images(split_images(config, (base_dir, edition), progress)?)?;
        for part in [&mut corpus.statistics.train, &mut corpus.statistics.validation] {
            part.tokens = part.documents * config.sequence_length;
        }
        Ok(corpus)
    }

    /// The whole of a source of images as held-out images, of the shape that a model reads and made into numbers as it has it.
    ///
    /// # Errors
    /// If they cannot be read, have another shape, or classes that the model does not know.
    pub fn load_held_out_images(
        source: &Source,
        labels: (&Labels, &Reading),
        (shape, normalisation): (ImageShape, &Normalisation),
        base_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        Self::of_images(all_images(source, labels, (shape, normalisation), base_dir, progress)?)
    }

    fn of_images(Pictured { images, answers, files, warnings }: Pictured) -> Result<Self, DataError> {
        let (train, validation) = (TokenStream::empty(), TokenStream::empty());
        let (own, held_out) = ((&*images.train, &answers.train), (&*images.validation, &answers.validation));
        let part = |pixels: &[u8]| PartStatistics { documents: images.count(pixels), tokens: 0, bytes: pixels.len() };
        Ok(Self {
            train,
            validation,
            tokenizer: TextTokenizer::none()?,
            data_hash: images.hash(&[own, held_out], &answers.labels),
            held_out_hash: images.hash(&[held_out], &answers.labels),
            statistics: Statistics {
                train: part(&images.train),
                validation: part(&images.validation),
                files,
                skipped_files: 0,
            },
            pair_rules: PairRules::default(),
            answers: Some(answers),
            held_out_texts: None,
            images: Some(images),
            left_out: 0,
            warnings,
        })
    }

    /// Refuses text with a token that a model of `known` tokens does not have.
    ///
    /// # Errors
    /// If one is beyond it: the token, and its place.
    pub fn require_known(&self, known: usize) -> Result<(), DataError> {
        for (part, stream) in [("training", &self.train), ("validation", &self.validation)] {
            let Some(place) = stream.ids.iter().position(|id| *id as usize >= known) else { continue };
            let text = stream.ends.partition_point(|end| *end <= place);
            let start = text.checked_sub(1).and_then(|before| stream.ends.get(before)).copied().unwrap_or(0);
            let place = format!("token {} of text {} of the {part} text", place - start + 1, text + 1);
            let id = stream.ids.iter().copied().find(|id| *id as usize >= known).unwrap_or_default();
            return Err(self.tokenizer.beyond(id, place, known));
        }
        Ok(())
    }

    /// The text of its `tokenizer.json`; none where there are images.
    pub fn tokenizer_json(&self) -> Option<&str> {
        self.images.is_none().then(|| self.tokenizer.to_json())
    }

    fn from_texts(
        texts: &Split,
        tokenizer: TextTokenizer,
        objective: &Objective,
        notes: Notes,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let separator = objective.task().separator(tokenizer.specials());
        let Notes { files, skipped_files, answers, left_out, mut warnings } = notes;
        if separator.is_none() && !objective.task().reads_sources() && answers.is_none() {
            warnings
                .push("The tokenizer has no end-of-text token, so documents follow one another unmarked.".to_owned());
        }
        let total_bytes = (texts.train.bytes() + texts.validation.bytes()) as u64;
        if tokenizer.is_bytes() {
            memory::check_byte_tokens(total_bytes)?;
        }
        let mut encoder = Encoder::new(&tokenizer, separator, total_bytes, progress);
        let train = encoder.encode(&texts.train)?;
        let validation = encoder.encode(&texts.validation)?;
        // Questions have theirs with their answers, whose places are those of tokens.
        let are_rows = answers.as_ref().is_some_and(|own| !matches!(own.validation, Answers::Spans(_)));
        let mut held_out_hash = match &answers {
            Some(answers) if are_rows => held_out_rows_hash(&texts.validation, answers),
            _ => held_out_hash(&texts.validation, &tokenizer),
        };
        let answers = match answers {
            Some(answers) => Some(located(answers, [&train, &validation], &tokenizer, progress)?),
            None => None,
        };
        if validation.ids.len() < FEW_TOKENS && !train.ids.is_empty() && answers.is_none() {
            warnings.push(format!(
                "Only {} held out, so the validation loss will be noisy. Give more text or raise \
                 data.validation_fraction.",
                match validation.ids.len() {
                    1 => "1 token is".to_owned(),
                    count => format!("{} are", counted(count as u64, "token")),
                }
            ));
        }
        let mut data_hash = hash(texts, &tokenizer);
        if let Some(RowAnswers { labels, texts, train, validation }) = &answers {
            let of = |part: &[&Answers]| format!("{texts} {labels:?} {part:?}");
            data_hash = sha256_hex([data_hash.as_bytes(), of(&[train, validation]).as_bytes()]);
            if !are_rows {
                held_out_hash = sha256_hex([held_out_hash.as_bytes(), of(&[validation]).as_bytes()]);
            }
        }
        let count = |documents: &Documents, stream: &TokenStream| PartStatistics {
            documents: documents.len(),
            tokens: stream.ids.len(),
            bytes: documents.bytes(),
        };
        let statistics = Statistics {
            train: count(&texts.train, &train),
            validation: count(&texts.validation, &validation),
            files,
            skipped_files,
        };
        let pair_rules = PairRules::default();
        let held_out_texts = are_rows.then(|| Arc::new(texts.validation.clone()));
        Ok(Self {
            train,
            validation,
            tokenizer,
            data_hash,
            held_out_hash,
            statistics,
            pair_rules,
            answers,
            held_out_texts,
            images: None,
            left_out,
            warnings,
        })
    }

    /// The control of this text: every token but the special ones at a random place in its part, always the same one.
    /// Single tokens are as frequent as before and stand in documents of the same lengths.
    #[must_use]
    pub fn shuffled(mut self) -> Self {
        let marks: Vec<u32> = self.tokenizer.specials().all().collect();
        for (part, stream) in [&mut self.train, &mut self.validation].into_iter().enumerate() {
            let mut words: Vec<u32> = stream.ids.iter().copied().filter(|id| !marks.contains(id)).collect();
            Stream::new(SHUFFLE_SEED, Purpose::RandomTokens, part as u64).shuffle(&mut words);
            let mut words = words.into_iter();
            let place = |id: &u32| if marks.contains(id) { *id } else { words.next().unwrap_or(*id) };
            stream.ids = stream.ids.iter().map(place).collect();
        }
        if self.answers.is_some() {
            // What is shuffled are its tokens.
            self.held_out_hash = sha256_hex([self.held_out_hash.as_bytes(), self.tokenizer.to_json().as_bytes()]);
        }
        for hash in [&mut self.data_hash, &mut self.held_out_hash] {
            *hash = sha256_hex([hash.as_bytes(), b"shuffled"]);
        }
        self.held_out_texts = None;
        self
    }
}

/// What reading left behind beside the text.
#[derive(Default)]
struct Notes {
    files: usize,
    skipped_files: usize,
    answers: Option<RowAnswers>,
    left_out: usize,
    warnings: Vec<String>,
}

impl Notes {
    /// The texts of a table; all else is noted.
    fn take(&mut self, Labelled { texts, answers, files, warnings, left_out }: Labelled) -> Split {
        self.files += files;
        self.left_out += left_out;
        self.answers = Some(answers);
        self.warnings.extend(warnings);
        texts
    }
}

/// The pairs of texts that a config holds out of training, as they stand in their files: each text, then its translation.
///
/// # Errors
/// If they cannot be read, or the reading was stopped.
pub fn held_out_pairs(config: &DataConfig, base_dir: &Path, progress: &dyn Progress) -> Result<Documents, DataError> {
    let reading = Reading::default();
    let (objective, mut notes) = (Objective::TRANSLATION, Notes::default());
    Ok(split_texts(config, &objective, (base_dir, &reading), &mut notes, progress)?.validation)
}

/// All pairs of texts of a source, of two files or a table those that are not held out.
///
/// # Errors
/// If they cannot be read, or the reading was stopped.
pub fn all_pairs(source: &Source, base_dir: &Path, progress: &dyn Progress) -> Result<Documents, DataError> {
    all_texts(source, base_dir, &mut Notes::default(), progress)
}

fn split_texts(
    config: &DataConfig,
    objective: &Objective,
    (base_dir, reading): (&Path, &Reading),
    notes: &mut Notes,
    progress: &dyn Progress,
) -> Result<Split, DataError> {
    let fraction = config.validation_fraction;
    match &config.source {
        Source::File(file) => split_files(file, fraction, base_dir, notes, progress),
        Source::Pairs(pairs) => split_pairs(pairs, fraction, base_dir, notes, progress),
        Source::NumberWords(NumberWordsSource { pairs, text_seed }) => {
            generate_number_words(*pairs, *text_seed, fraction, progress)
        }
        Source::Table(table) => Ok(notes.take(split_table(table, objective, fraction, (base_dir, reading), progress)?)),
        Source::Squad(squad) => Ok(notes.take(split_questions(squad, fraction, base_dir, progress)?)),
        Source::ListOps(expressions) => Ok(notes.take(generate_listops(expressions, progress)?)),
        Source::Images(_) | Source::Pathfinder(_) => Ok(Split::default()),
        generated @ (Source::Grammar(_) | Source::Random(_)) => Ok(split(&generate(generated, progress)?, fraction)),
    }
}

fn all_texts(
    source: &Source,
    base_dir: &Path,
    notes: &mut Notes,
    progress: &dyn Progress,
) -> Result<Documents, DataError> {
    match source {
        Source::File(file) => read(&file.path, file, base_dir, notes, progress),
        Source::Pairs(pairs) => match PairFiles::of(pairs, base_dir).0 {
            Some(files) => read_pairs(&files, notes, progress),
            None => Ok(Documents::new()),
        },
        Source::NumberWords(NumberWordsSource { pairs, text_seed }) => all_number_words(*pairs, *text_seed, progress),
        // Read with their labels.
        Source::Table(_) | Source::Squad(_) | Source::Images(_) | Source::Pathfinder(_) | Source::ListOps(_) => {
            Ok(Documents::new())
        }
        generated @ (Source::Grammar(_) | Source::Random(_)) => generate(generated, progress),
    }
}

fn generate(source: &Source, progress: &dyn Progress) -> Result<Documents, DataError> {
    advance(progress, Stage::Generating, 0, 1)?;
    match source {
        Source::Grammar(source) => generate_grammar(source.words, source.text_seed, progress),
        Source::Random(source) => generate_random(source.words, source.text_seed, progress),
        Source::File(_)
        | Source::Pairs(_)
        | Source::NumberWords(_)
        | Source::Table(_)
        | Source::Squad(_)
        | Source::Images(_)
        | Source::Pathfinder(_)
        | Source::ListOps(_) => Ok(Documents::new()),
    }
}

fn long_pairs(source: &Source) -> LongPairs {
    match source {
        Source::Pairs(pairs) => pairs.long,
        Source::File(_)
        | Source::Grammar(_)
        | Source::Random(_)
        | Source::NumberWords(_)
        | Source::Table(_)
        | Source::Squad(_)
        | Source::Images(_)
        | Source::Pathfinder(_)
        | Source::ListOps(_) => LongPairs::default(),
    }
}

fn split_pairs(
    source: &PairsSource,
    fraction: f64,
    base_dir: &Path,
    notes: &mut Notes,
    progress: &dyn Progress,
) -> Result<Split, DataError> {
    let (train, validation) = PairFiles::of(source, base_dir);
    let Some(files) = train else { return Ok(Split::default()) };
    let train = read_pairs(&files, notes, progress)?;
    let Some(files) = validation else { return Ok(split_in_pairs(&train, fraction)) };
    let validation = read_pairs(&files, notes, progress)?;
    let pairs = |documents: &Documents| documents.len() / 2;
    let pair = |documents: &Documents, number: usize| {
        let side = |place: usize| documents.get(place).unwrap_or_default().to_owned();
        (side(2 * number), side(2 * number + 1))
    };
    let known: std::collections::HashSet<_> = (0..pairs(&train)).map(|number| pair(&train, number)).collect();
    let seen = (0..pairs(&validation)).filter(|number| known.contains(&pair(&validation, *number))).count();
    if seen > 0 {
        notes.warnings.push(format!(
            "{seen} of {} held-out pairs are among those for training too, so the validation loss is too good: {}",
            pairs(&validation),
            files.paths().first().map(|path| path.display().to_string()).unwrap_or_default()
        ));
    }
    Ok(Split { train, validation })
}

fn read_pairs(files: &PairFiles, notes: &mut Notes, progress: &dyn Progress) -> Result<Documents, DataError> {
    let pairs = load_pairs(files, progress)?;
    notes.files += files.paths().len();
    Ok(pairs)
}

fn split_files(
    file: &FileSource,
    fraction: f64,
    base_dir: &Path,
    notes: &mut Notes,
    progress: &dyn Progress,
) -> Result<Split, DataError> {
    let train = read(&file.path, file, base_dir, notes, progress)?;
    match &file.validation_path {
        None => Ok(split(&train, fraction)),
        Some(path) => {
            let validation = read(path, file, base_dir, notes, progress)?;
            let known: std::collections::HashSet<&str> = train.iter().map(str::trim).collect();
            let seen = validation.iter().filter(|text| known.contains(text.trim())).count();
            if seen > 0 {
                notes.warnings.push(format!(
                    "{seen} of {} validation documents are in the training text too, so the validation loss is \
                     too good: {}",
                    validation.len(),
                    path.display()
                ));
            }
            Ok(Split { train, validation })
        }
    }
}

fn read(
    path: &Path,
    file: &FileSource,
    base_dir: &Path,
    notes: &mut Notes,
    progress: &dyn Progress,
) -> Result<Documents, DataError> {
    let loaded = load_files(&base_dir.join(path), file.field.as_deref(), file.column.as_deref(), progress)?;
    notes.files += loaded.files;
    notes.skipped_files += loaded.skipped_files;
    let number = file.column.as_deref().and_then(|column| column.trim().parse::<usize>().ok());
    if let (Some(number), Some(first)) = (number, &loaded.first_cell) {
        notes.warnings.push(format!(
            "Columns of data.column are counted from 1, so that {number} begins with `{}`: {}",
            cell(first),
            path.display()
        ));
    }
    Ok(loaded.documents)
}

fn hash(texts: &Split, tokenizer: &TextTokenizer) -> String {
    let parts = [tokenizer.to_json().as_bytes(), b"train"]
        .into_iter()
        .chain(texts.train.iter().map(str::as_bytes))
        .chain([b"validation".as_slice()])
        .chain(texts.validation.iter().map(str::as_bytes));
    sha256_hex(parts)
}

fn held_out_hash(validation: &Documents, tokenizer: &TextTokenizer) -> String {
    sha256_hex([tokenizer.to_json().as_bytes()].into_iter().chain(validation.iter().map(str::as_bytes)))
}

/// Before the places of tokens are known, which differ between tokenizers.
fn held_out_rows_hash(rows: &Documents, answers: &RowAnswers) -> String {
    let RowAnswers { labels, texts, validation, .. } = answers;
    let answers = format!("{texts} {labels:?} {validation:?}");
    sha256_hex([b"rows".as_slice(), answers.as_bytes()].into_iter().chain(rows.iter().map(str::as_bytes)))
}

#[cfg(test)]
mod tests;
