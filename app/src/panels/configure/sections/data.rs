use std::path::PathBuf;

use egui::Ui;
use headroom_engine::config::{
    ByteTokenizer, DataConfig, FileSource, FileTokenizer, GrammarSource, RandomSource, Source, Tokenizer,
    TrainedTokenizer,
};

use super::super::{
    field::Words,
    form::{Form, note_ui},
};
use crate::file_dialogs::{Answer, Ask, FileDialogs, Pick};

const SOURCE: Words = Words::new("data.kind", "Text", "Where the text comes from.");
const PATH: Words = Words::new(
    "data.path",
    "File or folder",
    "Text files: .txt, .jsonl, .csv, .tsv, any of them gzipped, or a folder of such.",
);
const VALIDATION_PATH: Words = Words::new(
    "data.validation_path",
    "Held-out text",
    "A file or folder to evaluate on. When it is empty, a share of the text is held out.",
);
const FIELD: Words =
    Words::new("data.field", "JSONL field", "The field of each JSONL object that holds the text; empty = `text`.");
const COLUMN: Words = Words::new(
    "data.column",
    "CSV column",
    "The column that holds the text: its name in the header line, or its number from 1.",
);
const WORDS: Words = Words::new("data.words", "Words", "Amount of generated text.").unit("words");
const TEXT_SEED: Words = Words::new(
    "data.text_seed",
    "Text seed",
    "Seed of the text, apart from the run's seed, so that runs with several seeds see the same text.",
);
const SEQUENCE: Words = Words::new(
    "data.sequence_length",
    "Sequence length",
    "Tokens of one example, special tokens included. Cost of attention grows with its square.",
)
.unit("tokens");
const ORDER: Words = Words::new(
    "data.shuffled",
    "Order of tokens",
    "Shuffled is the text's control: every token stands at a random place, so that single tokens are as frequent as \
     before \
     and nothing else is left to learn. What a model shows on both is not due to language.",
);
const HELD_OUT: Words = Words::new(
    "data.validation_fraction",
    "Held-out share",
    "Share of the text that is only evaluated on, cut by document, or by contiguous blocks in a single document.",
)
.unit("of 1");
const TOKENIZER: Words = Words::new("data.tokenizer", "Tokenizer", "How text becomes tokens.");
const VOCABULARY: Words = Words::new(
    "data.tokenizer.vocabulary",
    "Vocabulary",
    "Number of different tokens, special ones included. A small text may allow fewer.",
)
.unit("tokens");
const TOKENIZER_PATH: Words =
    Words::new("data.tokenizer.path", "tokenizer.json", "A tokenizer in the format of Hugging Face `tokenizers`.");

#[derive(Clone, Copy, PartialEq)]
enum SourceKind {
    Grammar,
    Random,
    File,
}

#[derive(Clone, Copy, PartialEq)]
enum TokenizerKind {
    Bytes,
    Bpe,
    WordPiece,
    File,
}

/// What the other kinds of source were when they were left, so that looking at another kind loses nothing.
#[derive(Default)]
pub struct SourceMemory {
    file: FileSource,
    words: Option<(usize, u64)>,
    vocabulary: Option<usize>,
    tokenizer_path: PathBuf,
}

/// Text and tokens.
pub fn data_ui(ui: &mut Ui, form: &mut Form<'_>, data: &mut DataConfig, memory: &mut SourceMemory) {
    source_ui(ui, form, data, memory);
    form.size(ui, SEQUENCE, &mut data.sequence_length, 16);
    form.choice(ui, ORDER, &mut data.shuffled, &[(false, "As in the text"), (true, "Shuffled: the control")]);
    let held_out_by_file = matches!(&data.source, Source::File(file) if file.validation_path.is_some());
    if !held_out_by_file {
        form.decimal(ui, HELD_OUT, &mut data.validation_fraction);
    }
    tokenizer_ui(ui, form, data, memory);
}

fn source_ui(ui: &mut Ui, form: &mut Form<'_>, data: &mut DataConfig, memory: &mut SourceMemory) {
    let mut kind = match &data.source {
        Source::Grammar(_) => SourceKind::Grammar,
        Source::Random(_) => SourceKind::Random,
        Source::File(_) => SourceKind::File,
    };
    let kinds = [
        (SourceKind::Grammar, "Built-in English"),
        (SourceKind::Random, "Random words"),
        (SourceKind::File, "Your own files"),
    ];
    if form.choice(ui, SOURCE, &mut kind, &kinds) {
        match &data.source {
            Source::File(file) => memory.file = file.clone(),
            Source::Grammar(GrammarSource { words, text_seed }) | Source::Random(RandomSource { words, text_seed }) => {
                memory.words = Some((*words, *text_seed));
            }
        }
        let usual = GrammarSource::default();
        let (words, text_seed) = memory.words.unwrap_or((usual.words, usual.text_seed));
        data.source = match kind {
            SourceKind::Grammar => Source::Grammar(GrammarSource { words, text_seed }),
            SourceKind::Random => Source::Random(RandomSource { words, text_seed }),
            SourceKind::File => Source::File(memory.file.clone()),
        };
        for path in [PATH, VALIDATION_PATH, FIELD, COLUMN, WORDS, TEXT_SEED] {
            form.unreadable.forget(path.path);
        }
    }
    match &mut data.source {
        Source::Grammar(GrammarSource { words, text_seed }) => {
            note_ui(ui, "Sentences from a grammar with agreement, nested clauses and pronouns. Nothing to download.");
            form.size(ui, WORDS, words, 50_000);
            form.whole(ui, TEXT_SEED, text_seed, 1);
        }
        Source::Random(RandomSource { words, text_seed }) => {
            note_ui(ui, "Words drawn at random with the grammar's frequencies: there is nothing else to learn.");
            form.size(ui, WORDS, words, 50_000);
            form.whole(ui, TEXT_SEED, text_seed, 1);
        }
        Source::File(file) => file_ui(ui, form, file),
    }
}

fn file_ui(ui: &mut Ui, form: &mut Form<'_>, file: &mut FileSource) {
    let picks = [Pick::File, Pick::Folder];
    form.path(ui, PATH, &mut file.path, &picks, |pick| ask_text(pick, "Text to train on"));
    if file.path.is_relative() && !file.path.as_os_str().is_empty() {
        note_ui(ui, &format!("Starts at {}", form.base_dir.display()));
    }
    let mut validation = file.validation_path.clone().unwrap_or_default();
    if form.path(ui, VALIDATION_PATH, &mut validation, &picks, |pick| ask_text(pick, "Text to evaluate on")) {
        file.validation_path = Some(validation).filter(|path| !path.as_os_str().is_empty());
    }
    form.optional_text(ui, FIELD, &mut file.field);
    form.optional_text(ui, COLUMN, &mut file.column);
}

fn ask_text(pick: Pick, title: &str) -> Ask {
    match pick {
        Pick::Folder => Ask::new(pick, format!("{title}: a folder")),
        Pick::File | Pick::Save => Ask::new(pick, title).kind("Text", &["txt", "jsonl", "csv", "tsv", "gz"]),
    }
}

fn tokenizer_ui(ui: &mut Ui, form: &mut Form<'_>, data: &mut DataConfig, memory: &mut SourceMemory) {
    let mut kind = match &data.tokenizer {
        Tokenizer::Bytes(_) => TokenizerKind::Bytes,
        Tokenizer::Bpe(_) => TokenizerKind::Bpe,
        Tokenizer::WordPiece(_) => TokenizerKind::WordPiece,
        Tokenizer::File(_) => TokenizerKind::File,
    };
    let kinds = [
        (TokenizerKind::Bpe, "Byte pairs, trained"),
        (TokenizerKind::WordPiece, "WordPiece, trained"),
        (TokenizerKind::Bytes, "Bytes"),
        (TokenizerKind::File, "A tokenizer.json"),
    ];
    if form.choice(ui, TOKENIZER, &mut kind, &kinds) {
        match &data.tokenizer {
            Tokenizer::Bpe(trained) | Tokenizer::WordPiece(trained) => memory.vocabulary = Some(trained.vocabulary),
            Tokenizer::File(file) => memory.tokenizer_path.clone_from(&file.path),
            Tokenizer::Bytes(_) => {}
        }
        let vocabulary = memory.vocabulary.unwrap_or_else(|| TrainedTokenizer::default().vocabulary);
        data.tokenizer = match kind {
            TokenizerKind::Bytes => Tokenizer::Bytes(ByteTokenizer {}),
            TokenizerKind::Bpe => Tokenizer::Bpe(TrainedTokenizer { vocabulary }),
            TokenizerKind::WordPiece => Tokenizer::WordPiece(TrainedTokenizer { vocabulary }),
            TokenizerKind::File => Tokenizer::File(FileTokenizer { path: memory.tokenizer_path.clone() }),
        };
        form.unreadable.forget("data.tokenizer");
    }
    match &mut data.tokenizer {
        Tokenizer::Bpe(TrainedTokenizer { vocabulary }) | Tokenizer::WordPiece(TrainedTokenizer { vocabulary }) => {
            note_ui(ui, "Trained on the training text, once; kept for later runs.");
            form.size(ui, VOCABULARY, vocabulary, 256);
        }
        Tokenizer::Bytes(_) => note_ui(ui, "Each byte is a token: 256 and the special ones."),
        Tokenizer::File(file) => {
            let ask = |pick| Ask::new(pick, "Tokenizer").kind("Tokenizer", &["json"]);
            form.path(ui, TOKENIZER_PATH, &mut file.path, &[Pick::File], ask);
        }
    }
}

/// Puts the answers of file dialogs into their fields. Returns the field that changed.
pub fn picked(dialogs: &mut FileDialogs, data: &mut DataConfig) -> Option<&'static str> {
    let mut changed = None;
    for words in [PATH, VALIDATION_PATH, TOKENIZER_PATH] {
        let Some(Answer::Picked(path)) = dialogs.take(words.path) else { continue };
        match (&mut data.source, &mut data.tokenizer) {
            (Source::File(file), _) if words.path == PATH.path => file.path = path,
            (Source::File(file), _) if words.path == VALIDATION_PATH.path => file.validation_path = Some(path),
            (_, Tokenizer::File(file)) if words.path == TOKENIZER_PATH.path => file.path = path,
            // The user has turned to another kind meanwhile.
            _ => continue,
        }
        changed = Some(words.path);
    }
    changed
}
