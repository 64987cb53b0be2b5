use std::path::{Path, PathBuf};

use super::error_wording::{list, suggestion, words};
use super::{FieldNames, ImageError, SquadError, TableError, wrong_kind};
use crate::config::{TrainedTokenizer, counted};

/// Why text could not become tokens. Every message says what failed, why, what to do, and the path last.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The load was stopped on request.
    #[error("Loading was stopped")]
    Stopped,

    /// A token of the text that the model does not have.
    #[error(
        "The token \"{token}\" (id {id}) is {place}, and the model has ids 0 to {}: its tokenizer knows more tokens than it was trained with. Leave it out of the text.",
        known.saturating_sub(1)
    )]
    TokenBeyond {
        /// Spelling.
        token: String,
        /// Id.
        id: u32,
        /// Place in words.
        place: String,
        /// Tokens of the model.
        known: usize,
    },

    /// There is nothing at the path.
    #[error("There is no such file or folder. Check the path: {}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },

    /// The operating system refused to read.
    #[error("The text cannot be read ({why}). Check that you may read it and that the disk is connected: {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },

    /// Something else than a file or a folder, such as a pipe.
    #[error(
        "It is {kind}, not a file. {}: {}",
        if *kind == "a folder" { "Name the file in it that is meant" } else { "Text and tokenizers are read from files; write it to one first" },
        path.display()
    )]
    NoFile {
        /// The path.
        path: PathBuf,
        /// What it is, such as `a pipe (FIFO)`.
        kind: &'static str,
    },

    /// A folder without a text file.
    #[error(
        "The folder holds no text: no file ends in .txt, .jsonl, .csv or .tsv, with or without .gz, or in .parquet ({}). \
         Choose another folder or rename the files: {}",
        counted(*skipped, "other file"), path.display()
    )]
    NothingUsable {
        /// The folder.
        path: PathBuf,
        /// Files with other endings.
        skipped: usize,
    },

    /// A file with an ending that names no format.
    #[error("The file's ending names no known format. Expected .txt, .jsonl, .csv or .tsv, with or without .gz, or .parquet; rename it: {}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },

    /// No text inside.
    #[error("There is no text in it: every line is blank. Choose another file: {}", path.display())]
    Empty {
        /// The file or folder.
        path: PathBuf,
    },

    /// NUL bytes: not a text file.
    #[error("This is not text: byte {offset} is zero, as in pictures, archives and programs. Choose a text file: {}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Position of the first NUL byte, from 0.
        offset: usize,
    },

    /// UTF-16 or UTF-32, as its first bytes say.
    #[error("The text is encoded as {encoding}, not UTF-8. Save it as UTF-8 first: {}", path.display())]
    OtherEncoding {
        /// The file.
        path: PathBuf,
        /// What the byte order mark names.
        encoding: &'static str,
    },

    /// Bytes that are not UTF-8.
    #[error("The text is not UTF-8: byte {offset}, on line {line}, begins no character. Convert the file to UTF-8: {}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Position of the first bad byte, from 0, after unpacking.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },

    /// A gzip file that does not unpack.
    #[error("The gzip file cannot be unpacked ({why}). It may be cut short; copy or download it again: {}", path.display())]
    BrokenGzip {
        /// The file.
        path: PathBuf,
        /// The unpacker's reason.
        why: String,
    },

    /// A Parquet file that cannot be read.
    #[error("The Parquet file cannot be read ({why}). It may be cut short, or packed in a way that is not known here (snappy, zstd and gzip are); copy or write it again: {}", path.display())]
    BrokenParquet {
        /// The file.
        path: PathBuf,
        /// The reader's reason.
        why: String,
    },

    /// A line of a JSONL file that is no JSON object.
    #[error("Line {line} is not a JSON object ({why}). Every line of a .jsonl file must be one; correct or remove the line: {}", path.display())]
    BrokenJson {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The parser's reason.
        why: String,
    },

    /// A JSONL object without the field.
    #[error(
        "Line {line} has no field `{field}`.{} Its fields are {}. Set data.field to the one that holds the text: {}",
        suggestion(nearest.as_deref()), list(found), path.display()
    )]
    MissingField {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field that was looked for.
        field: String,
        /// The fields of that line.
        found: Vec<String>,
        /// The field that may have been meant.
        nearest: Option<String>,
    },

    /// A JSONL field that holds no text.
    #[error("On line {line} the field `{field}` holds {found}, not text. Set data.field to one that holds text: {}", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
        /// What it holds.
        found: &'static str,
    },

    /// Text whose lines end in CR alone.
    #[error(
        "It has no line feed: its {} end in CR alone, as on old Macs, and would be read as one. Convert it, as by \
         `tr '\\r' '\\n'`: {}",
        counted(*lines as u64, "line"), path.display()
    )]
    CarriageReturns {
        /// The file.
        path: PathBuf,
        /// Lines.
        lines: usize,
    },

    /// A table in whose first row the name of the column stands twice.
    #[error(
        "The name `{column}` ({field}) stands twice in the first line, at the columns {} and {} (from {from}), so that it is not said which \
         is meant. Give one of them another name, or set {field} to its number: {}", places[0] + from, places[1] + from, path.display()
    )]
    TwiceColumn {
        /// The file.
        path: PathBuf,
        /// The field of the config that names the column.
        field: &'static str,
        /// The name.
        column: String,
        /// Places of the first two columns of that name, from 0.
        places: [usize; 2],
        /// The number of the first column in that field.
        from: usize,
    },

    /// A table without the column.
    #[error(
        "There is no column `{column}`.{} The first line has {}. Set data.column to a name from the first line, or to a number, which counts from 1 there: {}",
        suggestion(nearest.as_deref()), list(found), path.display()
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column as it was asked for.
        column: String,
        /// The first line's cells.
        found: Vec<String>,
        /// The column that may have been meant.
        nearest: Option<String>,
    },

    /// A table with several columns, and none was chosen.
    #[error(
        "The table has {} columns and none is called `text`: {}. Set data.column to the one that holds the text, by name or by number from 1: {}",
        found.len(), list(found), path.display()
    )]
    WhichColumn {
        /// The file.
        path: PathBuf,
        /// The first line's cells.
        found: Vec<String>,
    },

    /// A row that is too short to have the column.
    #[error("Line {line} has {cells} cells, so column {column} is missing there. Correct or remove the line: {}", path.display())]
    ShortRow {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Cells in that row.
        cells: usize,
        /// The column, from 1.
        column: usize,
    },

    /// Two files of pairs that do not have a line for each other's lines.
    #[error(
        "The files do not belong together line by line: {} has {}, and the file of the translations {}. Line n of one must \
         be the translation of line n of the other; correct them: {}",
        source_path.display(), counted(*source_lines as u64, "line"), counted(*target_lines as u64, "line"), path.display()
    )]
    UnequalLines {
        /// Lines of the texts.
        source_lines: usize,
        /// Lines of the translations.
        target_lines: usize,
        /// The file of the texts.
        source_path: PathBuf,
        /// The file of the translations.
        path: PathBuf,
    },

    /// A pair of which one side is empty.
    #[error(
        "Line {line} has no {side}, though its other side is there. Write it, or remove the line from both sides: {}", path.display()
    )]
    EmptySide {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// `text` or `translation`.
        side: &'static str,
    },

    /// A table of pairs without a column.
    #[error(
        "There is no column `{column}`.{} The first line has {}. Set data.text to two names from the first line, or to two \
         numbers from 0: {}",
        suggestion(nearest.as_deref()), list(found), path.display()
    )]
    MissingPairColumn {
        /// The file.
        path: PathBuf,
        /// The column as it was asked for.
        column: String,
        /// The first line's cells.
        found: Vec<String>,
        /// The column that may have been meant.
        nearest: Option<String>,
    },

    /// A table of pairs whose rows are objects, and none of whose fields were chosen.
    #[error(
        "Its objects have the fields {}. Set data.text to those of the texts and of their translations; a field within another one is \
         written with a point, such as [\"translation.en\", \"translation.de\"]: {}",
        list(found), path.display()
    )]
    WhichPairFields {
        /// The file.
        path: PathBuf,
        /// The fields of the first object.
        found: Vec<String>,
    },

    /// A field of a table of pairs that is no text.
    #[error("On line {line} `{field}` (data.text) is {found}, not text. Correct the line: {}", path.display())]
    NoPairText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
        /// Content.
        found: &'static str,
    },

    /// A table of pairs that does not have two columns, and none were chosen.
    #[error(
        "The table has {}, not two: {}. Set data.text to the columns of the texts and of their translations, by name or by \
         number from 0: {}",
        counted(found.len() as u64, "column"), list(found), path.display()
    )]
    WhichPairColumns {
        /// The file.
        path: PathBuf,
        /// The first line's cells.
        found: Vec<String>,
    },

    /// A row of a table of pairs that is too short to have both columns.
    #[error(
        "Line {line} has {}, so that column {column} (from 0) is missing there. Correct or remove the line: {}",
        counted(*cells as u64, "cell"), path.display()
    )]
    ShortPairRow {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Cells in that row.
        cells: usize,
        /// The column, from 0.
        column: usize,
    },

    /// No pair of which both sides fit.
    #[error(
        "None of the {} of the {part} text has two sides of at most {} and the token that ends them. Raise \
         data.sequence_length, or set data.long to \"truncate\"",
        counted(*pairs as u64, "pair"), counted(sequence.saturating_sub(1) as u64, "token")
    )]
    NoPairFits {
        /// `training` or `validation`.
        part: &'static str,
        /// Pairs that there are.
        pairs: usize,
        /// Tokens of a side, at most.
        sequence: usize,
    },

    /// Too few pairs to fill one batch.
    #[error(
        "There are {} to train on, and one batch needs {batch}. Lower train.batch to {pairs} or less, or give more pairs",
        counted(*pairs as u64, "pair")
    )]
    TooFewPairs {
        /// Pairs that fit.
        pairs: usize,
        /// Examples in one batch.
        batch: usize,
    },

    /// A tokenizer without a token that ends a text, for a model that writes texts.
    #[error(
        "The tokenizer has no token that ends a text (</s>, <|endoftext|>, [SEP] and the like), and a translation must end. \
         Choose another tokenizer, or train one (kind = \"bpe\"): {}", path.display()
    )]
    NoEnd {
        /// The file.
        path: PathBuf,
    },

    /// A CSV file that breaks its own rules.
    #[error("The CSV file cannot be read at line {line} ({why}). Correct the line, or rename the file to .tsv if it separates by tabs: {}", path.display())]
    BrokenCsv {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The parser's reason.
        why: String,
    },

    /// A row of a table with more columns than any.
    #[error("Line {line} has more than {most} columns. Correct the line, or name another file: {}", path.display())]
    ManyColumns {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The most columns that are read.
        most: usize,
    },

    /// More text than memory.
    #[error(
        "Not enough memory for this text: it needs about {} and {} are free. Use fewer files or less text{}", words(*needed_bytes),
        words(*available_bytes), path.as_ref().map(|path| format!(": {}", path.display())).unwrap_or_default()
    )]
    TooLarge {
        /// The file or folder, when the text comes from disk.
        path: Option<PathBuf>,
        /// Estimated need.
        needed_bytes: u64,
        /// Free memory.
        available_bytes: u64,
    },

    /// Text that turned out to be more than memory, such as a file that unpacks to more than it says.
    #[error(
        "Not enough memory for this text: it comes to more than {}, which needs more than {}, and {} are free. Use \
         fewer files or less text: {}",
        words(*text_bytes), words(*needed_bytes), words(*available_bytes), path.display()
    )]
    UnpacksTooLarge {
        /// The file at which the bound was reached.
        path: PathBuf,
        /// Text that was read until then, other files counted.
        text_bytes: u64,
        /// Memory that so much text needs.
        needed_bytes: u64,
        /// Memory that was free before.
        available_bytes: u64,
    },

    /// The text does not fill one example.
    #[error(
        "The {part} text is too short: it has {} and one example needs {needed}. {}", counted(*tokens, "token"), longer(part)
    )]
    TooShort {
        /// `training` or `validation`.
        part: &'static str,
        /// Tokens that there are.
        tokens: usize,
        /// Tokens that one example needs.
        needed: usize,
    },

    /// The text does not fill one batch.
    #[error(
        "The training text fills {} of {sequence} tokens and one batch needs {batch}. \
         Lower train.batch to {windows} or less, lower data.sequence_length, or give more text",
        counted(*windows, "example")
    )]
    TooFewExamples {
        /// Examples that the text fills.
        windows: usize,
        /// Examples in one batch.
        batch: usize,
        /// Tokens in an example.
        sequence: usize,
    },

    /// A batch shape without room for a token.
    #[error(
        "A batch needs at least one example of {least} tokens; train.batch is {batch} and data.sequence_length is {sequence}"
    )]
    BadShape {
        /// Examples in one batch.
        batch: usize,
        /// Tokens in an example.
        sequence: usize,
        /// The shortest usable sequence.
        least: usize,
    },

    /// A `tokenizer.json` that cannot be used.
    #[error("The tokenizer cannot be opened ({why}). Give a tokenizer.json as saved by the tokenizers or transformers library: {}", path.display())]
    TokenizerFile {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        why: String,
    },

    /// A tokenizer without the tokens that stand around and between the texts of an example.
    #[error(
        "The tokenizer has no tokens for the beginning of an example and for the end of a text ([CLS] and [SEP], or <s> and </s>). \
         Choose a tokenizer made for an encoder, or train one (kind = \"word_piece\"): {}", path.display()
    )]
    NoFrame {
        /// The file.
        path: PathBuf,
    },

    /// An encoder's tokenizer that cannot mask.
    #[error(
        "The tokenizer has no mask token ([MASK] or <mask>), and an encoder learns by filling in masked tokens. \
         Choose a tokenizer made for an encoder, train one (kind = \"word_piece\"), or use a decoder: {}", path.display()
    )]
    NoMask {
        /// The file.
        path: PathBuf,
    },

    /// The tokenizer of a model to begin with was asked for, and there is none.
    #[error(
        "The tokenizer is to be that of the model which training begins with, and there is none. Name the model in \
         model.initial, or choose another tokenizer (data.tokenizer)"
    )]
    NoModelTokenizer,

    /// The tokenizer of a model lacks a token that what is learnt needs.
    #[error(
        "The tokenizer of the model to begin with has no token for what is learnt: it lacks {lacks}. Choose another model"
    )]
    UnservingModelTokenizer {
        /// The token, in words.
        lacks: &'static str,
    },

    /// More tokens were asked for than the text yields.
    #[error(
        "The training text yields only {reached} different tokens, fewer than the {asked} asked for. {}", fewer_tokens(*reached)
    )]
    VocabularyTooLarge {
        /// `data.tokenizer.vocabulary`.
        asked: usize,
        /// Tokens that the text yields.
        reached: usize,
    },

    /// Fewer tokens were asked for than single characters need.
    #[error(
        "A vocabulary of {asked} cannot hold the {least} special tokens and single characters. Set data.tokenizer.vocabulary to {least} or more"
    )]
    VocabularyTooSmall {
        /// `data.tokenizer.vocabulary`.
        asked: usize,
        /// The least that would do.
        least: usize,
    },

    /// The tokenizer failed on a text.
    #[error("The tokenizer failed ({why}). Try another kind of tokenizer")]
    Tokenizer {
        /// The library's reason.
        why: String,
    },

    /// A table of texts with labels cannot be learnt from.
    #[error(transparent)]
    Table(#[from] TableError),

    /// Questions about paragraphs cannot be learnt from or answered.
    #[error(transparent)]
    Squad(#[from] SquadError),

    /// Images cannot be learnt from.
    #[error(transparent)]
    Image(#[from] ImageError),

    /// Images are asked for where there is text.
    #[error("The data are text, and the model reads images. Name a folder or a file of images")]
    NoImages,

    /// The rules of expressions hardly ever give one.
    #[error(
        "Only {found} of {wanted} different expressions were found in {draws} draws: hardly any is longer than {min_length} and \
         shorter than {max_length} by these rules. Widen data.min_length and data.max_length, or raise data.max_depth or data.max_args"
    )]
    RareExpressions {
        /// Expressions that were found.
        found: usize,
        /// Expressions that are wanted.
        wanted: usize,
        /// Expressions that were drawn.
        draws: u64,
        /// They are longer than so many symbols.
        min_length: usize,
        /// They are shorter than so many symbols.
        max_length: usize,
    },

    /// The built-in grammar does not parse.
    #[error("The grammar is broken ({why}). Correct the grammar file")]
    Grammar {
        /// What is wrong and where.
        why: String,
    },
}

impl DataError {
    /// The error with fields of a table under other names.
    pub fn named(self, names: FieldNames) -> Self {
        match self {
            Self::Table(error) => error.named(names).into(),
            other => other,
        }
    }

    /// Why the system refused to read what stands at a path.
    pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match (wrong_kind(error), error.kind()) {
            (Some(kind), _) => Self::NoFile { path, kind },
            (None, std::io::ErrorKind::NotFound) => Self::Missing { path },
            (None, _) => Self::Unreadable { path, why: error.to_string() },
        }
    }

    /// The field of the config to correct, where it is not the one that names the path.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::MissingField { .. } | Self::NotText { .. } => Some("data.field"),
            Self::MissingColumn { .. } | Self::ShortRow { .. } | Self::WhichColumn { .. } => Some("data.column"),
            Self::UnequalLines { .. } => Some("data.target"),
            Self::Table(error) => error.field(),
            Self::Squad(error) => error.field(),
            Self::Image(error) => error.field(),
            Self::RareExpressions { .. } => Some("data.min_length"),
            Self::MissingPairColumn { .. }
            | Self::WhichPairColumns { .. }
            | Self::WhichPairFields { .. }
            | Self::NoPairText { .. }
            | Self::ShortPairRow { .. } => Some("data.text"),
            Self::TwiceColumn { field, .. } => Some(field),
            _ => None,
        }
    }
}

/// ` Did you mean ...?`, or nothing.
/// What to do where the text yields only so many tokens: advice that a config may take.
fn fewer_tokens(reached: usize) -> String {
    if reached >= TrainedTokenizer::LEAST {
        return format!("Set data.tokenizer.vocabulary to {reached} or less, or give more text");
    }
    format!(
        "That is fewer than the least vocabulary, {}: give more text, or take bytes (data.tokenizer.kind = \"bytes\")",
        TrainedTokenizer::LEAST
    )
}

/// What to do where a part of the text does not fill an example. A held-out example may be short: there is next to no such text.
fn longer(part: &str) -> &'static str {
    if part == "validation" {
        "Raise data.validation_fraction, name a text of its own by data.validation_path, or give more text, in several documents"
    } else {
        "Give more text or lower data.sequence_length"
    }
}
