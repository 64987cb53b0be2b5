use egui::{Button, Ui};
use headroom_engine::{
    analysis::{AnalysisSpec, ReconstructionSpec},
    attention::HeadAt,
    store::RunSummary,
};

use crate::{
    context::PanelContext,
    file_dialogs::current_folder,
    panels::analysis::{Sample, head_name},
};

/// The form in which a reconstruction of a checkpoint is set up.
#[derive(Clone, Debug)]
pub struct ReconstructionForm {
    is_open: bool,
    sample: Sample,
    has_layers: bool,
    has_head: bool,
}

impl Default for ReconstructionForm {
    fn default() -> Self {
        Self { is_open: false, sample: Sample::default(), has_layers: true, has_head: false }
    }
}

impl ReconstructionForm {
    /// The button that opens the form.
    pub fn button_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let has_any = cx.state.checkpoints.get(&run.id).is_some_and(|all| !all.is_empty());
        let button = ui.add_enabled(has_any, Button::selectable(self.is_open, "Reconstruct…"));
        let button = button.on_hover_text("Another checkpoint, more examples, shorter texts");
        let button = button.on_disabled_hover_text("The run has no checkpoint yet");
        if button.accessible_name("Reconstruct the scores of a checkpoint").clicked() {
            self.is_open = !self.is_open;
        }
    }

    /// Closes the form; false if it was not open.
    pub fn back(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// The form, where it is open. `head` is the one that is chosen.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, head: HeadAt, cx: &mut PanelContext<'_>) {
        if !self.is_open {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            self.sample.ui(
                ui,
                (run, cx),
                "Checkpoint to reconstruct",
                (
                    2,
                    "Examples of the held-out text, spread evenly over it. Pairs are chosen from every second one, errors are \
                     measured on the others.",
                ),
                (4096, "Tokens of an example. Memory grows with its cube; 0: as the model was trained"),
            );
            ui.checkbox(&mut self.has_layers, "Each layer").on_hover_text(
                "Each layer separately, besides the whole \
                                               network",
            );
            ui.checkbox(&mut self.has_head, format!("{} alone", head_name(head)))
                .on_hover_text("The head whose maps are rebuilt below, separately");
            if ui.button("Reconstruct").on_hover_text("Runs when its turn in the queue comes").clicked() {
                self.start(run, head, cx);
            }
        });
    }

    /// Asks for what the form says, and for what other panels show of an analysis.
    pub fn start(&mut self, run: &RunSummary, head: HeadAt, cx: &mut PanelContext<'_>) {
        self.is_open = false;
        let reconstruction =
            ReconstructionSpec { layers: self.has_layers, head: self.has_head.then_some(head), whole: true };
        let mut spec = AnalysisSpec { reconstruction: Some(reconstruction), ..self.sample.spec() };
        // A row of one score has nothing to restore.
        spec.tokens = spec.tokens.filter(|tokens| *tokens > 1);
        cx.state.analysis.look(&run.id, self.sample.which(), spec, Vec::new(), current_folder());
    }
}
