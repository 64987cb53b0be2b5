//! An example as a model will see it, before anything is trained on it.

use serde::{Deserialize, Serialize};

use super::answered::cut;
use super::tokenizer::given;
use super::{DataError, TextTokenizer, tokenizer};
use crate::config::{DataConfig, Tokenizer};
use crate::objective::Objective;

/// Letters of a text, or of a cell, that are shown.
const LETTERS: usize = 400;

/// A row, a question, a pair or an expression as a model will see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewExample {
    /// Its texts, one or two; long ones are cut off.
    pub texts: Vec<String>,
    /// Its label as it is written.
    pub label: String,
    /// Its tokens with the special ones around them; none where the vocabulary is yet to be trained.
    pub tokens: Option<Vec<String>>,
    /// Tokens that do not fit into the sequence length: they are cut off, those of a paragraph read in further windows.
    pub cut_off: u64,
}

/// The beginning of a text.
pub(super) fn brief(text: &str) -> String {
    let mut letters = text.chars();
    let short: String = letters.by_ref().take(LETTERS).collect();
    if letters.next().is_some() { short + "…" } else { short }
}

/// Entries of the vocabulary, where the config names a tokenizer's file that can be read; absolute paths.
pub fn given_vocabulary(config: &DataConfig, objective: &Objective) -> Option<usize> {
    let is_file = matches!(config.tokenizer, Tokenizer::File(_)) && !config.source.has_own_tokens();
    is_file.then(|| known_tokenizer(&config.tokenizer, objective)).flatten().map(|known| known.vocabulary_size())
}

/// The tokenizer, where it is there before the text is read.
pub(super) fn known_tokenizer(config: &Tokenizer, objective: &Objective) -> Option<TextTokenizer> {
    match config {
        Tokenizer::Bytes(_) => tokenizer::bytes(objective.special_tokens()).ok(),
        Tokenizer::File(file) => given(&file.path, objective).ok(),
        Tokenizer::Bpe(_) | Tokenizer::WordPiece(_) | Tokenizer::Words(_) | Tokenizer::Initial(_) => None,
    }
}

/// The tokens of an example in its frame, and how many do not fit; none where the tokenizer is not known, or has no frame for it.
pub(super) fn seen(tokenizer: Option<&TextTokenizer>, texts: &[&str], sequence: usize) -> (Option<Vec<String>>, u64) {
    let seen = tokenizer.and_then(|tokenizer| tokens(tokenizer, texts, sequence).ok());
    seen.map_or((None, 0), |(tokens, cut_off)| (Some(tokens), cut_off))
}

fn tokens(tokenizer: &TextTokenizer, texts: &[&str], sequence: usize) -> Result<(Vec<String>, u64), DataError> {
    let frame = tokenizer.frame(texts.len())?;
    let mut ids = Vec::with_capacity(2);
    for text in texts {
        ids.push(tokenizer.encode(text)?);
    }
    let own = |text: usize| ids.get(text).map(Vec::as_slice).unwrap_or_default();
    let whole = [own(0).len(), own(1).len()];
    let kept = cut(whole, sequence.saturating_sub(frame.tokens()));
    let part = |text: usize, count: usize| own(text).get(..count).unwrap_or_default();
    let framed = frame.around(part(0, kept[0]), part(1, kept[1]));
    let written = |(id, _)| tokenizer.token(id).unwrap_or_else(|| format!("#{id}"));
    let cut_off = whole.iter().sum::<usize>() - kept.iter().sum::<usize>();
    Ok((framed.map(written).collect(), cut_off as u64))
}
