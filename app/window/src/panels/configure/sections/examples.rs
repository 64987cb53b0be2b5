//! Images with classes, and examples that are generated with their answers.

use std::path::PathBuf;

use egui::{Label, RichText, Ui};
use headroom_engine::{
    config::{FieldSpec, ImageShape, ImagesSource, ListOpsSource, PathfinderSource, counted},
    data::{ExamplesPreview, ImagesPreview, PreviewExample, PreviewImage},
};

use super::{
    super::{
        field::field,
        form::{Form, note_ui, under_ui},
    },
    sources::{SourceContext, SourceForm},
    table::{counts_ui, weights_ui},
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
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        let found = context.images();
        images_ui(ui, form, self, found, context.thumbnails);
        if let Some(weights) = context.task.as_mut().and_then(|task| task.class_weights_mut()) {
            weights_ui(ui, form, weights, found.map(|(found, _)| found.classes.as_slice()));
        }
    }
}

impl SourceForm for PathfinderSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        let found = context.images();
        pathfinder_ui(ui, form, self, found, context.thumbnails);
    }
}

impl SourceForm for ListOpsSource {
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
    if form
        .path(ui, field!("images", "data.path"), &mut images.path, &both, |pick| Ask::new(pick, "Images to train on"))
    {
        // What was found out of other images.
        (images.size, images.channels) = (None, None);
    }
    let mut optional = |ui: &mut Ui, field: FieldSpec, picks: &[Pick], path: &mut Option<PathBuf>| {
        form.optional_path(ui, field, path, picks, |pick| Ask::new(pick, field.label));
    };
    optional(ui, field!("images", "data.validation_path"), &both, &mut images.validation_path);
    optional(ui, field!("data.classes"), &[Pick::File], &mut images.classes);
    optional(ui, field!("data.labels"), &[Pick::File], &mut images.labels);
    if images.validation_path.is_some() || images.validation_labels.is_some() {
        optional(ui, field!("data.validation_labels"), &[Pick::File], &mut images.validation_labels);
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
    form.choice(ui, field!("pathfinder", "data.size"), &mut source.size, &sizes);
    form.size(ui, field!("data.contour_length"), &mut source.contour_length);
    form.size(ui, field!("data.examples"), &mut source.examples);
    form.size(ui, field!("data.validation_examples"), &mut source.validation_examples);
    form.whole(ui, field!("data.images_seed"), &mut source.images_seed);
    if let Some((preview, patch)) = found {
        preview_ui(ui, preview, patch, thumbnails);
    }
}

/// Generated expressions.
fn expressions_ui(ui: &mut Ui, form: &mut Form<'_>, source: &mut ListOpsSource) {
    note_ui(ui, "Lists of digits within lists, whose value is a digit: [MAX 2 9 [MIN 4 7 ] 0 ]. Nothing to download.");
    form.size(ui, field!("data.min_length"), &mut source.min_length);
    form.size(ui, field!("data.max_length"), &mut source.max_length);
    form.size(ui, field!("data.max_depth"), &mut source.max_depth);
    form.size(ui, field!("data.max_args"), &mut source.max_args);
    form.size(ui, field!("data.examples"), &mut source.examples);
    form.size(ui, field!("data.validation_examples"), &mut source.validation_examples);
    form.whole(ui, field!("data.text_seed"), &mut source.text_seed);
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
