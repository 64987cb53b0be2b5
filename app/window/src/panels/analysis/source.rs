use egui::{ComboBox, Ui};
use headroom_engine::{
    config::counted,
    store::{AnalysisId, AnalysisSummary},
};

use super::{Shown, Subject};
use crate::{
    context::PanelContext,
    format::{self, with_capital},
    state::{AnalysisPart, SubjectId},
};

/// Chooses between what a run kept while it trained and what was found on demand; nothing where there is no choice.
pub(super) fn source_ui(ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
    let all = cx.state.analysis.on_demand(&subject.id);
    if all.is_empty() {
        return;
    }
    let opened = cx.state.analysis.opened(&subject.id);
    let shown = opened.as_ref().and_then(|id| all.iter().find(|found| found.id == *id));
    let name = |found: &AnalysisSummary| with_capital(&format!("{}, {}", name(found), found.data));
    let none = subject.run.is_some().then_some("During training");
    let wanted = choice_ui(ui, &all, shown, (none, 190.0), name, cx);
    if wanted.as_ref() != shown.map(|found| &found.id) {
        cx.state.analysis.open(&subject.id, wanted);
    }
}

/// Which reconstruction of a run or a model directory is shown: the one that was chosen here, or opened last anywhere.
#[derive(Debug, Default)]
pub(super) struct Reconstructions {
    of: Option<SubjectId>,
    opened: Option<AnalysisId>,
    chosen: Option<AnalysisId>,
}

impl Reconstructions {
    fn all(subject: &Subject, cx: &mut PanelContext<'_>) -> Vec<AnalysisSummary> {
        let all = cx.state.analysis.on_demand(&subject.id);
        all.into_iter().filter(|found| found.reconstructs).collect()
    }

    /// What is shown.
    pub(super) fn shown(&mut self, subject: &Subject, cx: &mut PanelContext<'_>) -> Shown {
        if self.of.as_ref() != Some(&subject.id) {
            *self = Self { of: Some(subject.id.clone()), ..Self::default() };
        }
        let all = Self::all(subject, cx);
        let state = &mut cx.state.analysis;
        let opened = state.opened(&subject.id).filter(|id| all.iter().any(|found| found.id == *id));
        if opened != self.opened {
            self.chosen = opened.clone().or(self.chosen.take());
            self.opened = opened;
        }
        let chosen = self.chosen.as_ref().and_then(|id| all.iter().find(|found| found.id == *id));
        match chosen.or(all.first()) {
            None if state.has_list() => Shown::Nothing,
            None => Shown::waiting(AnalysisPart::List, state),
            Some(found) => Shown::on_demand(&found.id, state),
        }
    }

    /// Chooses among those that there are.
    pub(super) fn ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
        let all = Self::all(subject, cx);
        let chosen = self.chosen.as_ref().and_then(|id| all.iter().find(|found| found.id == *id));
        if let Some(shown) = chosen.or(all.first()) {
            let name = |found: &AnalysisSummary| with_capital(&name(found));
            let wanted = choice_ui(ui, &all, Some(shown), (None, 210.0), name, cx);
            if wanted.as_ref() != Some(&shown.id) {
                self.chosen = wanted;
            }
        }
    }
}

/// A list of analyses on demand, behind what stands for none of them, and a button that deletes the one that is shown; the
/// one that is to be shown.
fn choice_ui(
    ui: &mut Ui,
    all: &[AnalysisSummary],
    shown: Option<&AnalysisSummary>,
    (none, width): (Option<&str>, f32),
    name: impl Fn(&AnalysisSummary) -> String,
    cx: &mut PanelContext<'_>,
) -> Option<AnalysisId> {
    let mut wanted = shown.map(|found| found.id.clone());
    let text = shown.map_or_else(|| none.unwrap_or_default().to_owned(), &name);
    let combo = ComboBox::from_id_salt("source").width(width).selected_text(text).show_ui(ui, |ui| {
        if let Some(none) = none {
            ui.selectable_value(&mut wanted, None, none);
        }
        for found in all {
            ui.push_id(found.number, |ui| ui.selectable_value(&mut wanted, Some(found.id.clone()), name(found)));
        }
    });
    combo.response.accessible_name("Which analysis");
    if let Some(found) = shown {
        let button = ui.button("Delete").on_hover_text("Deletes this analysis; Ctrl+Z brings it back");
        if button.accessible_name("Delete the analysis").clicked() {
            let state = &mut *cx.state;
            state.analysis.delete(&found.id, &mut state.messages);
        }
    }
    wanted
}

/// `step 600, 256 × 32 tokens`, the step only where it is known.
fn name(found: &AnalysisSummary) -> String {
    let step = found.step.map_or_else(String::new, |step| format!("step {}, ", format::count(step)));
    format!("{step}{} × {}", format::count(found.examples), counted(found.tokens, "token"))
}
