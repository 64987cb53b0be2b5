use egui::Ui;
use headroom_engine::{
    analysis::{AnalysisSpec, ReconstructionSpec},
    attention::HeadAt,
    protocol::Subspace,
};

use crate::{
    context::PanelContext,
    panels::analysis::{FormOptions, FormWords, Subject, head_name},
};

/// Whose scores are restored besides those of the whole network.
#[derive(Clone, Debug)]
pub struct ReconstructionOptions {
    /// The head that can be analysed alone: the one whose maps are rebuilt.
    pub head: HeadAt,
    has_layers: bool,
    has_head: bool,
}

impl Default for ReconstructionOptions {
    fn default() -> Self {
        Self { head: HeadAt::new(0, 0), has_layers: true, has_head: false }
    }
}

impl FormOptions for ReconstructionOptions {
    const WORDS: FormWords = FormWords {
        button: "Reconstruct…",
        help: "Another checkpoint, more examples, shorter texts",
        name: "Reconstruct the scores of a checkpoint",
        checkpoint: "Checkpoint to reconstruct",
        examples: (
            2,
            "Examples of the held-out text, spread evenly over it. Pairs are chosen from every second one, errors are \
             measured on the others.",
        ),
        tokens: (4096, "Tokens of an example. Memory grows with its cube; 0: as the model was trained"),
        submit: "Reconstruct",
        now: "Reconstruct its best checkpoint now",
        what: "reconstruction",
    };

    fn ui(&mut self, ui: &mut Ui, _subject: &Subject, _cx: &mut PanelContext<'_>) {
        let help = "Each layer separately, besides the whole network";
        ui.checkbox(&mut self.has_layers, "Each layer").on_hover_text(help);
        ui.checkbox(&mut self.has_head, format!("{} alone", head_name(self.head)))
            .on_hover_text("The head whose maps are rebuilt below, separately");
    }

    /// Besides what other panels show of an analysis.
    fn spec(&self, spec: AnalysisSpec) -> (AnalysisSpec, Vec<Subspace>) {
        let head = self.has_head.then_some(self.head);
        let reconstruction = ReconstructionSpec { layers: self.has_layers, head, whole: true };
        // A row of one score has nothing to restore.
        let tokens = spec.tokens.filter(|tokens| *tokens > 1);
        (AnalysisSpec { reconstruction: Some(reconstruction), tokens, ..spec }, Vec::new())
    }
}
