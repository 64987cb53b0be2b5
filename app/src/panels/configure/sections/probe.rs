use egui::Ui;
use headroom_engine::config::ProbeConfig;

use super::super::{
    field::Words,
    form::{Form, note_ui},
};

const EVERY: Words = Words::new(
    "probe.every",
    "Analyse every",
    "Steps between analyses of the probe (a fixed batch of held-out text) and samples of what the model writes; 0 = \
     never.",
)
.unit("steps");
const EXAMPLES: Words = Words::new("probe.examples", "Probe examples", "Examples in the probe batch.").unit("examples");

pub(super) const WORDS: [Words; 2] = [EVERY, EXAMPLES];

/// What is analysed during training.
/// `has_task`: it learns to answer about whole texts.
pub fn probe_ui(ui: &mut Ui, form: &mut Form<'_>, probe: &mut ProbeConfig, has_task: bool) {
    form.whole(ui, EVERY, &mut probe.every, 10);
    form.size(ui, EXAMPLES, &mut probe.examples, 1);
    if has_task {
        note_ui(
            ui,
            "The similarity of maps, and what the model answers. Texts of a task have lengths of their own: their spectra are \
             for Analyse… once it is trained.",
        );
    }
}
