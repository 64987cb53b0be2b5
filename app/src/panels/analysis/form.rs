use egui::{Button, ComboBox, DragValue, ProgressBar, Spinner, Ui};
use headroom_engine::{
    analysis::{AnalysisSpec, Measure, SpectrumSpec},
    store::{RunId, RunSummary},
    worker::{Subspace, Target, Which},
};

use crate::{context::PanelContext, file_dialogs::current_folder, format, state::Looking};

/// Which checkpoint is analysed, on how much of the held-out text.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The step of the checkpoint; none: the best.
    step: Option<u64>,
    examples: usize,
    /// Tokens of an example; 0: as the model was trained.
    tokens: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Self { step: None, examples: 256, tokens: 0 }
    }
}

impl Sample {
    /// Draws its fields into a row. `name` is the accessible name of the checkpoint; examples and tokens have each the least
    /// or the most that is allowed, and their help.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        (run, cx): (&RunSummary, &PanelContext<'_>),
        name: &str,
        (least_examples, examples_help): (usize, &str),
        (most_tokens, tokens_help): (usize, &str),
    ) {
        let mut steps: Vec<u64> =
            cx.state.checkpoints.get(&run.id).into_iter().flatten().map(|kept| kept.step).collect();
        steps.dedup();
        self.step = self.step.filter(|step| steps.contains(step));
        let words = |step: Option<u64>| {
            step.map_or_else(|| "The best".to_owned(), |step| format!("Step {}", format::count(step)))
        };
        let combo = ComboBox::from_id_salt("checkpoint").width(100.0).selected_text(words(self.step));
        let combo = combo.show_ui(ui, |ui| {
            for step in std::iter::once(None).chain(steps.into_iter().map(Some)) {
                ui.selectable_value(&mut self.step, step, words(step));
            }
        });
        combo.response.accessible_name(name);
        let label = ui.label("Examples");
        let examples = DragValue::new(&mut self.examples).range(least_examples..=100_000).speed(8);
        ui.add(examples).labelled_by(label.id).on_hover_text(examples_help);
        let label = ui.label("Tokens");
        let tokens = DragValue::new(&mut self.tokens)
            .range(0..=most_tokens)
            .custom_formatter(|tokens, _| if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") });
        ui.add(tokens).labelled_by(label.id).on_hover_text(tokens_help);
    }

    /// The checkpoint.
    pub fn which(&self) -> Which {
        self.step.map_or(Which::Best, Which::Step)
    }

    /// The request for it.
    pub fn spec(&self) -> AnalysisSpec {
        AnalysisSpec {
            examples: self.examples,
            tokens: (self.tokens > 0).then_some(self.tokens),
            ..AnalysisSpec::default()
        }
    }
}

/// The form in which an analysis of a checkpoint is set up.
#[derive(Clone, Debug)]
pub struct AnalysisForm {
    is_open: bool,
    sample: Sample,
    /// Whether the text is read shuffled; none: as the run read it.
    order: Option<bool>,
    measures: Vec<Measure>,
    has_heads: bool,
    /// Whose space the scores are projected on as well: a run, and the step of its checkpoint; none: the best.
    space: Option<(RunId, Option<u64>)>,
}

impl Default for AnalysisForm {
    fn default() -> Self {
        Self {
            is_open: false,
            sample: Sample::default(),
            order: None,
            measures: vec![Measure::default()],
            has_heads: false,
            space: None,
        }
    }
}

impl AnalysisForm {
    /// The button that opens the form, for the row of a panel.
    pub fn button_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let has_any = cx.state.checkpoints.get(&run.id).is_some_and(|all| !all.is_empty());
        let button = ui.add_enabled(has_any, Button::selectable(self.is_open, "Analyse…"));
        let button = button.on_hover_text("Analyses a checkpoint: more examples, other measures, all queries");
        let button = button.on_disabled_hover_text("The run has no checkpoint yet");
        if button.accessible_name("Analyse a checkpoint").clicked() {
            self.is_open = !self.is_open;
        }
    }

    /// The form, where it is open.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        if !self.is_open {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            self.sample.ui(
                ui,
                (run, cx),
                "Checkpoint to analyse",
                (1, "Examples of the held-out text, spread evenly over it"),
                (
                    65_536,
                    "Tokens of an example, at most as many as the model has positions; 0: as it was trained. Analyses of other \
                     lengths can stand beside each other in Spectra",
                ),
            );
            let order = |order: Option<bool>| match order {
                None => "text as trained on",
                Some(false) => "text in order",
                Some(true) => "text shuffled",
            };
            let combo =
                ComboBox::from_id_salt("order").width(130.0).selected_text(order(self.order)).show_ui(ui, |ui| {
                    for choice in [None, Some(false), Some(true)] {
                        ui.selectable_value(&mut self.order, choice, order(choice));
                    }
                });
            combo.response.accessible_name("Order of the text");
            for measure in Measure::ALL {
                let mut is_wanted = self.measures.contains(&measure);
                let name = super::with_capital(measure.label());
                if ui.checkbox(&mut is_wanted, name).on_hover_text(super::formula(measure)).changed() {
                    if is_wanted {
                        self.measures.push(measure);
                    } else {
                        self.measures.retain(|known| *known != measure);
                    }
                }
            }
            ui.checkbox(&mut self.has_heads, "Spectra of heads").on_hover_text("Of each head too: takes longer");
            self.space_ui(ui, run, cx);
            if ui.button("Analyse").on_hover_text("Runs when its turn in the queue comes").clicked() {
                self.start(run, cx);
            }
        });
    }

    /// Chooses another model in whose space the scores are measured too: another checkpoint, or a run that is shown.
    fn space_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &PanelContext<'_>) {
        let own = cx.state.checkpoints.get(&run.id).into_iter().flatten().map(|kept| (run.id.clone(), Some(kept.step)));
        let is_other = |other: &&RunSummary| other.id != run.id && cx.state.selection.is_visible(&other.id);
        let others = cx.state.runs.iter().filter(is_other).map(|other| (other.id.clone(), None));
        let mut all: Vec<(RunId, Option<u64>)> = own.chain(others).collect();
        all.dedup();
        self.space = self.space.take().filter(|space| all.contains(space));
        let name = |(of, step): &(RunId, Option<u64>)| match step {
            Some(step) => format!("step {}", format::count(*step)),
            None => cx.state.run_name(of),
        };
        let text = self.space.as_ref().map_or_else(|| "no other model".to_owned(), &name);
        ui.label("Project on the space of");
        let combo = ComboBox::from_id_salt("space").width(150.0).selected_text(text).show_ui(ui, |ui| {
            ui.selectable_value(&mut self.space, None, "no other model");
            for space in all {
                let text = name(&space);
                ui.push_id(&text, |ui| ui.selectable_value(&mut self.space, Some(space), &text));
            }
        });
        combo.response.accessible_name("Space to project on").on_hover_text(
            "How much of the energy lies in the first components of another checkpoint, or of another run that is \
             shown",
        );
    }

    /// Asks for what the form says.
    pub fn start(&mut self, run: &RunSummary, cx: &mut PanelContext<'_>) {
        self.is_open = false;
        let spec = AnalysisSpec {
            shuffled: self.order,
            similarity: Measure::ALL.into_iter().filter(|measure| self.measures.contains(measure)).collect(),
            spectrum: Some(SpectrumSpec { heads: self.has_heads, ..SpectrumSpec::default() }),
            ..self.sample.spec()
        };
        let which = |step: Option<u64>| step.map_or(Which::Best, Which::Step);
        let space = self
            .space
            .clone()
            .map(|(run, step)| Subspace { target: Target::Run { run, which: which(step) }, data: None });
        cx.state.analysis.look(&run.id, self.sample.which(), spec, space.into_iter().collect(), current_folder());
    }
}

/// The analyses that wait or are being computed.
pub fn asked_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let mut cancel = None;
    for Looking { analysis, run, at, is_cancelling, .. } in &cx.state.analysis.looking {
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
