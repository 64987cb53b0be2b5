use egui::Ui;
use headroom_engine::config::ProbeConfig;

use super::super::{
    field::field,
    form::{Form, note_ui},
};

/// What is analysed during training.
/// `has_task`: it learns to answer about whole texts.
pub fn probe_ui(ui: &mut Ui, form: &mut Form<'_>, probe: &mut ProbeConfig, has_task: bool) {
    form.whole(ui, field!("probe.every"), &mut probe.every);
    form.size(ui, field!("probe.examples"), &mut probe.examples);
    if has_task {
        note_ui(
            ui,
            "The similarity of maps, and what the model answers. Texts of a task have lengths of their own: their spectra are \
             for Analyse… once it is trained.",
        );
    }
}
