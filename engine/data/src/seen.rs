//! An example as a model will see it, before anything is trained on it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::answered::cut;
use super::tokenizer::given;
use super::{DataError, TextTokenizer, tokenizer};
use crate::config::{DataConfig, FileTokenizer, Tokenizer};
use crate::objective::Objective;

/// The tokenizer in the directory of a model.
const TOKENIZER_FILE: &str = "tokenizer.json";

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

/// The data of a config whose tokenizer is that of the model to begin with, with the tokenizer's file in its place where the directory of
/// that model has one: so that examples are seen as its tokens.
pub fn with_model_tokenizer(config: &DataConfig, model: &Path) -> DataConfig {
    let path = model.join(TOKENIZER_FILE);
    let is_its = matches!(config.tokenizer, Tokenizer::Initial(_)) && path.is_file();
    let tokenizer = if is_its { Tokenizer::File(FileTokenizer { path }) } else { config.tokenizer.clone() };
    DataConfig { tokenizer, ..config.clone() }
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
    let (framed, cut_off) = framed(tokenizer, texts, sequence)?;
    let written = |(id, _)| tokenizer.token(id).unwrap_or_else(|| format!("#{id}"));
    Ok((framed.into_iter().map(written).collect(), cut_off))
}

/// Two texts as a model reads them in a row of `most` tokens at most: the tokens, and to which of the two each belongs. What does not fit
/// is cut off, of the longer text first.
///
/// # Errors
/// If the tokenizer fails.
pub fn pair_as_read(
    tokenizer: &TextTokenizer,
    texts: [&str; 2],
    most: usize,
) -> Result<(Vec<u32>, Vec<u32>), DataError> {
    Ok(framed(tokenizer, &texts, most)?.0.into_iter().unzip())
}

/// The tokens of an example, each with the text that it belongs to, and how many do not fit.
fn framed(tokenizer: &TextTokenizer, texts: &[&str], sequence: usize) -> Result<(Vec<(u32, u32)>, u64), DataError> {
    let frame = tokenizer.frame(texts.len())?;
    let mut ids = Vec::with_capacity(2);
    for text in texts {
        ids.push(tokenizer.encode_plain(text)?);
    }
    let own = |text: usize| ids.get(text).map(Vec::as_slice).unwrap_or_default();
    let whole = [own(0).len(), own(1).len()];
    let kept = cut(whole, sequence.saturating_sub(frame.tokens()));
    let part = |text: usize, count: usize| own(text).get(..count).unwrap_or_default();
    let cut_off = whole.iter().sum::<usize>() - kept.iter().sum::<usize>();
    Ok((frame.around(part(0, kept[0]), part(1, kept[1])).collect(), cut_off as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ByteTokenizer, FileSource, Source};

    #[test]
    fn a_pair_is_framed_as_rows_are_and_the_longer_text_gives_way() {
        let config = DataConfig { source: Source::File(FileSource::default()), ..DataConfig::default() };
        let objective =
            Objective::EXAMPLES.into_iter().find(|objective| matches!(objective, Objective::Classification(_)));
        let bytes = Tokenizer::Bytes(ByteTokenizer {});
        let tokenizer = known_tokenizer(&bytes, &objective.unwrap()).unwrap();
        let read = |texts: [&str; 2], most| pair_as_read(&tokenizer, texts, most).unwrap();
        let (ids, types) = read(["ab", "cde"], 99);
        assert_eq!(types, [0, 0, 0, 0, 1, 1, 1, 1], "[CLS] ab [SEP] cde [SEP]");
        let own = |text: &str| tokenizer.encode_plain(text).unwrap();
        assert_eq!((&ids[1..3], &ids[4..7]), (own("ab").as_slice(), own("cde").as_slice()));
        let (cut, types) = read(["ab", "cdefgh"], 8);
        assert_eq!((cut, types.len()), (ids, 8));
        assert_eq!(with_model_tokenizer(&config, Path::new("/nowhere")), config);
    }
}
