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
/// `task_note`: explanation of a task whose examples are answered; `reads_images`: true if these are images.
pub fn model_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    model: &mut ModelConfig,
    task_note: Option<&'static str>,
    reads_images: bool,
) {
    form.optional_text(ui, field!("model.initial"), &mut model.initial);
    form.named(ui, field!("model.kind"), &mut model.kind, &ModelKind::ALL);
    note_ui(ui, task_note.filter(|_| !model.kind.generates()).unwrap_or(model.kind.info().note));
    form.size(ui, field!("model.layers"), &mut model.layers);
    if model.kind.has_encoder() {
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
