use egui::{Button, ComboBox, DragValue, Ui};
use headroom_engine::{
    analysis::{AnalysisSpec, ReconstructionSpec},
    attention::HeadAt,
    store::RunSummary,
    worker::Which,
};

use crate::{context::PanelContext, file_dialogs::current_folder, format, panels::analysis::head_name};

/// What is asked of a checkpoint.
#[derive(Clone, Debug)]
pub struct Ask {
    is_open: bool,
    /// None: the best.
    step: Option<u64>,
    examples: usize,
    /// 0: as the model was trained.
    tokens: usize,
    has_layers: bool,
    has_head: bool,
}

impl Default for Ask {
    fn default() -> Self {
        Self { is_open: false, step: None, examples: 256, tokens: 0, has_layers: true, has_head: false }
    }
}

impl Ask {
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
        let mut steps: Vec<u64> =
            cx.state.checkpoints.get(&run.id).into_iter().flatten().map(|kept| kept.step).collect();
        steps.dedup();
        self.step = self.step.filter(|step| steps.contains(step));
        ui.horizontal_wrapped(|ui| {
            let text = self.step.map_or_else(|| "The best".to_owned(), |step| format!("Step {}", format::count(step)));
            let combo = ComboBox::from_id_salt("checkpoint").width(100.0).selected_text(text).show_ui(ui, |ui| {
                ui.selectable_value(&mut self.step, None, "The best");
                for step in steps {
                    ui.selectable_value(&mut self.step, Some(step), format!("Step {}", format::count(step)));
                }
            });
            combo.response.accessible_name("Checkpoint to reconstruct");
            let label = ui.label("Examples");
            let examples = DragValue::new(&mut self.examples).range(2..=100_000).speed(8);
            ui.add(examples).labelled_by(label.id).on_hover_text(
                "Examples of the held-out text, spread evenly over it. Pairs are chosen from every second one, errors \
                 are \
                 measured on the others.",
            );
            let label = ui.label("Tokens");
            let tokens = DragValue::new(&mut self.tokens).range(0..=4096).custom_formatter(|tokens, _| {
                if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") }
            });
            ui.add(tokens)
                .labelled_by(label.id)
                .on_hover_text("Tokens of an example. Memory grows with its cube; 0: as the model was trained");
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
        let spec = AnalysisSpec {
            examples: self.examples,
            // A row of one score has nothing to restore.
            tokens: (self.tokens > 1).then_some(self.tokens),
            reconstruction: Some(reconstruction),
            ..AnalysisSpec::default()
        };
        let which = self.step.map_or(Which::Best, Which::Step);
        cx.state.analysis.look(&run.id, which, spec, Vec::new(), current_folder());
    }
}
