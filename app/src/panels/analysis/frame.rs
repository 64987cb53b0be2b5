use std::sync::Arc;

use egui::{ScrollArea, Ui};
use headroom_engine::{analysis::Analysis, store::RunSummary};
use serde::{Serialize, de::DeserializeOwned};

use super::{AnalysisForm, Scrubber, Shown, asked_ui, empty_ui, source_ui};
use crate::{
    common::{ExportDialog, Exportable, no_runs_ui, working_ui},
    context::PanelContext,
    panels::live::{picker_ui, shown_run},
};

/// What tells one panel of analyses from another.
pub struct About {
    /// Its name in the settings.
    pub name: &'static str,
    /// What fills it, where the store has no run.
    pub without_runs: &'static str,
    /// What fills it, where the run has no analysis.
    pub without_analysis: &'static str,
}

/// What the panels of analyses share: what they remember (`M`), the scrubber over steps, the form of an analysis, the
/// dialog that exports.
pub struct AnalysisFrame<M> {
    memory: Option<M>,
    scrubber: Scrubber,
    form: AnalysisForm,
    export: Option<ExportDialog>,
}

impl<M> Default for AnalysisFrame<M> {
    fn default() -> Self {
        Self { memory: None, scrubber: Scrubber::default(), form: AnalysisForm::default(), export: None }
    }
}

impl<M: Default + Serialize + DeserializeOwned> AnalysisFrame<M> {
    /// Draws a panel: what `add` draws of the shown run, scrolling, or why there is nothing to show; over it the dialog
    /// that exports.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        about: &About,
        add: impl FnOnce(&mut Self, &mut Ui, &RunSummary, &mut M, &mut PanelContext<'_>),
    ) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel(about.name));
        match shown_run(cx) {
            _ if !cx.state.runs_loaded && cx.state.current.is_none() => working_ui(ui, "Reading the runs…"),
            None => no_runs_ui(ui, cx, about.without_runs),
            Some(run) => {
                let scroll = ScrollArea::vertical().auto_shrink([false, false]);
                scroll.show(ui, |ui| {
                    cx.state.want_record(&run.id);
                    add(self, ui, &run, &mut memory, cx);
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
        run: &RunSummary,
        cx: &mut PanelContext<'_>,
        more: impl FnOnce(&mut Ui, &mut PanelContext<'_>),
    ) -> Shown {
        let shown = Shown::of(run, &mut self.scrubber, cx);
        ui.horizontal_wrapped(|ui| {
            picker_ui(ui, run, cx);
            source_ui(ui, run, cx);
            self.form.button_ui(ui, run, cx);
            more(ui, cx);
        });
        if let Shown::Analysis { steps, step, .. } = &shown {
            ui.horizontal(|ui| self.scrubber.ui(ui, steps, *step));
        }
        self.form.ui(ui, run, cx);
        asked_ui(ui, cx);
        shown
    }

    /// The analysis that is shown, with the steps of all; says where there is none yet.
    pub fn found_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        shown: Shown,
        about: &About,
        cx: &mut PanelContext<'_>,
    ) -> Option<(Arc<Analysis>, Vec<u64>)> {
        match shown {
            Shown::Reading => working_ui(ui, "Reading the analysis…"),
            Shown::Nothing => empty_ui(ui, run, about.without_analysis, &mut self.form, cx),
            Shown::Analysis { analysis, steps, .. } => return Some((analysis, steps)),
        }
        None
    }

    /// Opens the dialog that exports.
    pub fn export(&mut self, about: &About, what: Exportable, cx: &mut PanelContext<'_>) {
        self.export = Some(ExportDialog::new(about.name, what, cx));
    }

    /// Esc was pressed: closes the dialog. False if it was not open.
    pub fn back(&mut self) -> bool {
        self.export.take().is_some()
    }
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

/// Whether the run that is shown has an analysis, so that there are figures of it.
pub fn has_analysis(cx: &mut PanelContext<'_>) -> bool {
    let Some(run) = shown_run(cx) else { return false };
    let state = &mut cx.state.analysis;
    state.opened(&run.id).is_some() || state.steps(&run.id).is_some_and(|steps| !steps.is_empty())
}
