//! Images with classes, and examples that are generated with their answers.

use std::path::PathBuf;

use egui::{Label, RichText, Ui};
use headroom_engine::{
    config::{ImageShape, ImagesSource, ListOpsSource, PathfinderSource, TaskConfig, counted},
    data::{ExamplesPreview, ImagesPreview, PreviewExample, PreviewImage},
};

use super::{
    super::{
        field::Words,
        form::{Form, note_ui, under_ui},
    },
    shared_words::{PATH, TEXT_SEED},
    sources::{SourceContext, SourceForm},
    table::{WEIGHTS, counts_ui, weights_ui},
};
use crate::{
    file_dialogs::{Ask, Pick},
    format::shortened,
    theme,
    widgets::{Thumbnail, Thumbnails},
};

/// Letters of an example, and tokens of it, that are shown.
const LETTERS: usize = 320;
const TOKENS: usize = 48;

const HELD_OUT_IMAGES: Words = Words::new(
    "data.validation_path",
    "Held-out images",
    "A file or folder to evaluate on. When it is empty, a share of the images is held out.",
)
.empty("a share of them");
const LABELS: Words = Words::new(
    "data.labels",
    "Labels",
    "The IDX file of the labels. Empty = the file beside the images that is named alike; CIFAR files and folders hold their labels.",
)
.empty("found beside them");
const HELD_OUT_LABELS: Words =
    Words::new("data.validation_labels", "Held-out labels", "The IDX file of the labels of the held-out images.")
        .empty("found beside them");
const CLASSES: Words = Words::new(
    "data.classes",
    "Names of classes",
    "A file with the name of a class in each line, from class 0 on. Empty = their numbers, or the names of the folders.",
)
.empty("their numbers");
const SIZE: Words = Words::new("data.size", "Pixels of a side", "Size of the generated images.");
const CONTOUR: Words = Words::new(
    "data.contour_length",
    "Strokes of a curve",
    "Of each of the two long curves: 6 is easy, 9 harder, 14 hard.",
);
const EXAMPLES: Words = Words::new("data.examples", "Examples", "How many are generated to train on.");
const HELD_OUT_EXAMPLES: Words =
    Words::new("data.validation_examples", "Held-out examples", "How many are generated to evaluate on.");
const IMAGES_SEED: Words = Words::new(
    "data.images_seed",
    "Images' seed",
    "Seed of the images, apart from the run's seed, so that runs with several seeds see the same ones.",
);
const MIN_LENGTH: Words =
    Words::new("data.min_length", "Longer than", "Every expression has more symbols than these.").unit("symbols");
const MAX_LENGTH: Words =
    Words::new("data.max_length", "Shorter than", "Every expression has fewer symbols than these.").unit("symbols");
const MAX_DEPTH: Words =
    Words::new("data.max_depth", "Levels", "Levels of lists within lists: at the last one stand digits alone.");
const MAX_ARGS: Words = Words::new("data.max_args", "Arguments", "The most arguments of an operator.");

/// Of images on disk, generated ones, and expressions.
const OF_IMAGES: [Words; 6] = [PATH, HELD_OUT_IMAGES, CLASSES, LABELS, HELD_OUT_LABELS, WEIGHTS];
const OF_PATHFINDER: [Words; 5] = [SIZE, CONTOUR, EXAMPLES, HELD_OUT_EXAMPLES, IMAGES_SEED];
const OF_EXPRESSIONS: [Words; 7] =
    [MIN_LENGTH, MAX_LENGTH, MAX_DEPTH, MAX_ARGS, EXAMPLES, HELD_OUT_EXAMPLES, TEXT_SEED];

/// Points of a side of an image.
const THUMBNAIL: f32 = 44.0;

/// What was found of images: their size, how many each class has, and some of them.
fn preview_ui(ui: &mut Ui, preview: &ImagesPreview, patch: Option<usize>, thumbnails: &mut Thumbnails) {
    let ImageShape { size, channels } = preview.shape;
    let colour = if channels == 1 { "grey" } else { "coloured" };
    let mut words = format!("{} of {size} x {size} pixels, {colour}", counted(preview.images, "image"));
    if let Some(patch) = patch.filter(|patch| *patch > 0 && size.is_multiple_of(*patch)) {
        let tokens = counted(preview.shape.tokens(patch) as u64, "token");
        words.extend([": ", &tokens, " of squares and the class token"]);
    }
    note_ui(ui, &format!("{words}."));
    under_ui(ui, |ui| {
        ui.vertical(|ui| {
            counts_ui(ui, &preview.classes, preview.images);
            ui.add_space(4.0);
            let picture = |one: &PreviewImage| Thumbnail {
                word: one.label.clone(),
                about: one.label.clone(),
                size: one.shape.size,
                pixels: one.pixels.clone(),
            };
            thumbnails.ui(ui, THUMBNAIL, &preview.examples, || preview.examples.iter().map(picture).collect());
        });
    });
}

impl SourceForm for ImagesSource {
    fn words(&self) -> &'static [Words] {
        &OF_IMAGES
    }

    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        let found = context.images();
        images_ui(ui, form, self, found, context.thumbnails);
        if let Some(TaskConfig::ImageClassification(classes)) = context.task {
            let counts = found.map(|(found, _)| found.classes.as_slice());
            weights_ui(ui, form, &mut classes.class_weights, counts);
        }
    }
}

impl SourceForm for PathfinderSource {
    fn words(&self) -> &'static [Words] {
        &OF_PATHFINDER
    }

    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        let found = context.images();
        pathfinder_ui(ui, form, self, found, context.thumbnails);
    }
}

impl SourceForm for ListOpsSource {
    fn words(&self) -> &'static [Words] {
        &OF_EXPRESSIONS
    }

    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, _: SourceContext<'_>) {
        expressions_ui(ui, form, self);
    }
}

/// Images on disk.
fn images_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    images: &mut ImagesSource,
    found: Option<(&ImagesPreview, Option<usize>)>,
    thumbnails: &mut Thumbnails,
) {
    note_ui(ui, "A folder with a folder of PNG or JPEG files for each class, an IDX file (MNIST) or a CIFAR file.");
    let both = [Pick::File, Pick::Folder];
    if form.path(ui, PATH, &mut images.path, &both, |pick| Ask::new(pick, "Images to train on")) {
        // What was found out of other images.
        (images.size, images.channels) = (None, None);
    }
    let mut optional = |ui: &mut Ui, words: Words, picks: &[Pick], path: &mut Option<PathBuf>| {
        let mut written = path.clone().unwrap_or_default();
        if form.path(ui, words, &mut written, picks, |pick| Ask::new(pick, words.label)) {
            *path = Some(written).filter(|path| !path.as_os_str().is_empty());
        }
    };
    optional(ui, HELD_OUT_IMAGES, &both, &mut images.validation_path);
    optional(ui, CLASSES, &[Pick::File], &mut images.classes);
    optional(ui, LABELS, &[Pick::File], &mut images.labels);
    if images.validation_path.is_some() || images.validation_labels.is_some() {
        optional(ui, HELD_OUT_LABELS, &[Pick::File], &mut images.validation_labels);
    }
    if let Some((preview, patch)) = found {
        preview_ui(ui, preview, patch, thumbnails);
    }
}

/// Generated images of curves.
fn pathfinder_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    source: &mut PathfinderSource,
    found: Option<(&ImagesPreview, Option<usize>)>,
    thumbnails: &mut Thumbnails,
) {
    note_ui(ui, "Two long dashed curves and two discs: do these lie on one curve? Nothing to download.");
    let sizes = PathfinderSource::SIZES.map(|size| (size, size.to_string()));
    let sizes: Vec<(usize, &str)> = sizes.iter().map(|(size, words)| (*size, words.as_str())).collect();
    form.choice(ui, SIZE, &mut source.size, &sizes);
    form.size(ui, CONTOUR, &mut source.contour_length, 1);
    form.size(ui, EXAMPLES, &mut source.examples, 1_000);
    form.size(ui, HELD_OUT_EXAMPLES, &mut source.validation_examples, 100);
    form.whole(ui, IMAGES_SEED, &mut source.images_seed, 1);
    if let Some((preview, patch)) = found {
        preview_ui(ui, preview, patch, thumbnails);
    }
}

/// Generated expressions.
fn expressions_ui(ui: &mut Ui, form: &mut Form<'_>, source: &mut ListOpsSource) {
    note_ui(ui, "Lists of digits within lists, whose value is a digit: [MAX 2 9 [MIN 4 7 ] 0 ]. Nothing to download.");
    form.size(ui, MIN_LENGTH, &mut source.min_length, 50);
    form.size(ui, MAX_LENGTH, &mut source.max_length, 50);
    form.size(ui, MAX_DEPTH, &mut source.max_depth, 1);
    form.size(ui, MAX_ARGS, &mut source.max_args, 1);
    form.size(ui, EXAMPLES, &mut source.examples, 1_000);
    form.size(ui, HELD_OUT_EXAMPLES, &mut source.validation_examples, 100);
    form.whole(ui, TEXT_SEED, &mut source.text_seed, 1);
}

/// Some examples with what is learnt of each.
pub(super) fn found_ui(ui: &mut Ui, found: &ExamplesPreview) {
    note_ui(ui, &[&found.about, "."].concat());
    under_ui(ui, |ui| {
        ui.vertical(|ui| {
            for example in &found.examples {
                found_example_ui(ui, example);
                ui.add_space(4.0);
            }
        });
    });
}

fn found_example_ui(ui: &mut Ui, example: &PreviewExample) {
    let palette = theme::palette(ui.visuals());
    let room = LETTERS / example.texts.len().max(1);
    for text in &example.texts {
        let shown = Label::new(RichText::new(shortened(text, room)).small().color(palette.weak)).wrap();
        let shown = ui.add(shown);
        if let Some(tokens) = &example.tokens {
            let first: Vec<&str> = tokens.iter().take(TOKENS).map(String::as_str).collect();
            let more = if tokens.len() > TOKENS { " …" } else { "" };
            let fits = match example.cut_off {
                0 => String::new(),
                more => format!(", {} do not fit", counted(more, "token")),
            };
            let count = counted(tokens.len() as u64, "token");
            shown.on_hover_text(format!("{count} as the model will see them{fits}:\n{}{more}", first.join(" ")));
        } else {
            shown.on_hover_text("The words; their tokens are known once the vocabulary is trained");
        }
    }
    ui.add(Label::new(RichText::new(format!("= {}", shortened(&example.label, room))).small().strong()).wrap());
}
