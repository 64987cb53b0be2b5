use egui::Ui;
use headroom_engine::{
    config::counted,
    config::{ModelConfig, ModelKind, NormPlacement},
};

use super::super::{
    field::field,
    form::{Form, note_ui},
};

/// The transformer around the attention layers.
/// `has_task`: whether it answers about examples; `reads_images`: whether these are images.
pub fn model_ui(ui: &mut Ui, form: &mut Form<'_>, model: &mut ModelConfig, has_task: bool, reads_images: bool) {
    form.optional_text(ui, field!("model.initial"), &mut model.initial);
    form.named(ui, field!("model.kind"), &mut model.kind, &ModelKind::ALL);
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
    form.size(ui, field!("model.layers"), &mut model.layers);
    if model.kind == ModelKind::EncoderDecoder {
        form.optional_size(ui, field!("model.encoder_layers"), &mut model.encoder_layers);
    }
    form.size(ui, field!("model.heads"), &mut model.heads);
    form.size(ui, field!("model.width"), &mut model.width);
    if model.heads > 0 && model.width.is_multiple_of(model.heads) {
        note_ui(ui, &format!("Each head works in {}.", counted(model.head_size(), "dimension")));
    }
    form.size(ui, field!("model.feed_forward"), &mut model.feed_forward);
    form.decimal(ui, field!("model.dropout"), &mut model.dropout);
    form.named(ui, field!("model.norm"), &mut model.norm, &NormPlacement::ALL);
    if reads_images {
        let mut patch = model.patch.unwrap_or_default();
        if form.size(ui, field!("model.patch"), &mut patch) {
            model.patch = Some(patch);
        }
    } else {
        form.optional_size(ui, field!("model.positions"), &mut model.positions);
    }
}
