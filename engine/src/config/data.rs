//! `[data]`: where the text comes from and how it becomes tokens.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, Serializer, de::Error as _};

use super::{ImageShape, ImagesSource, ListOpsSource, PathfinderSource, SquadSource, TableSource, images::MOST_SIDE};

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
pub(super) const DEFAULT_KIND: &str = "grammar";

/// The sources that have tokens of their own: see [`Source::has_own_tokens`].
pub(super) const OWN_TOKENS: [&str; 3] = ["images", "listops", "pathfinder"];

/// Names of the common fields.
pub(super) const COMMON: [&str; 4] = ["sequence_length", "shuffled", "tokenizer", "validation_fraction"];

/// Reason why a source of this kind does not have a common field; none where it has.
pub(super) fn why_absent(kind: &str, name: &str) -> Option<&'static str> {
    match (kind, name) {
        ("images" | "pathfinder", "sequence_length") => Some(
            "`sequence_length` follows from the images and {model.patch}: the patches and the class token; leave it out",
        ),
        ("images" | "pathfinder", "tokenizer") => {
            Some("no `tokenizer` is needed, since images have no text; leave it out")
        }
        (kind, "tokenizer") if OWN_TOKENS.contains(&kind) => {
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
        let kind = table.entry("kind").or_insert_with(|| DEFAULT_KIND.into()).as_str().unwrap_or_default();
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

/// Where the text comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// Files on disk.
    File(FileSource),
    /// English-like text from the built-in probabilistic grammar.
    Grammar(GrammarSource),
    /// The grammar's control: words drawn independently with the same unigram frequencies.
    Random(RandomSource),
    /// Pairs of texts on disk, to translate from one into the other.
    Pairs(PairsSource),
    /// English numbers and dates in words with their German translations, generated.
    NumberWords(NumberWordsSource),
    /// A table on disk: one or two texts a row, with a label.
    Table(TableSource),
    /// Questions about paragraphs on disk.
    Squad(SquadSource),
    /// Images on disk, with a class each.
    Images(ImagesSource),
    /// Images of curves that one follows with the eye, generated.
    Pathfinder(PathfinderSource),
    /// Expressions of lists of digits with their values, generated.
    #[serde(rename = "listops")]
    ListOps(ListOpsSource),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.write_str(&last_part(&file.path)),
            Self::Grammar(_) => f.write_str("the built-in grammar"),
            Self::Random(_) => f.write_str("random words"),
            Self::Pairs(PairsSource { path: Some(path), .. }) => f.write_str(&last_part(path)),
            Self::Pairs(PairsSource { source, target, .. }) => {
                let name = |path: &Option<PathBuf>| path.as_deref().map(last_part).unwrap_or_default();
                write!(f, "{} and {}", name(source), name(target))
            }
            Self::NumberWords(_) => f.write_str("number words"),
            Self::Table(TableSource { path, .. }) | Self::Squad(SquadSource { path, .. }) => {
                f.write_str(&last_part(path))
            }
            Self::Images(images) => f.write_str(&last_part(&images.path)),
            Self::Pathfinder(_) => f.write_str("Pathfinder images"),
            Self::ListOps(_) => f.write_str("ListOps expressions"),
        }
    }
}

/// The name of a file or folder without the way there.
fn last_part(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

impl Source {
    /// Whether it gives pairs of texts, for models that translate.
    pub fn has_pairs(&self) -> bool {
        match self {
            Self::Pairs(_) | Self::NumberWords(_) => true,
            Self::File(_)
            | Self::Grammar(_)
            | Self::Random(_)
            | Self::Table(_)
            | Self::Squad(_)
            | Self::Images(_)
            | Self::Pathfinder(_)
            | Self::ListOps(_) => false,
        }
    }

    /// Whether it gives texts or images with labels or answers, for models with a task.
    pub fn has_labels(&self) -> bool {
        match self {
            Self::Table(_) | Self::Squad(_) | Self::Images(_) | Self::Pathfinder(_) | Self::ListOps(_) => true,
            Self::File(_) | Self::Grammar(_) | Self::Random(_) | Self::Pairs(_) | Self::NumberWords(_) => false,
        }
    }

    /// Whether nothing is to be chosen about tokens: it has no text, or a vocabulary of its own.
    pub fn has_own_tokens(&self) -> bool {
        match self {
            Self::Images(_) | Self::Pathfinder(_) | Self::ListOps(_) => true,
            Self::File(_)
            | Self::Grammar(_)
            | Self::Random(_)
            | Self::Pairs(_)
            | Self::NumberWords(_)
            | Self::Table(_)
            | Self::Squad(_) => false,
        }
    }

    /// What the held-out text is called: the file of its own, where there is one.
    pub fn held_out_name(&self) -> String {
        match self {
            Self::File(FileSource { validation_path: Some(path), .. })
            | Self::Pairs(PairsSource { validation_path: Some(path), .. })
            | Self::Table(TableSource { validation_path: Some(path), .. })
            | Self::Squad(SquadSource { validation_path: Some(path), .. })
            | Self::Images(ImagesSource { validation_path: Some(path), .. }) => last_part(path),
            Self::Pairs(PairsSource { validation_source: Some(source), validation_target: Some(target), .. }) => {
                format!("{} and {}", last_part(source), last_part(target))
            }
            other => other.to_string(),
        }
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::Grammar(GrammarSource::default())
    }
}

/// Text files: `.txt`, `.jsonl`, `.csv`, `.tsv`, any of them gzipped, `.parquet`, or a folder of such.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FileSource {
    /// A file or a folder. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// Held-out text; without it a share of `path` is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// The field of a JSONL object that holds the text; `text` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text: its name in the header line, or a number from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// Text from the built-in grammar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrammarSource {
    /// Words to generate, 1,000..100,000,000.
    pub words: usize,
    /// Seed of the text, apart from the run's seed so that runs with several seeds see the same text.
    pub text_seed: u64,
}

impl Default for GrammarSource {
    fn default() -> Self {
        Self { words: 200_000, text_seed: 1 }
    }
}

/// Words drawn independently with the grammar's unigram frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomSource {
    /// Words to generate, 1,000..100,000,000.
    pub words: usize,
    /// Seed of the text.
    pub text_seed: u64,
}

impl Default for RandomSource {
    fn default() -> Self {
        Self { words: 200_000, text_seed: 1 }
    }
}

/// Pairs of texts: two files with a text a line, of which line n of one is the translation of line n of the other; or one
/// table. Each may be gzipped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairsSource {
    /// The texts that are translated, a line each, where there are two files. A relative path is taken from the folder of
    /// the config file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Their translations, as many lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// A table of both, separated by tabs, instead of two files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its columns, the text and its translation: by their names in the first line, or by numbers from 0, where the
    /// first line counts as text. When absent, the table has two columns and no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<[String; 2]>,
    /// Held-out texts, of two files; without held-out texts a share of the pairs is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_source: Option<PathBuf>,
    /// Their translations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_target: Option<PathBuf>,
    /// A held-out table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// What becomes of pairs of which a side is longer than `data.sequence_length`.
    #[serde(skip_serializing_if = "LongPairs::is_usual")]
    pub long: LongPairs,
}

impl PairsSource {
    /// Every path that it may name.
    pub fn paths_mut(&mut self) -> [&mut Option<PathBuf>; 6] {
        let Self { source, target, path, validation_source, validation_target, validation_path, .. } = self;
        [source, target, path, validation_source, validation_target, validation_path]
    }

    /// The path of a field such as `data.source`; none of another field.
    pub fn path_mut(&mut self, field: &str) -> Option<&mut Option<PathBuf>> {
        match field {
            "data.source" => Some(&mut self.source),
            "data.target" => Some(&mut self.target),
            "data.path" => Some(&mut self.path),
            "data.validation_source" => Some(&mut self.validation_source),
            "data.validation_target" => Some(&mut self.validation_target),
            "data.validation_path" => Some(&mut self.validation_path),
            _ => None,
        }
    }
}

/// What becomes of pairs of which a side does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongPairs {
    /// They are left out, and counted.
    #[default]
    LeaveOut,
    /// The side is cut off, and they are counted.
    Truncate,
}

impl LongPairs {
    /// Both choices, for menus and conformance tests.
    pub const ALL: [Self; 2] = [Self::LeaveOut, Self::Truncate];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// English numbers and dates in words with their German translations. No held-out pair is among those for training,
/// however many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumberWordsSource {
    /// Pairs to train on, 1,000..10,000,000.
    pub pairs: usize,
    /// Seed of the pairs, apart from the run's seed so that runs with several seeds see the same ones.
    pub text_seed: u64,
}

impl Default for NumberWordsSource {
    fn default() -> Self {
        Self { pairs: 20_000, text_seed: 1 }
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

impl Source {
    /// Whether it gives images, which have no text, no tokenizer and no sequence length of their own.
    pub fn has_images(&self) -> bool {
        match self {
            Self::Images(_) | Self::Pathfinder(_) => true,
            Self::File(_)
            | Self::Grammar(_)
            | Self::Random(_)
            | Self::Pairs(_)
            | Self::NumberWords(_)
            | Self::Table(_)
            | Self::Squad(_)
            | Self::ListOps(_) => false,
        }
    }

    /// The shape of its images; where it is not known, one that squares of `patch` pixels cut and that is about that of MNIST
    /// and CIFAR: for estimates.
    pub fn image_shape_or_assumed(&self, patch: usize) -> ImageShape {
        const SIDE: usize = 32;
        let patch = patch.clamp(1, MOST_SIDE);
        self.image_shape().unwrap_or(ImageShape { size: SIDE.div_ceil(patch) * patch, channels: 3 })
    }

    /// The shape of its images, where it is known without looking at them.
    pub fn image_shape(&self) -> Option<ImageShape> {
        match self {
            Self::Images(images) => {
                images.size.zip(images.channels).map(|(size, channels)| ImageShape { size, channels })
            }
            Self::Pathfinder(pathfinder) => Some(ImageShape { size: pathfinder.size, channels: 1 }),
            Self::File(_)
            | Self::Grammar(_)
            | Self::Random(_)
            | Self::Pairs(_)
            | Self::NumberWords(_)
            | Self::Table(_)
            | Self::Squad(_)
            | Self::ListOps(_) => None,
        }
    }
}
