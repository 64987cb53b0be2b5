use egui::{Button, ComboBox, DragValue, ProgressBar, Spinner, Ui};
use headroom_engine::{
    analysis::AnalysisSpec,
    store::RunSummary,
    worker::{Subspace, Which},
};

use crate::{common::blank_ui, context::PanelContext, file_dialogs::current_folder, format, state::PendingAnalysis};

/// What a form of analyses says.
pub struct FormWords {
    /// The button that opens it.
    pub button: &'static str,
    /// What that does.
    pub help: &'static str,
    /// Its accessible name.
    pub name: &'static str,
    /// The accessible name of the checkpoint.
    pub checkpoint: &'static str,
    /// The least number of examples, and what they are.
    pub examples: (usize, &'static str),
    /// The most tokens of an example, and what they are.
    pub tokens: (usize, &'static str),
    /// The button that asks for the analysis.
    pub submit: &'static str,
    /// The same where the run has none.
    pub now: &'static str,
    /// What is asked for.
    pub what: &'static str,
}

/// What a form asks for besides the checkpoint and the amount of text.
pub trait FormOptions: Default {
    /// What the form says.
    const WORDS: FormWords;

    /// Draws the options into a row.
    fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &PanelContext<'_>);

    /// The request with these options, and the models in whose space scores are measured too.
    fn spec(&self, spec: AnalysisSpec) -> (AnalysisSpec, Vec<Subspace>);
}

/// The form in which an analysis of a checkpoint is set up.
#[derive(Clone, Debug)]
pub struct AnalysisForm<O> {
    is_open: bool,
    /// The step of the checkpoint; none: the best.
    step: Option<u64>,
    examples: usize,
    /// Tokens of an example; 0: as the model was trained.
    tokens: usize,
    /// What else is asked for.
    pub options: O,
}

impl<O: Default> Default for AnalysisForm<O> {
    fn default() -> Self {
        Self { is_open: false, step: None, examples: 256, tokens: 0, options: O::default() }
    }
}

/// Whether a run has a checkpoint.
fn has_checkpoint(run: &RunSummary, cx: &PanelContext<'_>) -> bool {
    cx.state.checkpoints.get(&run.id).is_some_and(|all| !all.is_empty())
}

impl<O: FormOptions> AnalysisForm<O> {
    /// The button that opens the form, for the row of a panel.
    pub fn button_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &PanelContext<'_>) {
        let button = ui.add_enabled(has_checkpoint(run, cx), Button::selectable(self.is_open, O::WORDS.button));
        let button = button.on_hover_text(O::WORDS.help).on_disabled_hover_text("The run has no checkpoint yet");
        if button.accessible_name(O::WORDS.name).clicked() {
            self.is_open = !self.is_open;
        }
    }

    /// Closes the form; false if it was not open.
    pub fn back(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// The form, where it is open.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        if !self.is_open {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            self.sample_ui(ui, run, cx);
            self.options.ui(ui, run, cx);
            if ui.button(O::WORDS.submit).on_hover_text("Runs when its turn in the queue comes").clicked() {
                self.start(run, cx);
            }
        });
    }

    /// Which checkpoint, and on how much of the held-out text.
    fn sample_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &PanelContext<'_>) {
        let mut steps: Vec<u64> =
            cx.state.checkpoints.get(&run.id).into_iter().flatten().map(|kept| kept.step).collect();
        steps.dedup();
        self.step = self.step.filter(|step| steps.contains(step));
        let which = |step: Option<u64>| which_words(step.map_or(Which::Best, Which::Step));
        let combo = ComboBox::from_id_salt("checkpoint").width(100.0).selected_text(which(self.step));
        let combo = combo.show_ui(ui, |ui| {
            for step in std::iter::once(None).chain(steps.into_iter().map(Some)) {
                ui.selectable_value(&mut self.step, step, which(step));
            }
        });
        combo.response.accessible_name(O::WORDS.checkpoint);
        let label = ui.label("Examples");
        let (least, help) = O::WORDS.examples;
        let examples = DragValue::new(&mut self.examples).range(least..=100_000).speed(8);
        ui.add(examples).labelled_by(label.id).on_hover_text(help);
        let label = ui.label("Tokens");
        let (most, help) = O::WORDS.tokens;
        let tokens = DragValue::new(&mut self.tokens)
            .range(0..=most)
            .custom_formatter(|tokens, _| if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") });
        ui.add(tokens).labelled_by(label.id).on_hover_text(help);
    }

    /// Asks for what the form says.
    pub fn start(&mut self, run: &RunSummary, cx: &mut PanelContext<'_>) {
        self.is_open = false;
        let tokens = (self.tokens > 0).then_some(self.tokens);
        let sample = AnalysisSpec { examples: self.examples, tokens, ..AnalysisSpec::default() };
        let (spec, subspaces) = self.options.spec(sample);
        let which = self.step.map_or(Which::Best, Which::Step);
        cx.state.analysis.analyse(&run.id, which, spec, subspaces, current_folder());
    }

    /// A run has none: says why and what it would show, and offers it; `more` draws further ways to get one.
    pub fn empty_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        sentence: &str,
        cx: &mut PanelContext<'_>,
        more: impl FnOnce(&mut Ui, &mut PanelContext<'_>),
    ) {
        let heading = format!("No {} of \"{}\" yet", O::WORDS.what, run.name);
        blank_ui(ui, &heading, sentence, |ui| {
            if has_checkpoint(run, cx) && !cx.state.analysis.is_pending(&run.id) {
                let now = ui.button(O::WORDS.now).on_hover_text("Runs when its turn in the queue comes");
                if now.clicked() {
                    self.start(run, cx);
                }
            }
            more(ui, cx);
        });
    }
}

/// A checkpoint in words.
pub fn which_words(which: Which) -> String {
    match which {
        Which::Best => "The best".to_owned(),
        Which::Last => "The last".to_owned(),
        Which::Step(step) => format!("Step {}", format::count(step)),
    }
}

/// The analyses that wait or are being computed.
pub fn pending_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let mut cancel = None;
    for PendingAnalysis { analysis, run, at, is_cancelling, .. } in &cx.state.analysis.pending {
        ui.horizontal_wrapped(|ui| {
            let name = cx.state.run_name(run);
            if let Some((stage, fraction)) = at {
                let bar = ProgressBar::new(*fraction as f32).desired_width(200.0).show_percentage();
                ui.add(bar).accessible_name("Progress of the analysis");
                ui.label(format!("{stage}: {name}"));
            } else {
                ui.add(Spinner::new().size(14.0));
                ui.label(format!("The analysis of \"{name}\" is waiting in the queue"));
            }
            let words = if *is_cancelling { "Ending…" } else { "Cancel" };
            let button = ui.add_enabled(!is_cancelling, Button::new(words)).on_hover_text("Nothing of it is kept");
            if button.accessible_name("Cancel the analysis").clicked() {
                cancel = Some(analysis.clone());
            }
        });
    }
    if let Some(analysis) = cancel {
        cx.state.analysis.cancel(&analysis);
    }
}
