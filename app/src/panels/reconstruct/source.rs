use std::sync::Arc;

use egui::{ComboBox, Ui};
use headroom_engine::{
    analysis::Analysis,
    config::counted,
    store::{AnalysisId, AnalysisSummary, RunId, RunSummary},
};

use crate::{context::PanelContext, format, panels::analysis::with_capital};

/// What of a run is shown.
pub enum Found {
    /// It is being read.
    Reading,
    /// Nobody has restored its scores.
    Nothing,
    /// An analysis that did.
    Analysis(Arc<Analysis>, AnalysisSummary),
}

/// Which of a run's analyses is shown: the one that was chosen here, or opened last anywhere.
#[derive(Debug, Default)]
pub struct Source {
    run: Option<RunId>,
    opened: Option<AnalysisId>,
    chosen: Option<AnalysisId>,
}

impl Source {
    /// What is shown.
    pub fn find(&mut self, run: &RunSummary, cx: &mut PanelContext<'_>) -> (Found, Vec<AnalysisSummary>) {
        if self.run.as_ref() != Some(&run.id) {
            *self = Self { run: Some(run.id.clone()), ..Self::default() };
        }
        let state = &mut cx.state.analysis;
        let all: Vec<AnalysisSummary> =
            state.on_demand(&run.id).into_iter().filter(|found| found.reconstructs).collect();
        let opened = state.opened(&run.id).filter(|id| all.iter().any(|found| found.id == *id));
        if opened != self.opened {
            self.chosen = opened.clone().or(self.chosen.take());
            self.opened = opened;
        }
        let chosen = self.chosen.as_ref().and_then(|id| all.iter().find(|found| found.id == *id));
        let found = match chosen.or(all.first()).cloned() {
            None if state.has_list() => Found::Nothing,
            None => Found::Reading,
            Some(shown) => match state.result(&shown.id) {
                Some(analysis) if analysis.reconstruction.is_some() => Found::Analysis(analysis, shown),
                // It was asked for, and could not be had.
                Some(_) => Found::Nothing,
                None => Found::Reading,
            },
        };
        (found, all)
    }

    /// Chooses among those that there are.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        shown: &AnalysisSummary,
        all: &[AnalysisSummary],
        cx: &mut PanelContext<'_>,
    ) {
        let combo = ComboBox::from_id_salt("source").width(210.0).selected_text(name(shown, run)).show_ui(ui, |ui| {
            for found in all {
                ui.push_id(found.number, |ui| {
                    if ui.selectable_label(found.id == shown.id, name(found, run)).clicked() {
                        self.chosen = Some(found.id.clone());
                    }
                });
            }
        });
        combo.response.accessible_name("Which analysis");
        let button = ui.button("Delete").on_hover_text("Deletes this analysis; Ctrl+Z brings it back");
        if button.accessible_name("Delete the analysis").clicked() {
            let state = &mut *cx.state;
            state.analysis.delete(&shown.id, &mut state.messages);
        }
    }
}

fn name(found: &AnalysisSummary, run: &RunSummary) -> String {
    let step = found.step.map_or_else(String::new, |step| format!("step {}, ", format::count(step)));
    let of = if found.run.as_ref() == Some(&run.id) { String::new() } else { format!("{}, ", found.target) };
    with_capital(&format!("{of}{step}{} × {}", format::count(found.examples), counted(found.tokens, "token")))
}
