use std::path::Path;
use std::sync::Arc;

use super::cache::TokenizerCache;
use super::dataset::{Dataset, TokenParts};
use super::encode::Encoder;
use super::hash::sha256_hex;
use super::questions::located;
use super::rng::{Purpose, Stream};
use super::row_answers::RowAnswers;
use super::source::{Content, Examples, KnownModel, LoadContext, reader};
use super::tokenizer::{bpe, bytes, given, of_model, symbols, word_piece, words_of};
use super::{
    DataError, Documents, ImageCorpus, Normalisation, PairRules, Progress, Reading, Split, TextTokenizer, memory,
};
use crate::config::{DataConfig, ImageShape, Source, TaskConfig, Tokenizer, counted};
use crate::objective::{Answers, Labels, LearnedTask, Objective};

/// Seeds the order of shuffled text, the same for every run so that runs can be compared.
const SHUFFLE_SEED: u64 = 0x7368_7566_666c_6564;

/// Fewer held-out tokens than this give a noisy validation loss.
const FEW_TOKENS: usize = 2000;

/// Examples of one source, ready to be cut into batches.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The examples.
    pub dataset: Dataset,
    /// Made the tokens; without any where there are images.
    pub tokenizer: TextTokenizer,
    /// Lower-case hex SHA-256 over the examples of both parts and the tokenizer: equal hashes, equal tokens.
    pub data_hash: String,
    /// The same over the held-out examples and the tokenizer alone: equal hashes, comparable losses. Where each example has one
    /// label or number, its loss knows no tokens: then it is over the texts and the answers, whatever the tokenizer. Runs from before that
    /// was so keep a hash with the tokenizer, so that they are compared among themselves only.
    pub held_out_hash: String,
    /// How much there is.
    pub statistics: Statistics,
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
        let context = LoadContext { objective, reading, base_dir, progress };
        let source = reader(&config.source);
        // Before text is read for it.
        let given_by_model = match &config.tokenizer {
            _ if config.source.has_images() => None,
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
        let mut found = source.split(config.validation_fraction, context)?;
        let Some(train) = found.content.training_texts() else {
            let mut corpus = Self::of_examples(found, TextTokenizer::none()?, objective, progress)?;
            for part in [&mut corpus.statistics.train, &mut corpus.statistics.validation] {
                part.tokens = part.documents * config.sequence_length;
            }
            return Ok(corpus);
        };
        let warnings = &mut found.warnings;
        let specials = objective.special_tokens();
        let tokenizer = match (&config.tokenizer, given_by_model) {
            (_, Some(tokenizer)) => tokenizer,
            _ if config.source.has_own_tokens() => symbols(specials, config.source.facts().symbols)?,
            (Tokenizer::Initial(_), None) => return Err(DataError::NoModelTokenizer),
            (Tokenizer::Bytes(_), None) => bytes(specials)?,
            (Tokenizer::Words(words), None) => words_of(specials, train, words.vocabulary, progress)?,
            (Tokenizer::File(file), None) => given(&base_dir.join(&file.path), objective)?,
            (Tokenizer::Bpe(trained), None) => TokenizerCache::new(cache_dir).get_or_train(
                &format!("bpe {} {}", trained.vocabulary, specials.cache_key),
                train,
                warnings,
                || bpe(train, trained.vocabulary, specials, progress),
            )?,
            (Tokenizer::WordPiece(trained), None) => TokenizerCache::new(cache_dir).get_or_train(
                &format!("word_piece {}", trained.vocabulary),
                train,
                warnings,
                || word_piece(train, trained.vocabulary, progress),
            )?,
        };
        let tokenizer = tokenizer.in_edition(reading.edition);
        let mut corpus = Self::of_examples(found, tokenizer, objective, progress)?;
        if let Dataset::Pairs { rules, .. } = &mut corpus.dataset {
            rules.framing = reading.edition.pair_framing();
        }
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
        if let Dataset::Rows { answers, .. } | Dataset::Spans { answers, .. } | Dataset::Images { answers, .. } =
            &mut self.dataset
            && let Some(task) = task
        {
            answers.weigh(task)?;
        }
        Ok(self)
    }

    /// Answers of its examples, where they have some.
    pub fn answers(&self) -> Option<&RowAnswers> {
        self.dataset.answers()
    }

    /// Labels that its examples may have, where they have some.
    pub fn labels(&self) -> Option<&Labels> {
        self.answers().map(|answers| &answers.labels)
    }

    /// Its images, where it has some.
    pub fn images(&self) -> Option<&ImageCorpus> {
        self.dataset.images()
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
        let context = LoadContext { objective, reading, base_dir, progress };
        let found = reader(source).all(KnownModel { labels, images: None }, context)?;
        Self::of_examples(found, tokenizer, objective, progress)
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
        let (labels, reading) = labels;
        let objective = &labels.objective();
        let model = KnownModel { labels: Some(labels), images: Some((shape, normalisation)) };
        let found = reader(source).all(model, LoadContext { objective, reading, base_dir, progress })?;
        Self::of_examples(found, TextTokenizer::none()?, objective, progress)
    }

    /// Refuses text with a token that a model of `known` tokens does not have.
    ///
    /// # Errors
    /// If one is beyond it: the token, and its place.
    pub fn require_known(&self, known: usize) -> Result<(), DataError> {
        let Some(TokenParts { train, validation }) = self.dataset.tokens() else { return Ok(()) };
        for (part, stream) in [("training", train), ("validation", validation)] {
            let beyond = stream.ids.iter().enumerate().find(|(_, id)| **id as usize >= known);
            let Some((place, id)) = beyond else { continue };
            let text = stream.ends.partition_point(|end| *end <= place);
            let start = if text == 0 { 0 } else { stream.ends[text - 1] };
            let place = format!("token {} of text {} of the {part} text", place - start + 1, text + 1);
            return Err(self.tokenizer.beyond(*id, place, known));
        }
        Ok(())
    }

    /// The text of its `tokenizer.json`; none where there are images.
    pub fn tokenizer_json(&self) -> Option<&str> {
        self.images().is_none().then(|| self.tokenizer.to_json())
    }

    /// Examples of a source as models read them.
    fn of_examples(
        found: Examples,
        tokenizer: TextTokenizer,
        objective: &Objective,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let Examples { content, files, skipped_files, left_out, mut warnings } = found;
        let encode = |texts: &Split| encoded(texts, &tokenizer, objective, progress);
        let (dataset, [train, validation], [data_hash, held_out_hash]) = match content {
            Content::Text(texts) => {
                let (tokens, counts) = encode(&texts)?;
                warnings.extend(warnings_of(&tokens, &tokenizer, objective));
                (Dataset::Text { tokens }, counts, [hash(&texts, &tokenizer), held_out_hash(&texts, &tokenizer)])
            }
            Content::Pairs(texts, long) => {
                let (tokens, counts) = encode(&texts)?;
                warnings.extend(warnings_of(&tokens, &tokenizer, objective));
                let rules = PairRules { long, ..PairRules::default() };
                let hashes = [hash(&texts, &tokenizer), held_out_hash(&texts, &tokenizer)];
                (Dataset::Pairs { tokens, rules }, counts, hashes)
            }
            Content::Rows(texts, answers) => {
                let (tokens, counts) = encode(&texts)?;
                let all = [&answers.train, &answers.validation];
                let hashes = [
                    with_answers(&hash(&texts, &tokenizer), &answers, &all),
                    held_out_rows_hash(&texts.validation, &answers),
                ];
                let held_out_texts = Some(Arc::new(texts.validation));
                (Dataset::Rows { tokens, answers, held_out_texts }, counts, hashes)
            }
            Content::Spans(texts, answers) => {
                let (tokens, counts) = encode(&texts)?;
                // Answers are places of tokens.
                let answers = located(answers, [&tokens.train, &tokens.validation], &tokenizer, progress)?;
                let all = [&answers.train, &answers.validation];
                let hashes = [
                    with_answers(&hash(&texts, &tokenizer), &answers, &all),
                    with_answers(&held_out_hash(&texts, &tokenizer), &answers, &[&answers.validation]),
                ];
                (Dataset::Spans { tokens, answers }, counts, hashes)
            }
            Content::Images(images, answers) => {
                let (own, held_out) = ((&*images.train, &answers.train), (&*images.validation, &answers.validation));
                let hashes =
                    [images.hash(&[own, held_out], &answers.labels), images.hash(&[held_out], &answers.labels)];
                let counts = [&images.train, &images.validation].map(|pixels| PartStatistics {
                    documents: images.count(pixels),
                    tokens: 0,
                    bytes: pixels.len(),
                });
                (Dataset::Images { images, answers }, counts, hashes)
            }
        };
        let statistics = Statistics { train, validation, files, skipped_files };
        Ok(Self { dataset, tokenizer, data_hash, held_out_hash, statistics, left_out, warnings })
    }

    /// The control of this text: every token but the special ones at a random place in its part, always the same one.
    /// Single tokens are as frequent as before and stand in documents of the same lengths.
    #[must_use]
    pub fn shuffled(mut self) -> Self {
        let (Dataset::Text { tokens }
        | Dataset::Pairs { tokens, .. }
        | Dataset::Rows { tokens, .. }
        | Dataset::Spans { tokens, .. }) = &mut self.dataset
        else {
            return self;
        };
        let marks: Vec<u32> = self.tokenizer.specials().all().collect();
        for (part, stream) in [&mut tokens.train, &mut tokens.validation].into_iter().enumerate() {
            let mut words: Vec<u32> = stream.ids.iter().copied().filter(|id| !marks.contains(id)).collect();
            Stream::new(SHUFFLE_SEED, Purpose::RandomTokens, part as u64).shuffle(&mut words);
            let mut words = words.into_iter();
            let place = |id: &u32| if marks.contains(id) { *id } else { words.next().unwrap_or(*id) };
            stream.ids = stream.ids.iter().map(place).collect();
        }
        if self.answers().is_some() {
            // What is shuffled are its tokens.
            self.held_out_hash = sha256_hex([self.held_out_hash.as_bytes(), self.tokenizer.to_json().as_bytes()]);
        }
        for hash in [&mut self.data_hash, &mut self.held_out_hash] {
            *hash = sha256_hex([hash.as_bytes(), b"shuffled"]);
        }
        if let Dataset::Rows { held_out_texts, .. } = &mut self.dataset {
            *held_out_texts = None;
        }
        self
    }
}

/// The tokens of texts, and how many there are.
fn encoded(
    texts: &Split,
    tokenizer: &TextTokenizer,
    objective: &Objective,
    progress: &dyn Progress,
) -> Result<(TokenParts, [PartStatistics; 2]), DataError> {
    let total_bytes = (texts.train.bytes() + texts.validation.bytes()) as u64;
    if tokenizer.is_bytes() {
        memory::check_byte_tokens(total_bytes)?;
    }
    let separator = objective.task().separator(tokenizer.specials());
    let mut encoder = Encoder::new(tokenizer, separator, total_bytes, progress);
    let train = encoder.encode(&texts.train)?;
    let validation = encoder.encode(&texts.validation)?;
    let counts = [(&texts.train, &train), (&texts.validation, &validation)].map(|(documents, stream)| PartStatistics {
        documents: documents.len(),
        tokens: stream.ids.len(),
        bytes: documents.bytes(),
    });
    Ok((TokenParts { train, validation }, counts))
}

/// Notes for the user on plain text or pairs.
fn warnings_of(tokens: &TokenParts, tokenizer: &TextTokenizer, objective: &Objective) -> Vec<String> {
    let mut warnings = Vec::new();
    if objective.task().separator(tokenizer.specials()).is_none() && !objective.task().reads_sources() {
        warnings.push("The tokenizer has no end-of-text token, so documents follow one another unmarked.".to_owned());
    }
    let held_out = tokens.validation.ids.len();
    if held_out < FEW_TOKENS && !tokens.train.ids.is_empty() {
        warnings.push(format!(
            "Only {} held out, so the validation loss will be noisy. Give more text or raise \
             data.validation_fraction.",
            match held_out {
                1 => "1 token is".to_owned(),
                count => format!("{} are", counted(count as u64, "token")),
            }
        ));
    }
    warnings
}

fn hash(texts: &Split, tokenizer: &TextTokenizer) -> String {
    let parts = [tokenizer.to_json().as_bytes(), b"train"]
        .into_iter()
        .chain(texts.train.iter().map(str::as_bytes))
        .chain([b"validation".as_slice()])
        .chain(texts.validation.iter().map(str::as_bytes));
    sha256_hex(parts)
}

fn held_out_hash(texts: &Split, tokenizer: &TextTokenizer) -> String {
    sha256_hex([tokenizer.to_json().as_bytes()].into_iter().chain(texts.validation.iter().map(str::as_bytes)))
}

/// A hash of texts with the answers of some parts of them.
fn with_answers(hash: &str, RowAnswers { texts, labels, .. }: &RowAnswers, parts: &[&Answers]) -> String {
    sha256_hex([hash.as_bytes(), format!("{texts} {labels:?} {parts:?}").as_bytes()])
}

/// Before the places of tokens are known, which differ between tokenizers.
fn held_out_rows_hash(rows: &Documents, answers: &RowAnswers) -> String {
    let RowAnswers { labels, texts, validation, .. } = answers;
    let answers = format!("{texts} {labels:?} {validation:?}");
    sha256_hex([b"rows".as_slice(), answers.as_bytes()].into_iter().chain(rows.iter().map(str::as_bytes)))
}

#[cfg(test)]
mod tests;
