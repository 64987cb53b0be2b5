//! A model that reads sources and writes texts: what tokens mean to it.

use candle_core::{DType, Device};

use super::{
    context::JobContext,
    error::JobError,
    subject::{self, Subject},
};
use crate::{
    attention::ModelPlan,
    checkpoint::{self, GenerationConfig},
    config::{DataConfig, Precision},
    data::{DataError, PairFraming, TextTokenizer},
    generate::{Marks, SearchSettings},
    model::{Model, ParameterSet, dtype},
    protocol::{GenerateSource, Target},
    store::Store,
};

/// Examples among which [`GenerateSource::HeldOut`] chooses, spread evenly over the held-out text.
const EXAMPLES: usize = 16;

/// Who reads sources and writes texts.
pub(crate) struct TextModel {
    pub(crate) plan: ModelPlan,
    parameters: ParameterSet,
    tokenizer: Option<TextTokenizer>,
    pub(crate) marks: Marks,
    /// Keys of its `generation_config.json` that have no effect.
    pub(crate) unused_settings: Vec<String>,
    /// Settings of a search that it comes with.
    pub(crate) search: SearchSettings,
    /// What it was trained on, as the config says that lies in its directory.
    pub(crate) trained_on: Option<DataConfig>,
}

/// A source as an encoder reads it.
pub(crate) struct Encoded {
    pub(crate) tokens: Vec<u32>,
    /// Whether the tokenizer did not know something in it.
    pub(crate) has_unknown: bool,
    /// Whether it was longer than the model's positions.
    pub(crate) is_cut: bool,
}

impl TextModel {
    /// Loads a model.
    ///
    /// # Errors
    /// If it is not there, or its tokenizer is another model's.
    pub(crate) fn open(context: &JobContext, target: &Target) -> Result<Self, JobError> {
        let (directory, ..) = subject::open(&context.store, target).map_err(JobError::refusal)?;
        let loaded = checkpoint::load_model_dir(&directory, DType::F32, &Device::Cpu);
        let loaded = loaded.map_err(|error| JobError::refusal(error.to_string()))?;
        context.send_notes(&loaded);
        let (plan, generation) = (loaded.plan, loaded.generation);
        let GenerationConfig { mut marks, search, unused: unused_settings } = generation;
        let tokenizer = loaded.tokenizer_json.as_deref().map(TextTokenizer::from_json).transpose();
        let tokenizer = tokenizer.map_err(|error| JobError::refusal(error.to_string()))?;
        if let (true, Some(tokenizer)) = (marks.end.is_empty(), &tokenizer) {
            marks.end.extend(tokenizer.specials().end_of_text);
        }
        let trained_on = loaded.config.map(|config| config.data);
        Ok(Self { plan, parameters: loaded.parameters, tokenizer, marks, unused_settings, search, trained_on })
    }

    /// The model in a number format.
    ///
    /// # Errors
    /// If its weights do not fit its plan.
    pub(crate) fn model(&self, precision: Precision) -> Result<Model, JobError> {
        let model = match dtype(precision) {
            DType::F32 => Model::frozen(&self.plan, &self.parameters),
            other => Model::frozen_in(&self.plan, &self.parameters, other),
        };
        model.map_err(|error| JobError::failure(error.to_string()))
    }

    /// What a decoder after an encoder begins with.
    pub(crate) fn start(&self) -> Option<u32> {
        self.marks.start.filter(|_| self.plan.encoder.is_some())
    }

    /// The tokens of all sources. What is held out is read of the text that `target` was evaluated on.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub(crate) fn read_all(
        &self,
        store: &Store,
        target: &Target,
        sources: &[GenerateSource],
    ) -> Result<Vec<Vec<u32>>, JobError> {
        let mut subject = None;
        let mut all = Vec::with_capacity(sources.len());
        for (number, source) in (1..).zip(sources) {
            let GenerateSource::HeldOut { number: example, tokens } = source else {
                all.push(self.read(source, number, sources.len())?);
                continue;
            };
            let subject = match &mut subject {
                Some(subject) => subject,
                none => none.insert(with_text(store, target)?),
            };
            let found = subject.beginnings(EXAMPLES, Some(*tokens)).map_err(JobError::refusal)?;
            let place = example % found.len().max(1);
            all.extend(found.into_iter().nth(place));
        }
        Ok(all)
    }

    /// The beginnings of examples of the held-out text, spread evenly over it, and the text in words.
    ///
    /// # Errors
    /// If nobody says which text that is.
    pub(crate) fn held_out(
        store: &Store,
        target: &Target,
        examples: usize,
    ) -> Result<(Vec<Vec<u32>>, String), JobError> {
        let subject = with_text(store, target)?;
        let found = subject.beginnings(examples, None).map_err(JobError::refusal)?;
        Ok((found, subject.data))
    }

    /// The tokens of source `number` of `count`, from 1.
    fn read(&self, source: &GenerateSource, number: usize, count: usize) -> Result<Vec<u32>, JobError> {
        let which = if count == 1 { "The text".to_owned() } else { format!("Text {number}") };
        let text = match source {
            GenerateSource::Tokens(tokens) if tokens.is_empty() => {
                return Err(JobError::refusal(format!("{which} is empty. Give at least one token.")));
            }
            GenerateSource::Tokens(tokens) => {
                let known = self.plan.vocabulary();
                return match (tokens.iter().find(|id| **id as usize >= known), known.checked_sub(1)) {
                    (Some(id), Some(last)) => {
                        let why = format!("{id} is no id of this model, which has ids 0 to {last}.");
                        Err(JobError::refusal(why))
                    }
                    _ => Ok(tokens.clone()),
                };
            }
            GenerateSource::Text(text) => text,
            GenerateSource::HeldOut { .. } => return Err(JobError::refusal(WITHOUT_TEXT)),
        };
        let Some(tokenizer) = &self.tokenizer else {
            let why = "The model directory has no tokenizer.json, so text cannot be read. Give token ids instead.";
            return Err(JobError::refusal(why));
        };
        if text.trim().is_empty() {
            return Err(JobError::refusal(format!("{which} is empty. Give at least one word.")));
        }
        let told = |error: DataError| JobError::refusal(error.to_string());
        if self.plan.fills_in()
            && let Some((_, spelled)) = self.mask()
            && let Some(found) = mask_in_other_letters(text, &spelled)
        {
            return Err(JobError::refusal(format!(
                "{which} has `{found}`, which this model reads as text. Write {spelled} where a word is to be filled in."
            )));
        }
        // Characters are judged without the mask, which is none.
        let words = self.without_mask(text);
        let tokens = tokenizer.encode_plain(&words).map_err(told)?;
        let unknown = tokenizer.specials().unknown;
        let is_unknown = |tokens: &[u32]| unknown.is_some_and(|unknown| tokens.contains(&unknown));
        if is_unknown(&tokens) {
            let mut strange: Vec<char> = Vec::new();
            for letter in words.chars().filter(|letter| !letter.is_whitespace()) {
                let alone = tokenizer.encode_plain(&letter.to_string()).map_err(told)?;
                if is_unknown(&alone) && !strange.contains(&letter) {
                    strange.push(letter);
                }
            }
            let letters: Vec<String> = strange.iter().take(5).map(|letter| format!("{letter:?}")).collect();
            let what =
                if letters.is_empty() { "words".to_owned() } else { format!("characters ({})", letters.join(", ")) };
            return Err(JobError::refusal(format!(
                "{which} has {what} that the model's tokenizer does not know. Write it without them."
            )));
        }
        let tokens = tokenizer.encode_plain(text).map_err(told)?;
        if tokens.is_empty() {
            let why = format!("{which} has no characters that the model's tokenizer knows. Write it in others.");
            return Err(JobError::refusal(why));
        }
        let tokens = self.framed(tokenizer, text, tokens)?;
        let known = self.plan.vocabulary();
        tokenizer.require_known(&tokens, known).map_err(|error| JobError::refusal(format!("{which}: {error}")))?;
        Ok(tokens)
    }

    /// A text as the encoder reads it, whatever the tokenizer does not know, cut off behind the last position.
    ///
    /// # Errors
    /// If there is no tokenizer.
    pub(crate) fn encode(&self, text: &str) -> Result<Encoded, JobError> {
        let Some(tokenizer) = &self.tokenizer else {
            return Err(JobError::refusal("The model directory has no tokenizer.json, so text cannot be read."));
        };
        let tokens = tokenizer.encode_plain(text).map_err(|error| JobError::refusal(error.to_string()))?;
        let has_unknown = tokenizer.specials().unknown.is_some_and(|unknown| tokens.contains(&unknown));
        let mut tokens = self.framed(tokenizer, text, tokens)?;
        let known = self.plan.vocabulary();
        tokenizer.require_known(&tokens, known).map_err(|error| JobError::refusal(error.to_string()))?;
        let longest = self.plan.encoder.as_deref().unwrap_or(&self.plan.stack).longest();
        let is_cut = tokens.len() > longest;
        if is_cut {
            // What ends a text stays.
            let last = tokens.pop();
            tokens.truncate(longest.saturating_sub(1));
            tokens.extend(last);
        }
        Ok(Encoded { tokens, has_unknown, is_cut })
    }

    /// What an encoder reads stands between the special tokens that its tokenizer puts around a text; where that puts none,
    /// as those that are trained here, the end of a text stands after it.
    fn framed(&self, tokenizer: &TextTokenizer, text: &str, mut tokens: Vec<u32>) -> Result<Vec<u32>, JobError> {
        if self.plan.encoder.is_some() {
            let frame = tokenizer.pair_frame(PairFraming::Template);
            let [before, after] = frame.map_err(|error| JobError::refusal(error.to_string()))?;
            tokens.splice(..0, before);
            tokens.extend(after);
        } else if self.plan.fills_in() {
            tokens = tokenizer.encode_masked(text).map_err(|error| JobError::refusal(error.to_string()))?;
        }
        Ok(tokens)
    }

    /// A text without the tokens that hide words, where the model fills them in.
    fn without_mask(&self, text: &str) -> String {
        match self.mask().filter(|_| self.plan.fills_in()) {
            Some((_, spelled)) => text.replace(&spelled, " "),
            None => text.to_owned(),
        }
    }

    /// The token that hides a word, and how it is written.
    pub(crate) fn mask(&self) -> Option<(u32, String)> {
        let tokenizer = self.tokenizer.as_ref()?;
        let mask = tokenizer.specials().mask?;
        Some((mask, tokenizer.token(mask)?))
    }

    /// Tokens as text.
    pub(crate) fn text(&self, tokens: &[u32]) -> String {
        let decoded = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.decode(tokens).ok());
        decoded.unwrap_or_else(|| tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    /// A token as people read it.
    pub(crate) fn piece(&self, token: u32) -> String {
        self.tokenizer.as_ref().map_or_else(|| token.to_string(), |tokenizer| tokenizer.piece(token))
    }
}

/// Spellings of the token that hides a word.
const MASKS: [&str; 3] = ["[mask]", "<mask>", "{mask}"];

/// Words that may have been meant for the mask token of a model and are written otherwise.
fn mask_in_other_letters<'a>(text: &'a str, spelled: &str) -> Option<&'a str> {
    if text.contains(spelled) {
        return None;
    }
    let own = spelled.to_ascii_lowercase();
    let lower = text.to_ascii_lowercase();
    let found = MASKS.into_iter().chain([own.as_str()]).find_map(|mask| lower.find(mask).map(|at| at..at + mask.len()));
    found.and_then(|place| text.get(place))
}

/// Why there is no held-out example.
const WITHOUT_TEXT: &str =
    "It does not say on which text it was trained, so that there is no held-out one. Write a text.";

/// A model with the text that it was evaluated on.
fn with_text(store: &Store, target: &Target) -> Result<Subject, JobError> {
    let subject = Subject::load_on_processor(store, target, None, &|_| ()).map_err(JobError::refusal)?;
    if subject.has_text { Ok(subject) } else { Err(JobError::refusal(WITHOUT_TEXT)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_in_other_letters_is_told_from_text() {
        assert_eq!(mask_in_other_letters("The [mask] sleeps.", "[MASK]"), Some("[mask]"));
        assert_eq!(mask_in_other_letters("Der <MASK> schl\u{e4}ft.", "<mask>"), Some("<MASK>"));
        assert_eq!(mask_in_other_letters("The <mask> sleeps.", "[MASK]"), Some("<mask>"));
        assert_eq!(mask_in_other_letters("A [MASK] and a [mask].", "[MASK]"), None);
        assert_eq!(mask_in_other_letters("The [king] sleeps.", "[MASK]"), None);
    }
}
