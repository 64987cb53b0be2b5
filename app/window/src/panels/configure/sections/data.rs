use std::{collections::BTreeMap, path::PathBuf};

use egui::Ui;
use headroom_engine::config::{
    ByteTokenizer, DataConfig, FileSource, FileTokenizer, GrammarSource, InitialTokenizer, Modality, ModelKind,
    NumberWordsSource, RandomSource, RunConfig, Source, TaskConfig, Tokenizer, TrainConfig, TrainedTokenizer,
    TranslationTask, WordTokenizer, presets,
};

use headroom_engine::data::DataPreview;

use super::{
    super::{
        field::field,
        form::{Form, note_ui},
    },
    examples::found_ui,
    sources::{SourceContext, SourceForm, form_of},
    translation::scored_ui,
};
use crate::{
    file_dialogs::{Ask, Pick},
    widgets::Thumbnails,
};

/// Pixels of a side of a square that divides images of 28, 32 and 64 pixels.
const USUAL_PATCH: usize = 4;

/// What the other kinds of source were when they were left, so that looking at another kind loses nothing.
#[derive(Default)]
pub struct SourceMemory {
    /// Sources by their words in configs.
    sources: BTreeMap<&'static str, Source>,
    task: Option<TaskConfig>,
    vocabulary: Option<usize>,
    tokenizer_path: PathBuf,
    thumbnails: Thumbnails,
    /// How translations were scored, before none was.
    scored: TranslationTask,
}

/// Text and tokens, and of a table what is learnt of it. `preview`: what was found in that table, or of those images.
pub fn data_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    config: &mut RunConfig,
    preview: Option<&DataPreview>,
    memory: &mut SourceMemory,
) {
    let begins = config.model.initial.is_some();
    let RunConfig { data, task, model, .. } = config;
    source_ui(ui, form, (data, task, model.patch), preview, memory);
    if !data.source.has_images() {
        form.size(ui, field!("data.sequence_length"), &mut data.sequence_length);
        form.named(ui, field!("data.shuffled"), &mut data.shuffled, &[false, true]);
    }
    if !data.source.has_own_split() {
        form.decimal(ui, field!("data.validation_fraction"), &mut data.validation_fraction);
    }
    if !data.source.has_own_tokens() {
        tokenizer_ui(ui, form, data, begins, memory);
    }
}

impl SourceMemory {
    fn keep(&mut self, source: &Source) {
        let amount = source.clone().settings_mut().amount_mut().map(|(words, seed)| (*words, *seed));
        // Kinds that generate words generate as many.
        for mut other in Source::examples() {
            if let (Some(amount), Some((words, seed))) = (amount, other.settings_mut().amount_mut()) {
                (*words, *seed) = amount;
                self.sources.insert(other.facts().kind, other);
            }
        }
        self.sources.insert(source.facts().kind, source.clone());
    }

    /// The source of a kind as it was left, else as it usually is.
    fn source(&self, kind: &str) -> Source {
        self.sources.get(kind).cloned().or_else(|| Source::of_kind(kind)).unwrap_or_default()
    }
}

/// Gives a model that begins or ceases to translate a text that it can learn from.
pub fn follow_model_kind(
    source: &mut Source,
    encoder_layers: &mut Option<usize>,
    has_pairs: bool,
    memory: &mut SourceMemory,
) {
    if source.has_pairs() != has_pairs {
        memory.keep(source);
        let modality = if has_pairs { Modality::Pairs } else { Modality::Text };
        let generated = Source::generated(modality).unwrap_or_default();
        *source = memory.source(generated.facts().kind);
    }
    if !has_pairs {
        *encoder_layers = None;
    }
}

/// Gives the config the task that its data are for, the one of before where it was one of these, and takes it away where they
/// are for none.
pub fn follow_labels(config: &mut RunConfig, memory: &mut SourceMemory) {
    follow_images(config);
    let source = &config.data.source;
    if config.task.as_ref().is_some_and(|task| !task.learns_from(source)) {
        memory.task = config.task.take();
        if config.evaluation_size() == 0 {
            config.train.evaluate_on(config.train.default_evaluation_size());
        }
    }
    if !source.has_labels() || config.task.is_some() {
        return;
    }
    let known = memory.task.clone().filter(|task| task.learns_from(source));
    config.task = known.or_else(|| TaskConfig::usual_for(source));
    // Examples with labels are few beside tokens: what is told of a set is of all of it.
    let usual = [&config.train, &TrainConfig::default()].map(TrainConfig::default_evaluation_size);
    if usual.contains(&config.evaluation_size()) {
        config.train.evaluate_on(0);
    }
    // Nothing else answers about whole examples.
    (config.model.kind, config.model.encoder_layers) = (ModelKind::Encoder, None);
}

/// A model of images reads them in squares and has no text; expressions are read whole.
fn follow_images(config: &mut RunConfig) {
    let RunConfig { data, model, .. } = config;
    if data.source.has_images() {
        model.patch = model.patch.or(Some(USUAL_PATCH));
        (model.positions, data.shuffled, data.sequence_length) = (None, false, 0);
        return;
    }
    model.patch = None;
    if let Some(longest) = data.source.settings().longest() {
        data.sequence_length = longest;
    } else if data.sequence_length == 0 {
        data.sequence_length = DataConfig::default().sequence_length;
    }
}

/// A name that nobody chose follows the data: that of a preset, or one that was given here.
pub fn follow_name(config: &mut RunConfig) {
    let RunConfig { name, model, data, .. } = config;
    let is_preset = presets().iter().any(|preset| preset.config().is_ok_and(|config| config.name == *name));
    let is_given = Source::examples().iter().any(|source| source.facts().run_names.contains(&name.as_str()));
    if is_given || is_preset || *name == RunConfig::default().name {
        let [of_decoder, of_other] = data.source.facts().run_names;
        let usual = if model.kind.is_causal() { of_decoder } else { of_other };
        usual.clone_into(name);
    }
}

fn source_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    (data, task, patch): (&mut DataConfig, &mut Option<TaskConfig>, Option<usize>),
    preview: Option<&DataPreview>,
    memory: &mut SourceMemory,
) {
    let mut kind = data.source.facts().kind;
    let kinds: Vec<(&str, &str)> =
        Source::examples().iter().map(|source| (source.facts().kind, source.facts().label)).collect();
    if form.choice(ui, field!("data.kind"), &mut kind, &kinds) {
        memory.keep(&data.source);
        data.source = memory.source(kind);
        form.unreadable.forget("data.");
    }
    let SourceMemory { thumbnails, scored, .. } = memory;
    form_of(&mut data.source).ui(ui, form, SourceContext { task, patch, preview, thumbnails, scored });
    if let Some(found) = preview.and_then(DataPreview::examples) {
        found_ui(ui, found);
    }
}

impl SourceForm for GrammarSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, _: SourceContext<'_>) {
        note_ui(ui, "Sentences from a grammar with agreement, nested clauses and pronouns. Nothing to download.");
        amount_ui(ui, form, &mut self.words, &mut self.text_seed);
    }
}

impl SourceForm for RandomSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, _: SourceContext<'_>) {
        note_ui(ui, "Words drawn at random with the grammar's frequencies: there is nothing else to learn.");
        amount_ui(ui, form, &mut self.words, &mut self.text_seed);
    }
}

fn amount_ui(ui: &mut Ui, form: &mut Form<'_>, words: &mut usize, seed: &mut u64) {
    form.size(ui, field!("data.words"), words);
    form.whole(ui, field!("data.text_seed"), seed);
}

impl SourceForm for NumberWordsSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        note_ui(ui, "Numbers and dates in English words with their German translations. Nothing to download.");
        form.size(ui, field!("data.pairs"), &mut self.pairs);
        form.whole(ui, field!("data.text_seed"), &mut self.text_seed);
        scored_ui(ui, form, context.task, context.scored);
    }
}

impl SourceForm for FileSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, _: SourceContext<'_>) {
        file_ui(ui, form, self);
    }
}

fn file_ui(ui: &mut Ui, form: &mut Form<'_>, file: &mut FileSource) {
    let picks = [Pick::File, Pick::Folder];
    form.path(ui, field!("file", "data.path"), &mut file.path, &picks, |pick| ask_text(pick, "Text to train on"));
    if file.path.is_relative() && !file.path.as_os_str().is_empty() {
        note_ui(ui, &format!("Relative paths start at {}", form.base_dir.display()));
    }
    form.optional_path(ui, field!("file", "data.validation_path"), &mut file.validation_path, &picks, |pick| {
        ask_text(pick, "Text to evaluate on")
    });
    form.optional_text(ui, field!("data.field"), &mut file.field);
    form.optional_text(ui, field!("data.column"), &mut file.column);
}

fn ask_text(pick: Pick, title: &str) -> Ask {
    match pick {
        Pick::Folder => Ask::new(pick, format!("{title}: a folder")),
        Pick::File | Pick::Save => Ask::new(pick, title).kind("Text", &["txt", "jsonl", "csv", "tsv", "gz", "parquet"]),
    }
}

fn tokenizer_ui(ui: &mut Ui, form: &mut Form<'_>, data: &mut DataConfig, begins: bool, memory: &mut SourceMemory) {
    let mut kind = data.tokenizer.kind();
    let mut kinds = vec!["bpe", "word_piece", "bytes", "file"];
    kinds.extend((kind == "words").then_some("words"));
    kinds.extend((begins || kind == "initial").then_some("initial"));
    if form.named(ui, field!("data.tokenizer.kind"), &mut kind, &kinds) {
        match &data.tokenizer {
            Tokenizer::Bpe(trained) | Tokenizer::WordPiece(trained) => memory.vocabulary = Some(trained.vocabulary),
            Tokenizer::File(file) => memory.tokenizer_path.clone_from(&file.path),
            Tokenizer::Words(words) => memory.vocabulary = Some(words.vocabulary),
            Tokenizer::Bytes(_) | Tokenizer::Initial(_) => {}
        }
        let vocabulary = memory.vocabulary.unwrap_or_else(|| TrainedTokenizer::default().vocabulary);
        data.tokenizer = match kind {
            "bytes" => Tokenizer::Bytes(ByteTokenizer {}),
            "word_piece" => Tokenizer::WordPiece(TrainedTokenizer { vocabulary }),
            "words" => Tokenizer::Words(WordTokenizer { vocabulary }),
            "file" => Tokenizer::File(FileTokenizer { path: memory.tokenizer_path.clone() }),
            "initial" => Tokenizer::Initial(InitialTokenizer {}),
            _ => Tokenizer::Bpe(TrainedTokenizer { vocabulary }),
        };
        form.unreadable.forget("data.tokenizer");
    }
    match &mut data.tokenizer {
        Tokenizer::Bpe(TrainedTokenizer { vocabulary }) | Tokenizer::WordPiece(TrainedTokenizer { vocabulary }) => {
            note_ui(ui, "Trained on the training text, once; kept for later runs.");
            form.size(ui, field!("data.tokenizer.vocabulary"), vocabulary);
        }
        Tokenizer::Words(words) => {
            note_ui(ui, "Each word of the training text is a token; of too many the rarer ones are unknown.");
            form.size(ui, field!("data.tokenizer.vocabulary"), &mut words.vocabulary);
        }
        Tokenizer::Initial(_) => note_ui(ui, "Its weights are for these tokens alone."),
        Tokenizer::Bytes(_) => note_ui(ui, "Each byte is a token: 256 and the special ones."),
        Tokenizer::File(file) => {
            let ask = |pick| Ask::new(pick, "Tokenizer").kind("Tokenizer", &["json"]);
            form.path(ui, field!("data.tokenizer.path"), &mut file.path, &[Pick::File], ask);
        }
    }
}
