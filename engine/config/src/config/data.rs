//! `[data]`: where the text comes from and how it becomes tokens.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer, de::Error as _};

use super::Source;

/// `[data]`. The source's own fields stand beside the common ones, as in
/// `kind = "file"`, `path = "train.txt"`, `sequence_length = 128`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct DataConfig {
    /// Where the text comes from.
    pub source: Source,
    /// Tokens per example, special tokens included. Of images it follows from their size and `model.patch`
    /// ([`super::RunConfig::with_image_tokens`]), and is never written.
    pub sequence_length: usize,
    /// Share of the text that is held out when the source names no validation text, 0.001..0.5.
    /// Cut by document, or by contiguous blocks where there is one document only.
    pub validation_fraction: f64,
    /// How text becomes tokens; without a meaning, and not written, where the source has tokens of its own
    /// ([`Source::has_own_tokens`]).
    pub tokenizer: Tokenizer,
    /// The text's control: every token stands at a random place in its part, so that single tokens are as frequent as
    /// before and nothing else is left to learn. The tokenizer is that of the text as it was.
    pub shuffled: bool,
}

/// `[data]` as it is written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    source: &'a Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_length: Option<usize>,
    validation_fraction: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenizer: Option<&'a Tokenizer>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shuffled: bool,
}

impl Serialize for DataConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { source, sequence_length, validation_fraction, tokenizer, shuffled } = self;
        let written = Written {
            source,
            sequence_length: (!source.has_images()).then_some(*sequence_length),
            validation_fraction: *validation_fraction,
            tokenizer: (!source.has_own_tokens()).then_some(tokenizer),
            shuffled: *shuffled,
        };
        written.serialize(serializer)
    }
}

/// The fields of `[data]` that every source shares.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Common {
    sequence_length: usize,
    validation_fraction: f64,
    tokenizer: Tokenizer,
    shuffled: bool,
}

impl Default for Common {
    fn default() -> Self {
        let data = DataConfig::default();
        Self {
            sequence_length: data.sequence_length,
            validation_fraction: data.validation_fraction,
            tokenizer: data.tokenizer,
            shuffled: data.shuffled,
        }
    }
}

/// The source of a config that names none.
pub(super) fn default_kind() -> &'static str {
    Source::default().facts().kind
}

/// Names of the common fields.
pub(super) const COMMON: [&str; 4] = ["sequence_length", "shuffled", "tokenizer", "validation_fraction"];

/// Reason why a source of this kind does not have a common field; none where it has.
pub(super) fn why_absent(kind: &str, name: &str) -> Option<&'static str> {
    let source = Source::of_kind(kind)?;
    match name {
        "sequence_length" if source.has_images() => Some(
            "`sequence_length` follows from the images and {model.patch}: the patches and the class token; leave it out",
        ),
        "tokenizer" if source.has_images() => Some("no `tokenizer` is needed, since images have no text; leave it out"),
        "tokenizer" if source.has_own_tokens() => {
            Some("no `tokenizer` is needed, since this text has a vocabulary of its own; leave it out")
        }
        _ => None,
    }
}

impl TryFrom<toml::Table> for DataConfig {
    type Error = toml::de::Error;

    fn try_from(mut table: toml::Table) -> Result<Self, toml::de::Error> {
        let mut common = toml::Table::new();
        for name in COMMON {
            if let Some(value) = table.remove(name) {
                common.insert(name.to_owned(), value);
            }
        }
        let kind = table.entry("kind").or_insert_with(|| default_kind().into()).as_str().unwrap_or_default();
        if let Some(why) = common.keys().find_map(|name| why_absent(kind, name)) {
            return Err(toml::de::Error::custom(why));
        }
        let Common { sequence_length, validation_fraction, tokenizer, shuffled } = common.try_into()?;
        let source: Source = table.try_into()?;
        let sequence_length = if source.has_images() { 0 } else { sequence_length };
        Ok(Self { source, sequence_length, validation_fraction, tokenizer, shuffled })
    }
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            source: Source::default(),
            sequence_length: 64,
            validation_fraction: 0.1,
            tokenizer: Tokenizer::default(),
            shuffled: false,
        }
    }
}

/// How text becomes tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Tokenizer {
    /// One token a byte, plus special tokens.
    Bytes(ByteTokenizer),
    /// Byte-level byte-pair encoding trained on the training text.
    Bpe(TrainedTokenizer),
    /// WordPiece, lower-cased, trained on the training text.
    WordPiece(TrainedTokenizer),
    /// One token a word between blanks, of the words of the training text; for encoders, such as on expressions.
    Words(WordTokenizer),
    /// A given `tokenizer.json`.
    File(FileTokenizer),
    /// That of the model which training begins with (`model.initial`).
    Initial(InitialTokenizer),
}

impl Tokenizer {
    /// The name in the config file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Bpe(_) => "bpe",
            Self::WordPiece(_) => "word_piece",
            Self::Words(_) => "words",
            Self::File(_) => "file",
            Self::Initial(_) => "initial",
        }
    }
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::Bpe(TrainedTokenizer { vocabulary: 1024 })
    }
}

/// One token a byte.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByteTokenizer {}

/// A tokenizer trained on the training text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainedTokenizer {
    /// Number of tokens, special ones included, 300..1,000,000.
    pub vocabulary: usize,
}

impl TrainedTokenizer {
    /// The smallest vocabulary: 256 bytes or so many characters, special tokens, and some merges.
    pub const LEAST: usize = 300;
}

impl Default for TrainedTokenizer {
    fn default() -> Self {
        Self { vocabulary: 8192 }
    }
}

/// One token a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WordTokenizer {
    /// The most tokens, special ones included, 10..=1,000,000: where the text has more words, rarer ones become `[UNK]`.
    pub vocabulary: usize,
}

impl WordTokenizer {
    /// The smallest bound: the special tokens and some words.
    pub const LEAST: usize = 10;
}

impl Default for WordTokenizer {
    fn default() -> Self {
        Self { vocabulary: 32_768 }
    }
}

/// The tokenizer of the model that training begins with. It comes along in every checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InitialTokenizer {}

/// A given `tokenizer.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileTokenizer {
    /// The file. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
}
