use egui::Ui;
use headroom_engine::{
    config::counted,
    config::{ModelConfig, ModelKind, NormPlacement},
};

use super::super::{
    field::Words,
    form::{Form, note_ui},
};

const INITIAL: Words = Words::new(
    "model.initial",
    "Begins with",
    "The weights that training begins with: a run by name or id, a model directory, or a model that was fetched from a hub. \
     Its sizes and its attention must be those below. Empty = fresh weights.",
)
.empty("fresh weights");
const KIND: Words = Words::new(
    "model.kind",
    "Architecture",
    "An encoder learns to predict masked tokens from both sides; a decoder learns to predict the next token from the \
     ones before it; both together learn to translate.",
);
const LAYERS: Words = Words::new("model.layers", "Layers", "Number of layers, each attention and feed-forward.");
const ENCODER_LAYERS: Words =
    Words::new("model.encoder_layers", "Encoder layers", "Layers of the encoder; empty = as many as the decoder has.")
        .empty("as the decoder");
const HEADS: Words = Words::new("model.heads", "Heads", "Attention heads of each layer; must divide the width.");
const WIDTH: Words = Words::new("model.width", "Width", "Size of the vector that stands for a token between layers.");
const FEED_FORWARD: Words =
    Words::new("model.feed_forward", "Feed-forward width", "Inner width of the feed-forward block; usually 4 × width.");
const DROPOUT: Words = Words::new(
    "model.dropout",
    "Dropout",
    "Share of numbers that are set to zero while training, after embeddings, on attention maps and on each sub-layer's \
     output. 0 for short runs on much text.",
)
.unit("0 to 1");
const NORM: Words = Words::new(
    "model.norm",
    "Layer norm",
    "Before each sub-layer: x + f(norm(x)), easier to train deep. After: norm(x + f(x)), as in BERT.",
);
const PATCH: Words = Words::new(
    "model.patch",
    "Square",
    "Pixels of a side of the squares that an image is read in, a token each; must divide the side of the images.",
)
.unit("pixels");
const POSITIONS: Words = Words::new(
    "model.positions",
    "Positions",
    "Learned positions; empty = as many as the sequence length. More let the model read longer text later.",
)
.empty("sequence length");

pub(super) const WORDS: [Words; 11] =
    [INITIAL, KIND, LAYERS, ENCODER_LAYERS, HEADS, WIDTH, FEED_FORWARD, DROPOUT, NORM, PATCH, POSITIONS];

/// The transformer around the attention layers.
/// `has_task`: whether it answers about examples; `reads_images`: whether these are images.
pub fn model_ui(ui: &mut Ui, form: &mut Form<'_>, model: &mut ModelConfig, has_task: bool, reads_images: bool) {
    form.optional_text(ui, INITIAL, &mut model.initial);
    let kinds = ModelKind::ALL.map(|kind| {
        let words = match kind {
            ModelKind::Encoder => "Encoder, as BERT",
            ModelKind::Decoder => "Decoder, as GPT-2",
            ModelKind::EncoderDecoder => "Encoder and decoder, as BART",
        };
        (kind, words)
    });
    form.choice(ui, KIND, &mut model.kind, &kinds);
    note_ui(
        ui,
        match model.kind {
            ModelKind::Encoder if reads_images => "Learns to tell what an image shows; sees all of it.",
            ModelKind::Encoder if has_task => "Learns to answer about a text as a whole; sees both sides.",
            ModelKind::Encoder => "Learns to predict masked tokens; sees both sides.",
            ModelKind::Decoder => "Learns to predict the next token; sees the ones before it.",
            ModelKind::EncoderDecoder => {
                "Learns to translate: reads a text, then writes another one that attends to it. Trained on pairs of texts."
            }
        },
    );
    form.size(ui, LAYERS, &mut model.layers, 1);
    if model.kind == ModelKind::EncoderDecoder {
        form.optional_size(ui, ENCODER_LAYERS, &mut model.encoder_layers);
    }
    form.size(ui, HEADS, &mut model.heads, 1);
    form.size(ui, WIDTH, &mut model.width, 32);
    if model.heads > 0 && model.width.is_multiple_of(model.heads) {
        note_ui(ui, &format!("Each head works in {}.", counted(model.head_size(), "dimension")));
    }
    form.size(ui, FEED_FORWARD, &mut model.feed_forward, 64);
    form.decimal(ui, DROPOUT, &mut model.dropout);
    let norms = NormPlacement::ALL.map(|norm| {
        let words = match norm {
            NormPlacement::Pre => "Before each sub-layer",
            NormPlacement::Post => "After each sub-layer",
        };
        (norm, words)
    });
    form.choice(ui, NORM, &mut model.norm, &norms);
    if reads_images {
        let mut patch = model.patch.unwrap_or_default();
        if form.size(ui, PATCH, &mut patch, 1) {
            model.patch = Some(patch);
        }
    } else {
        form.optional_size(ui, POSITIONS, &mut model.positions);
    }
}
