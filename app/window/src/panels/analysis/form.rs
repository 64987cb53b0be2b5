use egui::{Button, ComboBox, ProgressBar, RichText, Spinner, Ui};
use headroom_engine::{
    analysis::AnalysisSpec,
    config::counted,
    protocol::{Subspace, Which},
    store::RunId,
};

use super::Subject;
use crate::{
    common::blank_ui,
    context::PanelContext,
    file_dialogs::current_folder,
    format,
    state::{PendingAnalysis, SubjectId},
    theme,
    widgets::number_ui,
};

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
    /// The same where a run has none.
    pub now: &'static str,
    /// What is asked for.
    pub what: &'static str,
}

/// What a form asks for besides the checkpoint and the amount of text.
pub trait FormOptions: Default {
    /// What the form says.
    const WORDS: FormWords;

    /// Draws the options into a row.
    fn ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>);

    /// The request with these options, and the models in whose space scores are measured too.
    fn spec(&self, spec: AnalysisSpec) -> (AnalysisSpec, Vec<Subspace>);
}

/// Tokens of an example of a model directory, where no others are asked for.
const TOKENS: usize = 64;

/// The form in which an analysis of a checkpoint or a model directory is set up.
#[derive(Clone, Debug)]
pub struct AnalysisForm<O> {
    is_open: bool,
    /// What it is set up for.
    of: Option<SubjectId>,
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
        Self { is_open: false, of: None, step: None, examples: 256, tokens: 0, options: O::default() }
    }
}

impl<O: FormOptions> AnalysisForm<O> {
    /// The button that opens the form, for the row of a panel.
    pub fn button_ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &PanelContext<'_>) {
        let button = ui.add_enabled(
            subject.has_model(cx.state),
            Button::selectable(self.is_open, O::WORDS.button).frame_when_inactive(true),
        );
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
    pub fn ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
        self.set_up_for(subject, cx);
        if !self.is_open {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            subject.text_ui(ui, O::WORDS.what, cx);
            if let Some(run) = subject.id.run() {
                self.checkpoint_ui(ui, run, cx);
                subject.other_text_ui(ui, O::WORDS.what, cx);
            }
            self.sample_ui(ui, subject);
            self.options.ui(ui, subject, cx);
            let name = format!("Start the {}", O::WORDS.what);
            if self.submit_ui(ui, (O::WORDS.submit, &name), subject, cx) {
                self.start(subject, cx);
            }
        });
    }

    /// Another run or directory begins with what is usual for it.
    fn set_up_for(&mut self, subject: &Subject, cx: &mut PanelContext<'_>) {
        if self.of.as_ref() == Some(&subject.id) {
            return;
        }
        let positions = match subject.facts(cx.state) {
            _ if subject.run.is_some() => None,
            Ok(Some(facts)) if facts.config.is_none() => Some(facts.positions),
            Ok(Some(_)) => None,
            // Until it is known how many there are.
            Ok(None) | Err(_) => return,
        };
        (self.step, self.of) = (None, Some(subject.id.clone()));
        self.tokens = positions.map_or(0, |positions| TOKENS.min(positions));
    }

    /// The button that asks for the analysis, with what screen readers call it; whether it was clicked.
    fn submit_ui(
        &self,
        ui: &mut Ui,
        (words, name): (&str, &str),
        subject: &Subject,
        cx: &mut PanelContext<'_>,
    ) -> bool {
        // Another text of a run counts only where it is seen.
        let reads_typed = self.is_open || subject.run.is_none();
        let why_not = subject.why_no_text(cx);
        let why_not = why_not.or_else(|| subject.why_not_there(O::WORDS.what, cx).filter(|_| reads_typed));
        let button = ui.add_enabled(why_not.is_none(), Button::new(words));
        let button = button.on_hover_text("Runs when its turn in the queue comes");
        button.on_disabled_hover_text(why_not.unwrap_or_default()).accessible_name(name).clicked()
    }

    /// Which checkpoint of a run.
    fn checkpoint_ui(&mut self, ui: &mut Ui, run: &RunId, cx: &PanelContext<'_>) {
        let mut steps: Vec<u64> = cx.state.checkpoints.get(run).into_iter().flatten().map(|kept| kept.step).collect();
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
    }

    /// How much of the text.
    fn sample_ui(&mut self, ui: &mut Ui, subject: &Subject) {
        let label = ui.label("Examples");
        let (least, help) = O::WORDS.examples;
        let examples = number_ui(ui, &mut self.examples, least..=100_000, |drag| drag.speed(8));
        examples.labelled_by(label.id).on_hover_text(help);
        let label = ui.label("Tokens");
        let (most, help) = O::WORDS.tokens;
        // How a model of elsewhere was trained is not known.
        let least = usize::from(subject.run.is_none() && self.tokens > 0);
        let tokens = number_ui(ui, &mut self.tokens, least..=most, |drag| {
            drag.custom_formatter(
                |tokens, _| {
                    if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") }
                },
            )
        });
        tokens.labelled_by(label.id).on_hover_text(help);
    }

    /// `256 examples of 64 tokens`
    fn amount_words(&self) -> String {
        let tokens = match self.tokens {
            0 => "as many tokens as it was trained on".to_owned(),
            tokens => counted(tokens as u64, "token"),
        };
        format!("{} of {tokens}", counted(self.examples as u64, "example"))
    }

    /// Asks for what the form says.
    pub fn start(&mut self, subject: &Subject, cx: &mut PanelContext<'_>) {
        let was_open = std::mem::take(&mut self.is_open);
        let tokens = (self.tokens > 0).then_some(self.tokens);
        let sample = AnalysisSpec { examples: self.examples, tokens, ..AnalysisSpec::default() };
        let (spec, subspaces) = self.options.spec(sample);
        let which = self.step.map_or(Which::Best, Which::Step);
        // What stands in the form counts; of a form that is closed nobody sees what it holds.
        let data = if was_open { subject.reads(cx) } else { subject.data(cx) };
        let name = cx.state.subject_name(&subject.id);
        cx.state.analysis.analyse((&subject.id, &name), which, data, spec, subspaces, current_folder());
    }

    /// There is none: says why and what it would show, and offers it; `more` draws further ways to get one.
    pub fn empty_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        sentence: &str,
        cx: &mut PanelContext<'_>,
        more: impl FnOnce(&mut Ui, &mut PanelContext<'_>),
    ) {
        self.set_up_for(subject, cx);
        let heading = format!("No {} of \"{}\" yet", O::WORDS.what, subject.name);
        blank_ui(ui, &heading, sentence, |ui| {
            if subject.has_model(cx.state) && !cx.state.analysis.is_pending(&subject.id) {
                // The form says the same where it is open.
                if subject.run.is_none() && !self.is_open {
                    ui.horizontal(|ui| subject.text_ui(ui, O::WORDS.what, cx));
                }
                let words =
                    if subject.run.is_some() { O::WORDS.now.to_owned() } else { format!("{} now", O::WORDS.submit) };
                if (subject.run.is_some() || !self.is_open) && self.submit_ui(ui, (&words, &words), subject, cx) {
                    self.start(subject, cx);
                }
                if !self.is_open {
                    let words = format!("Of {}; {} above takes others.", self.amount_words(), O::WORDS.button);
                    ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
                }
            }
            more(ui, cx);
            // Below what was clicked, so that the next click finds it in its place.
            failure_ui(ui, subject, cx);
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

/// Why the analysis of it that was asked for last failed: where it was asked for, until it is dismissed.
pub fn failure_ui(ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
    let Some(why) = cx.state.analysis.last_failure(&subject.id) else { return };
    let palette = theme::palette(ui.visuals());
    let mut is_dismissed = false;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(why).color(palette.error));
        is_dismissed = ui.small_button("Dismiss").accessible_name("Dismiss why the analysis failed").clicked();
    });
    if is_dismissed {
        cx.state.analysis.dismiss_failure(&subject.id);
    }
}

/// The analyses of what is shown that wait or are being computed; the queue and the top bar tell of all.
pub fn pending_ui(ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
    let mut cancel = None;
    let own = cx.state.analysis.pending.iter().filter(|pending| pending.of == subject.id);
    for pending in own {
        let PendingAnalysis { job, analysis, of, .. } = pending;
        ui.horizontal_wrapped(|ui| {
            let name = cx.state.subject_name(of);
            if let Some((stage, fraction)) = &job.at {
                let bar = ProgressBar::new(*fraction as f32).desired_width(200.0).show_percentage();
                ui.add(bar).accessible_name("Progress of the analysis");
                // The stage names the model; what tells runs of one name apart is not in it.
                ui.label(stage).on_hover_text(name);
                if let Some(left) = job.seconds_left() {
                    let left = format!("Time left: about {}", format::duration(left));
                    ui.label(RichText::new(left).color(theme::palette(ui.visuals()).weak));
                }
            } else {
                ui.add(Spinner::new().size(14.0));
                ui.label(format!("The analysis of \"{name}\" is waiting in the queue"));
            }
            let words = if job.is_stopping { "Ending…" } else { "Cancel" };
            let button = ui.add_enabled(!job.is_stopping, Button::new(words)).on_hover_text("Nothing of it is kept");
            if button.accessible_name("Cancel the analysis").clicked() {
                cancel = Some(analysis.clone());
            }
        });
    }
    if let Some(analysis) = cancel {
        cx.state.analysis.cancel(&analysis);
    }
}
