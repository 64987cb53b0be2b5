//! How well a model that learns the built-in grammar has words agree, by the grammar's own checker.

use std::sync::OnceLock;

use candle_core::{D, DType};

use super::{
    TrainError,
    writing::{fastest_cache, goes_on},
};
use crate::{
    config::DataConfig,
    data::{Agreement, Checker, Passage, TextTokenizer},
    generate::{Ending, GenerateError, Marks, Search, generate},
    model::{Model, ModelError},
    objective::{
        Batch, IGNORED, LearnedTask, Measurements, Objective, Showing,
        agreement::{FILLED_IN, WRITTEN},
    },
};

/// Texts that a decoder writes, each from the beginning of a document.
const TEXTS: usize = 32;
/// Tokens of each, at most.
const TOKENS: usize = 96;
/// How tokens are drawn: as in the samples that a run shows.
const TEMPERATURE: f64 = 0.8;
const TOP_K: usize = 40;
/// The same for every run, so that runs can be compared.
const SEED: u64 = 0x6167_7265_656d_656e;
/// Batches whose hidden words are looked at, at most.
const BATCHES: usize = 64;

/// Measures agreement in what a model writes or fills in. It draws from a stream of its own and changes nothing of a run.
pub struct AgreementMeasure {
    checker: Checker,
    tokenizer: TextTokenizer,
    shows: Showing,
    /// Tokens that examples have.
    sequence: usize,
    gaps: OnceLock<Vec<Gaps>>,
}

/// Hidden words of a batch that the grammar determines.
struct Gaps {
    batch: Batch,
    gaps: Vec<Gap>,
}

/// A hidden word that the grammar determines.
struct Gap {
    /// Its token, counted over the whole batch.
    token: u32,
    /// Its part of a document, with the right words.
    passage: Passage,
    /// Its place in there.
    at: usize,
}

impl AgreementMeasure {
    /// What measures models of an objective on this text; none where the text is not the built-in grammar's.
    ///
    /// # Errors
    /// If the grammar is broken.
    pub fn new(
        data: &DataConfig,
        objective: &Objective,
        tokenizer: &TextTokenizer,
    ) -> Result<Option<Self>, TrainError> {
        let shows = objective.task().showing();
        let writes = match shows {
            Showing::Continuation | Showing::FilledIn => true,
            Showing::Translated | Showing::Answered => false,
        };
        if !data.source.facts().follows_grammar || data.shuffled || !writes {
            return Ok(None);
        }
        let (checker, tokenizer) = (Checker::english()?, tokenizer.clone());
        let gaps = OnceLock::new();
        Ok(Some(Self { checker, tokenizer, shows, sequence: data.sequence_length, gaps }))
    }

    /// The metrics of a model, of which those are left out for which it gave nothing to check. `batches` are held-out
    /// examples, always the same ones. `None` when `should_stop` cut it short.
    ///
    /// # Errors
    /// If the model cannot be computed.
    pub fn measure(
        &self,
        model: &Model,
        batches: impl Iterator<Item = Batch>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Measurements>, TrainError> {
        match self.shows {
            Showing::Continuation => self.written(model, should_stop),
            Showing::FilledIn => self.filled_in(model, batches, should_stop),
            Showing::Translated | Showing::Answered => Ok(Some(Measurements::default())),
        }
    }

    /// Of texts that the model writes.
    fn written(&self, model: &Model, should_stop: &dyn Fn() -> bool) -> Result<Option<Measurements>, TrainError> {
        let Some(end) = self.tokenizer.specials().end_of_text else { return Ok(Some(Measurements::default())) };
        let marks = Marks { end: vec![end], ..Marks::default() };
        let search = Search {
            cache: fastest_cache(model),
            max_new_tokens: TOKENS.min(self.sequence),
            temperature: TEMPERATURE,
            top_k: Some(TOP_K),
            seed: SEED,
            ..Search::default()
        };
        let beginnings = vec![vec![end]; TEXTS];
        let written =
            match generate(model, &beginnings, &marks, &search, None, |progress| goes_on(&progress, should_stop)) {
                Ok(written) => written,
                // A model that has diverged writes nothing; its loss says so.
                Err(GenerateError::NotFinite) => return Ok(Some(Measurements::default())),
                Err(error) => return Err(error.into()),
            };
        let mut found = Agreement::default();
        for text in written.texts {
            if text.ending == Ending::Stopped {
                return Ok(None);
            }
            found.add(&self.checker.read(&self.tokenizer.decode(&text.tokens)?));
        }
        if found.sentences == 0 {
            return Ok(Some(Measurements::default()));
        }
        let all = found.all();
        let sentences = found.right as f64 / found.sentences as f64;
        // Where no word had to agree with another, no sentence was one.
        let agreement = if all.checked == 0 { 0.0 } else { all.agreeing as f64 / all.checked as f64 };
        Ok(Some(Measurements::of_values(WRITTEN, [agreement, sentences])))
    }

    /// Of hidden words that the model fills in.
    fn filled_in(
        &self,
        model: &Model,
        batches: impl Iterator<Item = Batch>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Measurements>, TrainError> {
        let all = self.gaps.get_or_init(|| batches.take(BATCHES).map(|batch| self.gaps_of(batch)).collect());
        let (mut right, mut determined) = (0_u64, 0_u64);
        for Gaps { batch, gaps } in all.iter().filter(|batch| !batch.gaps.is_empty()) {
            if should_stop() {
                return Ok(None);
            }
            let places: Vec<u32> = gaps.iter().map(|gap| gap.token).collect();
            let logits = model.logits_at(&batch.input(model)?, &places)?;
            let best = logits.to_dtype(DType::F32).and_then(|logits| logits.argmax(D::Minus1)?.to_vec1::<u32>());
            for (gap, best) in gaps.iter().zip(best.map_err(ModelError::from)?) {
                let word = self.piece(best).filter(|piece| piece.begins);
                right +=
                    u64::from(word.is_some_and(|word| self.checker.has_right_form(&gap.passage, gap.at, &word.text)));
            }
            determined += gaps.len() as u64;
        }
        if determined == 0 {
            return Ok(Some(Measurements::default()));
        }
        Ok(Some(Measurements::of_values(FILLED_IN, [right as f64 / determined as f64])))
    }

    /// The hidden words of a batch that the grammar determines.
    fn gaps_of(&self, batch: Batch) -> Gaps {
        let mut gaps = Vec::new();
        let rows = batch.input_ids.chunks(batch.sequence.max(1)).zip(batch.labels.chunks(batch.sequence.max(1)));
        for (row, (ids, labels)) in rows.enumerate() {
            let tokens = batch.tokens_of(row);
            let first = (row * batch.sequence) as u32;
            for part in self.parts(ids.split_at(tokens.min(ids.len())).0, labels) {
                let words: Vec<String> = part.words.iter().map(|word| word.text.clone()).collect();
                let hidden: Vec<bool> = part.words.iter().map(|word| word.is_hidden).collect();
                let passage = Passage::new(&words, part.begins);
                for at in self.checker.determined(&passage, &hidden) {
                    if let Some(token) = part.words.get(at).and_then(|word| word.mask) {
                        gaps.push(Gap { token: first + token, passage: passage.clone(), at });
                    }
                }
            }
        }
        Gaps { batch, gaps }
    }

    /// The words of an example as they stand in the text, document by document.
    fn parts(&self, ids: &[u32], labels: &[i64]) -> Vec<Part> {
        let specials = self.tokenizer.specials();
        let mut parts = vec![Part::default()];
        for (token, (id, label)) in (0..).zip(ids.iter().zip(labels)) {
            let is_hidden = *label != IGNORED;
            let right = u32::try_from(*label).unwrap_or(*id);
            if specials.all().any(|special| special == right) {
                // What ends one document begins the next; what an example begins with says nothing.
                let begins = specials.cls != Some(right);
                parts.push(Part { begins, ..Part::default() });
                continue;
            }
            let (Some(part), Some(piece)) = (parts.last_mut(), self.piece(right)) else { continue };
            match part.words.last_mut() {
                Some(word) if !piece.begins => {
                    word.text.push_str(&piece.text);
                    word.is_hidden |= is_hidden;
                    word.mask = None;
                }
                _ => {
                    let mask = (is_hidden && specials.mask == Some(*id)).then_some(token);
                    part.words.push(Word { text: piece.text, is_hidden, mask });
                }
            }
        }
        parts
    }

    /// A token as a part of a word; none where the vocabulary does not have it.
    fn piece(&self, id: u32) -> Option<Piece> {
        let token = self.tokenizer.token(id)?;
        let piece = |text: &str, begins| Some(Piece { text: text.to_owned(), begins });
        if let Some(rest) = token.strip_prefix("##") {
            return piece(rest, false);
        }
        // Vocabularies of bytes spell the blank before a word.
        if let Some(rest) = token.strip_prefix('\u{120}') {
            return piece(rest, true);
        }
        let is_mark = token.starts_with(|letter: char| !letter.is_alphabetic());
        piece(&token, is_mark || !self.spells_blanks())
    }

    fn spells_blanks(&self) -> bool {
        self.tokenizer.id("\u{120}the").is_some() || self.tokenizer.is_bytes()
    }
}

/// Words of one document in an example.
#[derive(Default)]
struct Part {
    words: Vec<Word>,
    begins: bool,
}

struct Word {
    text: String,
    is_hidden: bool,
    /// The mask in its place, where one stands for the whole word.
    mask: Option<u32>,
}

struct Piece {
    text: String,
    begins: bool,
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::{
        attention::ModelPlan,
        config::{FileSource, ModelKind, RunConfig, Source, from_toml},
        data::{Corpus, HeldOut, Silent},
        model::ParameterSet,
    };

    fn go() -> bool {
        false
    }

    #[test]
    fn it_is_told_of_how_many_texts_agreement_is() {
        let words = format!("in {TEXTS} texts");
        assert!(WRITTEN.iter().all(|metric| metric.formula.contains(&words)));
    }

    /// A model that has learnt nothing, with what measures it and held-out examples.
    fn untrained(kind: ModelKind, tokenizer: &str) -> (Model, AgreementMeasure, HeldOut) {
        let mut config: RunConfig =
            from_toml(&format!("format = 1\n[data]\nkind = \"grammar\"\nwords = 60000\ntokenizer = {tokenizer}"))
                .unwrap();
        (config.model.kind, config.model.layers, config.model.heads) = (kind, 1, 2);
        (config.model.width, config.model.feed_forward, config.data.sequence_length) = (16, 16, 64);
        let folder = tempfile::TempDir::new().unwrap();
        let objective = config.objective();
        let corpus = Corpus::load(&config.data, &objective, folder.path(), folder.path(), &Silent).unwrap();
        let plan = ModelPlan::resolve(&config, corpus.tokenizer.vocabulary_size()).unwrap();
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        let measure = AgreementMeasure::new(&config.data, &objective, &corpus.tokenizer).unwrap().unwrap();
        let held_out = HeldOut::new(&corpus, &objective, 8, 64).unwrap();
        (Model::frozen(&plan, &parameters).unwrap(), measure, held_out)
    }

    #[test]
    fn what_a_decoder_writes_is_measured_and_the_same_each_time() {
        let (model, measure, held_out) = untrained(ModelKind::Decoder, r#"{ kind = "bpe", vocabulary = 400 }"#);
        let found = measure.measure(&model, held_out.batches(8), &go).unwrap().unwrap();
        assert_eq!(found, measure.measure(&model, held_out.batches(8), &go).unwrap().unwrap());
        for one in found.iter() {
            assert!((0.0..0.9).contains(&one.value), "it has learnt nothing: {found:?}");
        }
        assert!(measure.measure(&model, held_out.batches(8), &|| true).unwrap().is_none());
    }

    #[test]
    fn gaps_are_masked_words_that_the_grammar_determines() {
        for tokenizer in [r#"{ kind = "word_piece", vocabulary = 1500 }"#, r#"{ kind = "bpe", vocabulary = 1500 }"#] {
            let (model, measure, held_out) = untrained(ModelKind::Encoder, tokenizer);
            let (mut masked, mut found) = (0, 0);
            for batch in held_out.batches(32) {
                let mask = measure.tokenizer.specials().mask.unwrap();
                masked += batch.input_ids.iter().filter(|id| **id == mask).count();
                let Gaps { batch, gaps } = measure.gaps_of(batch);
                for gap in gaps {
                    assert_eq!(batch.input_ids[gap.token as usize], mask);
                    let right = measure.tokenizer.decode(&[batch.labels[gap.token as usize] as u32]).unwrap();
                    let right = right.trim().to_lowercase();
                    assert!(measure.checker.has_right_form(&gap.passage, gap.at, &right), "{right}");
                    found += 1;
                }
            }
            assert!(found * 100 > masked * 5, "{found} of {masked} with {tokenizer}");
            let share = measure.measure(&model, held_out.batches(32), &go).unwrap().unwrap();
            assert!(share.iter().all(|one| one.value < 0.3), "{share:?}");
            assert_eq!(share.iter().count(), 1);
        }
    }

    #[test]
    fn other_text_is_not_measured() {
        let (_, measure, _) = untrained(ModelKind::Decoder, r#"{ kind = "bpe", vocabulary = 400 }"#);
        let (mut data, objective) = (DataConfig::default(), Objective::NEXT_TOKEN);
        let is_measured = |data: &DataConfig, objective: &Objective| {
            AgreementMeasure::new(data, objective, &measure.tokenizer).unwrap().is_some()
        };
        assert!(is_measured(&data, &objective) && !is_measured(&data, &Objective::TRANSLATION));
        data.shuffled = true;
        assert!(!is_measured(&data, &objective));
        data = DataConfig { source: Source::File(FileSource::default()), ..DataConfig::default() };
        assert!(!is_measured(&data, &objective));
    }
}
