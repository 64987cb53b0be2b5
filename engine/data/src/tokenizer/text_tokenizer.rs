use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use tokenizers::{Encoding, Tokenizer};

use super::library::{called, failure};
use super::limits::{self, Growth, LARGEST_TOKENIZER};
use super::shielded;
use crate::{
    DataError, Edition,
    memory::words,
    objective::{Specials, Vocabulary},
};

/// Turns text into token ids and back. Cheap to clone.
#[derive(Clone)]
pub struct TextTokenizer {
    inner: Arc<Inner>,
    edition: Edition,
    /// Tokens that the model knows, which may be fewer.
    known: usize,
}

struct Inner {
    /// Knows every token, and recognises special ones in a text: for decoding and look-ups.
    tokenizer: Tokenizer,
    /// Takes special tokens in a text for ordinary text, where the vocabulary of its model does not hold them.
    plain: Tokenizer,
    /// Takes all of them for ordinary text; made when the first text needs it.
    shielded: OnceLock<Result<Tokenizer, String>>,
    /// Recognises the mask token in a text; made when the first text needs it.
    masking: OnceLock<Result<Tokenizer, String>>,
    /// Measure of a text's growth, where one may become much longer.
    growth: Option<Growth>,
    specials: Specials,
    special_ids: BTreeSet<u32>,
    vocabulary_size: usize,
    /// For one token a byte: the id of byte 0, the others follow.
    first_byte: Option<u32>,
    json: String,
}

impl TextTokenizer {
    /// Opens the content of a `tokenizer.json`. Truncation and padding that it asks for are switched off.
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self, DataError> {
        Self::open(json.as_ref(), None)
    }

    /// As [`Self::from_json`]; `first_byte` is the id of byte 0 where the vocabulary is the bytes in order.
    pub(super) fn open(json: &[u8], first_byte: Option<u32>) -> Result<Self, DataError> {
        if json.len() as u64 > LARGEST_TOKENIZER {
            let (found, most) = (words(json.len() as u64), words(LARGEST_TOKENIZER));
            return Err(DataError::Tokenizer { why: format!("it has {found}, more than the {most} that are read") });
        }
        let growth = limits::check(json).map_err(|why| DataError::Tokenizer { why })?;
        let mut tokenizer = called(|| Tokenizer::from_bytes(json))?;
        tokenizer.with_truncation(None).map_err(failure)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(false);
        let vocabulary = tokenizer.get_vocab(true);
        let vocabulary_size = vocabulary.values().max().map_or(0, |id| *id as usize + 1);
        if vocabulary_size == 0 {
            return Err(DataError::Tokenizer { why: "its vocabulary is empty".to_owned() });
        }
        let specials = Specials::find(|name| vocabulary.get(name).copied());
        let mut special_ids: BTreeSet<u32> =
            [specials.mask, specials.cls, specials.sep, specials.end_of_text, specials.unknown]
                .into_iter()
                .flatten()
                .collect();
        special_ids
            .extend(tokenizer.get_added_tokens_decoder().iter().filter(|(_, token)| token.special).map(|(id, _)| *id));
        let json = tokenizer.to_string(true).map_err(failure)?;
        let mut plain = tokenizer.clone();
        plain.set_encode_special_tokens(true);
        let (shielded, masking) = (OnceLock::new(), OnceLock::new());
        let inner = Inner {
            tokenizer,
            plain,
            shielded,
            masking,
            growth,
            specials,
            special_ids,
            vocabulary_size,
            first_byte,
            json,
        };
        Ok(Self { inner: Arc::new(inner), edition: Edition::Current, known: usize::MAX })
    }

    /// What stands for a tokenizer where images are read: it has no tokens, and every text has none.
    ///
    /// # Errors
    /// If the library fails.
    pub(crate) fn none() -> Result<Self, DataError> {
        const JSON: &str =
            r#"{"version":"1.0","added_tokens":[],"model":{"type":"WordLevel","vocab":{},"unk_token":""}}"#;
        let tokenizer = Tokenizer::from_bytes(JSON).map_err(failure)?;
        let specials = Specials::find(|_| None);
        let (plain, json) = (tokenizer.clone(), JSON.to_owned());
        let special_ids = BTreeSet::new();
        let inner = Inner {
            tokenizer,
            plain,
            shielded: OnceLock::new(),
            masking: OnceLock::new(),
            growth: None,
            specials,
            special_ids,
            vocabulary_size: 0,
            first_byte: None,
            json,
        };
        Ok(Self { inner: Arc::new(inner), edition: Edition::Current, known: usize::MAX })
    }

    /// The same by the rules of an edition of reading.
    pub(crate) fn in_edition(self, edition: Edition) -> Self {
        Self { edition, ..self }
    }

    /// The ids of `text` framed as the tokenizer's template says: `[CLS] text [SEP]` for a BERT-style one. Special tokens in the text
    /// itself are text.
    pub fn encode_framed(&self, text: &str) -> Result<Vec<u32>, DataError> {
        self.check(text)?;
        let tokenizer = self.plain_for(text)?;
        let encoding = called(|| tokenizer.encode_fast(text, true))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// As [`Self::encode_framed`], for two texts: the ids, and to which text each belongs.
    pub(super) fn encode_framed_pair(&self, first: &str, second: &str) -> Result<(Vec<u32>, Vec<u32>), DataError> {
        self.check(first)?;
        self.check(second)?;
        let tokenizer = self.plain_for(&[first, " ", second].concat())?;
        let encoding = called(|| tokenizer.encode((first, second), true))?;
        Ok((encoding.get_ids().to_vec(), encoding.get_type_ids().to_vec()))
    }

    /// The ids of `text` framed as [`Self::encode_framed`] does, in which the mask token that is written out hides a word. All other
    /// special tokens are text.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn encode_masked(&self, text: &str) -> Result<Vec<u32>, DataError> {
        self.check(text)?;
        let spelled = self.inner.specials.mask.and_then(|mask| self.token(mask));
        let Some(spelled) = spelled.filter(|spelled| text.contains(spelled)) else { return self.encode_framed(text) };
        let made = self.inner.masking.get_or_init(|| {
            shielded::masking(&self.inner.json, &self.special_texts(), &spelled).map_err(|error| error.to_string())
        });
        let tokenizer = made.as_ref().map_err(|why| DataError::Tokenizer { why: why.clone() })?;
        let encoding = called(|| tokenizer.encode_fast(text, true))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The ids of `text`, in which special tokens are ordinary text: so a corpus that talks of `<|endoftext|>`
    /// cannot end a document.
    pub fn encode_plain(&self, text: &str) -> Result<Vec<u32>, DataError> {
        if let Some(first) = self.inner.first_byte {
            return Ok(text.bytes().map(|byte| first + u32::from(byte)).collect());
        }
        self.check(text)?;
        let encoding = self.plain_encoding(text, |tokenizer, text, framed| tokenizer.encode_fast(text, framed))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The encoding of `text` in which no token is special but the unknown one.
    fn plain_encoding<'t>(
        &self,
        text: &'t str,
        encode: impl Fn(&Tokenizer, &'t str, bool) -> tokenizers::Result<Encoding>,
    ) -> Result<Encoding, DataError> {
        let encoding = called(|| encode(&self.inner.plain, text, false))?;
        if self.edition == Edition::First || !self.has_special(text, encoding.get_ids()) {
            return Ok(encoding);
        }
        let tokenizer = self.shielded()?;
        called(|| encode(tokenizer, text, false))
    }

    /// The tokenizer that finds no special token in `text`.
    fn plain_for(&self, text: &str) -> Result<&Tokenizer, DataError> {
        let encoding = called(|| self.inner.plain.encode_fast(text, false))?;
        if self.has_special(text, encoding.get_ids()) { self.shielded() } else { Ok(&self.inner.plain) }
    }

    /// True where a special token was found in a text by the model of the tokenizer: `WordLevel` and Unigram models look their own
    /// control tokens up as any other word. What is not known is none, unless it is written out.
    fn has_special(&self, text: &str, ids: &[u32]) -> bool {
        let unknown = self.inner.specials.unknown;
        let spells_unknown =
            || unknown.and_then(|unknown| self.token(unknown)).is_some_and(|spelled| text.contains(&spelled));
        let is_special = |id: &u32| self.inner.special_ids.contains(id);
        ids.iter().any(|id| is_special(id) && (Some(*id) != unknown || spells_unknown()))
    }

    fn shielded(&self) -> Result<&Tokenizer, DataError> {
        let made = self.inner.shielded.get_or_init(|| {
            shielded::shielded(&self.inner.json, &self.special_texts()).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|why| DataError::Tokenizer { why: why.clone() })
    }

    /// Special tokens as the vocabulary spells them.
    fn special_texts(&self) -> BTreeSet<String> {
        self.special_ids().filter_map(|id| self.token(id)).collect()
    }

    /// Refuses the tokens of a text of which a model of `known` tokens does not have one.
    ///
    /// # Errors
    /// If one is beyond it: the token, and its place.
    pub fn require_known(&self, ids: &[u32], known: usize) -> Result<(), DataError> {
        match (1..).zip(ids).find(|(_, id)| **id as usize >= known) {
            Some((place, id)) => Err(self.beyond(*id, format!("token {place} of the text"), known)),
            None => Ok(()),
        }
    }

    /// The refusal of a token that a model does not have.
    pub(crate) fn beyond(&self, id: u32, place: String, known: usize) -> DataError {
        DataError::TokenBeyond { token: self.token(id).unwrap_or_default(), id, place, known }
    }

    /// Refuses a text that the rules of the tokenizer would make much longer.
    fn check(&self, text: &str) -> Result<(), DataError> {
        let Some(growth) = &self.inner.growth else { return Ok(()) };
        growth.check(text).map_err(|why| DataError::Tokenizer { why })
    }

    /// Where each of the tokens of [`Self::encode_plain`] begins and ends in `text`, in bytes.
    pub(crate) fn offsets(&self, text: &str) -> Result<Vec<[u32; 2]>, DataError> {
        if self.is_bytes() {
            return Ok((0..text.len() as u32).map(|byte| [byte, byte + 1]).collect());
        }
        self.check(text)?;
        let encoding = self.plain_encoding(text, |tokenizer, text, framed| tokenizer.encode(text, framed))?;
        Ok(encoding.get_offsets().iter().map(|(start, end)| [*start as u32, *end as u32]).collect())
    }

    /// As much of `text` as its first `tokens` tokens by [`Self::encode_plain`] are of, in whole characters.
    pub(crate) fn beginning<'a>(&self, text: &'a str, tokens: usize) -> Result<&'a str, DataError> {
        let Some(last) = tokens.checked_sub(1) else { return Ok("") };
        let end = self.offsets(text)?.get(last).map_or(text.len(), |[_, end]| *end as usize);
        Ok(text.get(..text.floor_char_boundary(end)).unwrap_or(text))
    }

    /// Whether every byte is a token.
    pub fn is_bytes(&self) -> bool {
        self.inner.first_byte.is_some()
    }

    /// The text of `ids` without special tokens. Bytes that are no character become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> Result<String, DataError> {
        called(|| self.inner.tokenizer.decode(ids, true))
    }

    /// The text of `ids` with special tokens written out.
    pub fn decode_with_specials(&self, ids: &[u32]) -> Result<String, DataError> {
        called(|| self.inner.tokenizer.decode(ids, false))
    }

    /// A token as the vocabulary spells it, such as `##ing` or `Ġthe`.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.tokenizer.id_to_token(id)
    }

    /// The id of a token as the vocabulary spells it.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.tokenizer.token_to_id(token)
    }

    /// The largest id plus one: rows of the embedding.
    pub fn vocabulary_size(&self) -> usize {
        self.inner.vocabulary_size
    }

    /// The tokens with a meaning of their own.
    pub fn specials(&self) -> &Specials {
        &self.inner.specials
    }

    /// Ids of all special tokens, ascending.
    pub fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.inner.special_ids.iter().copied()
    }

    /// The same for a model of `known` tokens: none beyond them is drawn in place of another.
    #[must_use]
    pub fn known_to(self, known: usize) -> Self {
        Self { known, ..self }
    }

    /// What labels depend on.
    pub fn vocabulary(&self) -> Vocabulary {
        let mut is_special: Vec<bool> = (0..self.inner.vocabulary_size).map(|id| id >= self.known).collect();
        for id in self.special_ids() {
            if let Some(special) = is_special.get_mut(id as usize) {
                *special = true;
            }
        }
        Vocabulary { specials: self.inner.specials, is_special }
    }

    /// The content of a `tokenizer.json`.
    pub fn to_json(&self) -> &str {
        &self.inner.json
    }

    #[cfg(test)]
    pub(super) fn library(&self) -> &Tokenizer {
        &self.inner.tokenizer
    }
}

impl std::fmt::Debug for TextTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextTokenizer")
            .field("vocabulary_size", &self.inner.vocabulary_size)
            .field("specials", &self.inner.specials)
            .finish_non_exhaustive()
    }
}
