use std::path::PathBuf;

use egui::Ui;
use headroom_engine::config::{
    ByteTokenizer, ClassificationTask, DataConfig, FileSource, FileTokenizer, GrammarSource, ImageClassificationTask,
    ImagesSource, InitialTokenizer, ListOpsSource, ModelKind, NumberWordsSource, PairsSource, PathfinderSource,
    RandomSource, RunConfig, Source, SpanTask, SquadSource, TableSource, TaskConfig, Tokenizer, TrainConfig,
    TrainedTokenizer, TranslationTask, WordTokenizer, presets,
};

use headroom_engine::data::DataPreview;

use super::{
    super::{
        field::field,
        form::{Form, note_ui},
    },
    examples::{expressions_ui, found_ui, images_ui, pathfinder_ui},
    questions::questions_ui,
    table::{table_ui, weights_ui},
    translation::{pairs_ui, scored_ui},
};
use crate::{
    file_dialogs::{Ask, Pick},
    widgets::Thumbnails,
};

/// Pixels of a side of a square that divides images of 28, 32 and 64 pixels.
const USUAL_PATCH: usize = 4;

#[derive(Clone, Copy, PartialEq)]
enum SourceKind {
    Grammar,
    Random,
    File,
    NumberWords,
    Pairs,
    Table,
    Squad,
    Images,
    Pathfinder,
    ListOps,
}

impl SourceKind {
    const ALL: [Self; 10] = [
        Self::Grammar,
        Self::Random,
        Self::File,
        Self::NumberWords,
        Self::Pairs,
        Self::Table,
        Self::Squad,
        Self::Images,
        Self::Pathfinder,
        Self::ListOps,
    ];

    fn of(source: &Source) -> Self {
        match source {
            Source::Grammar(_) => Self::Grammar,
            Source::Random(_) => Self::Random,
            Source::File(_) => Self::File,
            Source::NumberWords(_) => Self::NumberWords,
            Source::Pairs(_) => Self::Pairs,
            Source::Table(_) => Self::Table,
            Source::Squad(_) => Self::Squad,
            Source::Images(_) => Self::Images,
            Source::Pathfinder(_) => Self::Pathfinder,
            Source::ListOps(_) => Self::ListOps,
        }
    }

    /// What a run of such data is called until somebody names it.
    fn usual_name(self, model: ModelKind) -> &'static str {
        let is_decoder = model == ModelKind::Decoder;
        match self {
            Self::Grammar if is_decoder => "grammar decoder",
            Self::Grammar => "grammar encoder",
            Self::File if is_decoder => "text decoder",
            Self::File => "text encoder",
            Self::Random => "random control",
            Self::NumberWords => "number words",
            Self::Pairs => "translation",
            Self::Table => "text classifier",
            Self::Squad => "question answering",
            Self::Images => "image classifier",
            Self::Pathfinder => "pathfinder",
            Self::ListOps => "listops",
        }
    }
}

/// What the other kinds of source were when they were left, so that looking at another kind loses nothing.
#[derive(Default)]
pub struct SourceMemory {
    file: FileSource,
    pairs: PairsSource,
    table: Option<TableSource>,
    squad: Option<SquadSource>,
    images: Option<ImagesSource>,
    pathfinder: PathfinderSource,
    expressions: ListOpsSource,
    task: Option<TaskConfig>,
    numbers: NumberWordsSource,
    words: Option<(usize, u64)>,
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
    if data.source.has_images() {
        image_split_ui(ui, form, data);
        return;
    }
    form.size(ui, field!("data.sequence_length"), &mut data.sequence_length);
    form.named(ui, field!("data.shuffled"), &mut data.shuffled, &[false, true]);
    let held_out_by_file = match &data.source {
        Source::File(file) => file.validation_path.is_some(),
        Source::Pairs(pairs) => pairs.validation_path.is_some() || pairs.validation_source.is_some(),
        Source::Table(table) => table.validation_path.is_some(),
        Source::Squad(squad) => squad.validation_path.is_some(),
        Source::ListOps(_) => true,
        Source::Grammar(_) | Source::Random(_) | Source::NumberWords(_) | Source::Images(_) | Source::Pathfinder(_) => {
            false
        }
    };
    if !held_out_by_file {
        form.decimal(ui, field!("data.validation_fraction"), &mut data.validation_fraction);
    }
    if !data.source.has_own_tokens() {
        tokenizer_ui(ui, form, data, begins, memory);
    }
}

/// The held-out share of images that have no held-out ones of their own.
fn image_split_ui(ui: &mut Ui, form: &mut Form<'_>, data: &mut DataConfig) {
    if matches!(&data.source, Source::Images(images) if images.validation_path.is_none()) {
        form.decimal(ui, field!("data.validation_fraction"), &mut data.validation_fraction);
    }
}

impl SourceMemory {
    fn keep(&mut self, source: &Source) {
        match source {
            Source::File(file) => self.file = file.clone(),
            Source::Grammar(GrammarSource { words, text_seed }) | Source::Random(RandomSource { words, text_seed }) => {
                self.words = Some((*words, *text_seed));
            }
            Source::NumberWords(numbers) => self.numbers = numbers.clone(),
            Source::Pairs(pairs) => self.pairs = pairs.clone(),
            Source::Table(table) => self.table = Some(table.clone()),
            Source::Squad(squad) => self.squad = Some(squad.clone()),
            Source::Images(images) => self.images = Some(images.clone()),
            Source::Pathfinder(pathfinder) => self.pathfinder = pathfinder.clone(),
            Source::ListOps(expressions) => self.expressions = expressions.clone(),
        }
    }

    fn source(&self, kind: SourceKind) -> Source {
        let usual = GrammarSource::default();
        let (words, text_seed) = self.words.unwrap_or((usual.words, usual.text_seed));
        match kind {
            SourceKind::Grammar => Source::Grammar(GrammarSource { words, text_seed }),
            SourceKind::Random => Source::Random(RandomSource { words, text_seed }),
            SourceKind::File => Source::File(self.file.clone()),
            SourceKind::NumberWords => Source::NumberWords(self.numbers.clone()),
            SourceKind::Pairs => Source::Pairs(self.pairs.clone()),
            SourceKind::Table => Source::Table(self.table.clone().unwrap_or_default()),
            SourceKind::Squad => Source::Squad(self.squad.clone().unwrap_or_default()),
            SourceKind::Images => Source::Images(self.images.clone().unwrap_or_default()),
            SourceKind::Pathfinder => Source::Pathfinder(self.pathfinder.clone()),
            SourceKind::ListOps => Source::ListOps(self.expressions.clone()),
        }
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
        *source = memory.source(if has_pairs { SourceKind::NumberWords } else { SourceKind::Grammar });
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
    config.task = known.or_else(|| usual_task(source));
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
    if let Source::ListOps(expressions) = &data.source {
        data.sequence_length = expressions.max_length;
    } else if data.sequence_length == 0 {
        data.sequence_length = DataConfig::default().sequence_length;
    }
}

/// A name that nobody chose follows the data: that of a preset, or one that was given here.
pub fn follow_name(config: &mut RunConfig) {
    let RunConfig { name, model, data, .. } = config;
    let is_preset = presets().iter().any(|preset| preset.config().is_ok_and(|config| config.name == *name));
    let is_given = SourceKind::ALL.iter().any(|kind| ModelKind::ALL.iter().any(|m| kind.usual_name(*m) == name));
    if is_given || is_preset || *name == RunConfig::default().name {
        SourceKind::of(&data.source).usual_name(model.kind).clone_into(name);
    }
}

fn usual_task(source: &Source) -> Option<TaskConfig> {
    match source {
        Source::Table(_) | Source::ListOps(_) => Some(TaskConfig::Classification(ClassificationTask::default())),
        Source::Images(_) | Source::Pathfinder(_) => {
            Some(TaskConfig::ImageClassification(ImageClassificationTask::default()))
        }
        Source::Squad(_) => Some(TaskConfig::Span(SpanTask::default())),
        Source::File(_) | Source::Grammar(_) | Source::Random(_) | Source::Pairs(_) | Source::NumberWords(_) => None,
    }
}

fn source_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    (data, task, patch): (&mut DataConfig, &mut Option<TaskConfig>, Option<usize>),
    preview: Option<&DataPreview>,
    memory: &mut SourceMemory,
) {
    let mut kind = SourceKind::of(&data.source);
    let kinds = [
        (SourceKind::Grammar, "Built-in English"),
        (SourceKind::Random, "Random words"),
        (SourceKind::File, "Your own files"),
        (SourceKind::NumberWords, "Number words, to translate"),
        (SourceKind::Pairs, "Your own pairs, to translate"),
        (SourceKind::Table, "A table with labels"),
        (SourceKind::Squad, "Questions about paragraphs"),
        (SourceKind::Images, "Images with classes"),
        (SourceKind::Pathfinder, "Pathfinder images"),
        (SourceKind::ListOps, "ListOps expressions"),
    ];
    if form.choice(ui, field!("data.kind"), &mut kind, &kinds) {
        memory.keep(&data.source);
        data.source = memory.source(kind);
        form.unreadable.forget("data.");
    }
    let found = preview.and_then(DataPreview::images).map(|images| (images, patch));
    let SourceMemory { thumbnails, scored, .. } = memory;
    match &mut data.source {
        Source::Grammar(GrammarSource { words, text_seed }) => {
            note_ui(ui, "Sentences from a grammar with agreement, nested clauses and pronouns. Nothing to download.");
            form.size(ui, field!("data.words"), words);
            form.whole(ui, field!("data.text_seed"), text_seed);
        }
        Source::Random(RandomSource { words, text_seed }) => {
            note_ui(ui, "Words drawn at random with the grammar's frequencies: there is nothing else to learn.");
            form.size(ui, field!("data.words"), words);
            form.whole(ui, field!("data.text_seed"), text_seed);
        }
        Source::File(file) => file_ui(ui, form, file),
        Source::NumberWords(NumberWordsSource { pairs, text_seed }) => {
            note_ui(ui, "Numbers and dates in English words with their German translations. Nothing to download.");
            form.size(ui, field!("data.pairs"), pairs);
            form.whole(ui, field!("data.text_seed"), text_seed);
            scored_ui(ui, form, task, scored);
        }
        Source::Pairs(pairs) => {
            pairs_ui(ui, form, pairs);
            scored_ui(ui, form, task, scored);
        }
        Source::Table(table) => table_ui(ui, form, table, task, preview.and_then(DataPreview::table)),
        Source::Squad(squad) => questions_ui(ui, form, squad, task),
        Source::Images(images) => {
            images_ui(ui, form, images, found, thumbnails);
            if let Some(TaskConfig::ImageClassification(classes)) = task {
                let counts = found.map(|(found, _)| found.classes.as_slice());
                weights_ui(ui, form, &mut classes.class_weights, counts);
            }
        }
        Source::Pathfinder(pathfinder) => pathfinder_ui(ui, form, pathfinder, found, thumbnails),
        Source::ListOps(expressions) => expressions_ui(ui, form, expressions),
    }
    if let Some(found) = preview.and_then(DataPreview::examples) {
        found_ui(ui, found);
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
