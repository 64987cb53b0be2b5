use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui};
use headroom_engine::{
    analysis::Analysis,
    protocol::Which,
    store::{AnalysisId, series_names},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    AnalysisForm, AnalysisOptions, FormOptions, Scrubber, Shown, Subject, failure_ui, pending_ui,
    source::{Reconstructions, source_ui},
};
use crate::{
    common::{ExportDialog, Exportable, blank_ui, no_runs_ui, working_ui},
    context::{Action, PanelContext, PanelId},
    file_dialogs::current_folder,
    format,
    plot::CurveX,
    state::SubjectId,
    theme,
};

/// Steps between analyses that are offered where a run has none.
const EVERY: u64 = 100;

/// What tells one panel of analyses from another.
pub struct About {
    /// Its name in the settings.
    pub name: &'static str,
    /// What fills it, where the store has no run.
    pub without_runs: &'static str,
    /// What fills it, where the run has no analysis.
    pub without_analysis: &'static str,
    /// Whether it shows reconstructions, which are found on demand alone, rather than any analysis.
    pub is_of_reconstructions: bool,
}

/// An analysis that is found.
pub struct FoundAnalysis {
    /// What was found out.
    pub analysis: Arc<Analysis>,
    /// The id of one that was found on demand.
    pub id: Option<AnalysisId>,
    /// All steps at which the run kept one.
    pub steps: Vec<u64>,
}

/// What the panels of analyses share: which run and analysis is shown, the scrubber over steps, the form that asks for
/// another one, what is said while it is read, where there is none and where it cannot be read, and the dialog that exports.
/// `M` is what the panel remembers between starts, `O` the options of its form.
pub struct AnalysisFrame<M, O = AnalysisOptions> {
    memory: Option<M>,
    scrubber: Scrubber,
    reconstructions: Reconstructions,
    /// The form.
    pub form: AnalysisForm<O>,
    export: Option<ExportDialog>,
}

impl<M, O: Default> Default for AnalysisFrame<M, O> {
    fn default() -> Self {
        Self {
            memory: None,
            scrubber: Scrubber::default(),
            reconstructions: Reconstructions::default(),
            form: AnalysisForm::default(),
            export: None,
        }
    }
}

impl<M: Default + Serialize + DeserializeOwned, O: FormOptions> AnalysisFrame<M, O> {
    /// Draws a panel: what `add` draws of the shown run or model directory, scrolling, or why there is nothing to show; over
    /// it the dialog that exports what `add` returns.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        about: &About,
        add: impl FnOnce(&mut Self, &mut Ui, &Subject, &mut M, &mut PanelContext<'_>) -> Option<Exportable>,
    ) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel(about.name));
        match Subject::shown(cx) {
            _ if !cx.state.runs_loaded && cx.state.current.is_none() => working_ui(ui, "Reading the runs…"),
            None => {
                no_runs_ui(ui, cx, about.without_runs);
                ui.vertical_centered(|ui| {
                    let button = ui.button("Look into a pretrained model");
                    if button.on_hover_text("Opens Models: from a folder, or from a hub").clicked() {
                        cx.act(Action::Open(PanelId::MODELS));
                    }
                });
            }
            Some(subject) => {
                let scroll = ScrollArea::vertical().auto_shrink([false, false]);
                scroll.show(ui, |ui| {
                    if let Some(run) = subject.id.run() {
                        cx.state.want_record(run);
                    }
                    if !directory_is_read_ui(ui, &subject, cx) {
                        return;
                    }
                    if let Some(exported) = add(self, ui, &subject, &mut memory, cx) {
                        self.export = Some(ExportDialog::new(about.name, exported, cx));
                    }
                });
            }
        }
        if let Some(mut open) = self.export.take()
            && open.ui(ui, cx)
        {
            self.export = Some(open);
        }
        cx.settings.set_panel(about.name, &memory);
        self.memory = Some(memory);
    }

    /// Draws the header: which run, which analysis and step, what can be asked for, which analyses are on their way.
    /// `more` draws at the end of its first row. Returns what is shown.
    pub fn header_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        about: &About,
        cx: &mut PanelContext<'_>,
        more: impl FnOnce(&mut Ui, &mut PanelContext<'_>),
    ) -> Shown {
        let shown = self.shown(subject, about, cx);
        ui.horizontal_wrapped(|ui| {
            subject.picker_ui(ui, cx);
            if !about.is_of_reconstructions {
                source_ui(ui, subject, cx);
            } else if matches!(shown, Shown::Analysis { .. }) {
                self.reconstructions.ui(ui, subject, cx);
            }
            self.form.button_ui(ui, subject, cx);
            more(ui, cx);
        });
        if let Shown::Analysis { steps, step, .. } = &shown
            && !steps.is_empty()
        {
            ui.horizontal(|ui| self.scrubber.ui(ui, steps, *step));
        }
        self.form.ui(ui, subject, cx);
        pending_ui(ui, subject, cx);
        if matches!(shown, Shown::Analysis { .. }) {
            failure_ui(ui, subject, cx);
            hardly_learnt_ui(ui, subject, cx);
        }
        shown
    }

    /// The analysis that is shown; says where it is being read, where there is none and where it cannot be read.
    pub fn found_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        shown: Shown,
        about: &About,
        cx: &mut PanelContext<'_>,
    ) -> Option<FoundAnalysis> {
        match shown {
            Shown::Analysis { analysis, id, steps, .. } => return Some(FoundAnalysis { analysis, id, steps }),
            Shown::Reading if about.is_of_reconstructions => working_ui(ui, "Reading the analyses…"),
            Shown::Reading => working_ui(ui, "Reading the analysis…"),
            Shown::Nothing => self.empty_ui(ui, subject, about, cx),
            Shown::Failed(why, part) => {
                if failed_ui(ui, "The analysis cannot be read", &why, |_| ()) {
                    cx.state.analysis.retry(&part);
                }
            }
        }
        None
    }

    fn shown(&mut self, subject: &Subject, about: &About, cx: &mut PanelContext<'_>) -> Shown {
        if about.is_of_reconstructions {
            self.reconstructions.shown(subject, cx)
        } else {
            Shown::of(subject, &mut self.scrubber, cx)
        }
    }

    /// There is no analysis of the kind that the panel shows: says what would fill it, and offers that.
    pub fn empty_ui(&mut self, ui: &mut Ui, subject: &Subject, about: &About, cx: &mut PanelContext<'_>) {
        let SubjectId::Run(run) = &subject.id else {
            self.form.empty_ui(ui, subject, about.without_analysis, cx, |_, _| ());
            return;
        };
        let config = cx.state.records.get(run).and_then(|record| record.run_config().ok());
        if about.is_of_reconstructions {
            let has_any = subject.has_model(cx.state);
            let without =
                "Reconstruction needs a checkpoint: one is written at evaluations, or by Checkpoint in the top bar.";
            let sentence = if has_any { about.without_analysis } else { without };
            self.form.empty_ui(ui, subject, sentence, cx, |_, _| ());
            return;
        }
        let is_training = cx.state.current.as_ref().is_some_and(|current| current.run == *run);
        let why = match &config {
            Some(config) if config.probe.every == 0 => {
                "It was not analysed during training: \"Analyse every\" (probe.every) is 0.".to_owned()
            }
            Some(config) if is_training => format!("The first comes at step {}.", config.probe.every),
            _ => "None was kept during training.".to_owned(),
        };
        let sentence = format!("{} {why}", about.without_analysis);
        self.form.empty_ui(ui, subject, &sentence, cx, |ui, cx| {
            let Some(mut config) = config.filter(|config| config.probe.every == 0 || !is_training) else { return };
            if config.probe.every == 0 {
                config.probe.every = EVERY;
            }
            let again = ui.button("Set up the same run with analyses during training");
            if again.on_hover_text("Opens Configure; \"Analyse every\" says how often").clicked() {
                cx.act(Action::Configure(Box::new(config), current_folder()));
            }
        });
    }

    /// Whether there is an analysis of what is shown, so that there are figures of it.
    pub fn has_figures(&mut self, about: &About, cx: &mut PanelContext<'_>) -> bool {
        let Some(subject) = Subject::shown(cx) else { return false };
        if about.is_of_reconstructions {
            return matches!(self.shown(&subject, about, cx), Shown::Analysis { .. });
        }
        let state = &mut cx.state.analysis;
        let is_kept = |run| state.steps(run).is_some_and(|steps| !steps.is_empty());
        subject.id.run().is_some_and(is_kept) || state.opened(&subject.id).is_some()
    }

    /// Esc was pressed: closes the dialog, or the form. False if neither was open.
    pub fn back(&mut self) -> bool {
        self.export.take().is_some() || self.form.back()
    }
}

/// A run whose loss is no less than this share of its first one has learnt next to nothing.
const HARDLY_LEARNT: f64 = 0.97;

/// Whether the best held-out loss is about the first one of all.
fn has_hardly_learnt(first: f64, best: f64) -> bool {
    first > 0.0 && best > HARDLY_LEARNT * first
}

/// Says where a run has learnt so little that its maps tell of its initial weights.
fn hardly_learnt_ui(ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
    let Some(run) = &subject.run else { return };
    let first = cx.state.series.curve(&run.id, series_names::TRAIN_LOSS, CurveX::STEP);
    let first = first.and_then(|curve| curve.y().first().copied());
    let best = run.metrics.get(series_names::VALIDATION_LOSS).and_then(|loss| loss.best);
    // Of a run that began with a trained model the first loss tells nothing.
    let begins = cx.state.records.get(&run.id).is_none_or(|record| record.config.pointer("/model/initial").is_some());
    if let (Some(first), Some(best), false) = (first, best, begins)
        && has_hardly_learnt(first, best)
    {
        let words = format!(
            "This run has hardly learnt anything: its loss was {} at first and is {} at best on held-out text. What its heads \
             share now they may share by how weights are drawn.",
            format::number(first),
            format::number(best)
        );
        ui.label(RichText::new(words).color(theme::palette(ui.visuals()).warning));
    }
}

/// Whether the files of a model directory were read; says so where not. A run has no need of it.
fn directory_is_read_ui(ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) -> bool {
    if subject.run.is_some() {
        return true;
    }
    let why = match subject.facts(cx.state) {
        Ok(Some(_)) => return true,
        Ok(None) => None,
        Err(why) => Some(why),
    };
    subject.picker_ui(ui, cx);
    match why {
        None => working_ui(ui, "Reading the model…"),
        Some(why) => {
            if failed_ui(ui, "The model cannot be read", &why, |_| ()) {
                cx.state.models.read_again(&subject.id.target(Which::Best));
            }
        }
    }
    false
}

/// Why there is nothing to show, and a button that asks again; whether it was clicked. `more` draws further ways out.
pub fn failed_ui(ui: &mut Ui, heading: &str, why: &str, more: impl FnOnce(&mut Ui)) -> bool {
    let mut is_asked_again = false;
    blank_ui(ui, heading, why, |ui| {
        is_asked_again = ui.button("Try again").clicked();
        more(ui);
    });
    is_asked_again
}

/// The menu of figures that can be exported; the one that was chosen.
pub fn export_menu_ui<T>(ui: &mut Ui, figures: impl IntoIterator<Item = (T, impl AsRef<str>)>) -> Option<T> {
    let mut chosen = None;
    ui.menu_button("Export", |ui| {
        for (figure, title) in figures {
            if ui.button(format!("{}…", title.as_ref())).clicked() {
                chosen = Some(figure);
                ui.close();
            }
        }
    });
    chosen
}

/// Ctrl+Z was pressed: brings the analysis back that was deleted last. False if there is none.
pub fn undo_delete(cx: &mut PanelContext<'_>) -> bool {
    let state = &mut *cx.state;
    state.analysis.undo_delete(&mut state.messages)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_2;

    use super::*;

    #[test]
    fn a_run_that_is_where_it_began_has_hardly_learnt() {
        // Two classes by chance, and a little worse.
        assert!(has_hardly_learnt(0.7089, 0.7188) && has_hardly_learnt(0.7089, LN_2));
        // A language model that knows how frequent words are; a classifier that is right more often than not.
        assert!(!has_hardly_learnt(9.01, 6.54) && !has_hardly_learnt(LN_2, 0.60));
        assert!(!has_hardly_learnt(0.0, 0.0) && !has_hardly_learnt(f64::NAN, 1.0) && !has_hardly_learnt(1.0, f64::NAN));
    }
}
