use std::{collections::BTreeMap, sync::Arc};

use egui::{RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, Measure, Topic},
    attention::HeadAt,
    config::counted,
    store::{AnalysisId, RunSummary},
};

use super::Scrubber;
use crate::{
    context::PanelContext,
    format,
    state::{AnalysisPart, AnalysisState},
    theme,
};

/// What of a run is shown.
pub enum Shown {
    /// It is being read.
    Reading,
    /// The run has no analysis.
    Nothing,
    /// It could not be read: why, and what is asked for again.
    Failed(String, AnalysisPart),
    /// An analysis, the steps of all that the run has, and its own.
    Analysis {
        /// What was found out.
        analysis: Arc<Analysis>,
        /// The id of one that was found on demand.
        id: Option<AnalysisId>,
        /// Every step of which the run kept one; none where it was found on demand.
        steps: Vec<u64>,
        /// The step that is shown: while another is being read, the one before.
        step: u64,
    },
}

impl Shown {
    /// An answer that is not there.
    pub(super) fn waiting(part: AnalysisPart, state: &AnalysisState) -> Self {
        match state.failure(&part).map(str::to_owned) {
            Some(why) => Self::Failed(why, part),
            None => Self::Reading,
        }
    }

    /// An analysis on demand.
    pub(super) fn on_demand(id: &AnalysisId, state: &mut AnalysisState) -> Self {
        let Some(analysis) = state.result(id) else { return Self::waiting(AnalysisPart::OnDemand(id.clone()), state) };
        let step = analysis.step.unwrap_or(0);
        Self::Analysis { analysis, id: Some(id.clone()), steps: Vec::new(), step }
    }

    /// What of a run is shown where the scrubber stands.
    pub(super) fn of(run: &RunSummary, scrubber: &mut Scrubber, cx: &mut PanelContext<'_>) -> Self {
        let state = &mut cx.state.analysis;
        if let Some(opened) = state.opened(&run.id) {
            return Self::on_demand(&opened, state);
        }
        let Some(steps) = state.steps(&run.id) else {
            return Self::waiting(AnalysisPart::Steps(run.id.clone()), state);
        };
        let Some(step) = scrubber.step(&run.id, &steps) else {
            // What was found on demand is better than nothing.
            let newest = state.on_demand(&run.id).into_iter().find(|found| found.run.as_ref() == Some(&run.id));
            let Some(newest) = newest else { return Self::Nothing };
            state.open(&run.id, Some(newest.id.clone()));
            return Self::on_demand(&newest.id, state);
        };
        // The next one is read ahead, so that playing does not wait for it.
        if let Some(next) = steps.iter().copied().find(|next| *next > step).filter(|_| scrubber.is_playing()) {
            let _ = state.at(&run.id, next);
        }
        if let Some(analysis) = state.at(&run.id, step) {
            scrubber.shows(step);
            return Self::Analysis { analysis, id: None, steps, step };
        }
        let part = AnalysisPart::Live(run.id.clone(), step);
        let has_failed = state.failure(&part).is_some();
        match scrubber.shown_before().and_then(|before| Some((before, state.at(&run.id, before)?))) {
            Some((step, analysis)) if steps.contains(&step) && !has_failed => {
                Self::Analysis { analysis, id: None, steps, step }
            }
            _ => Self::waiting(part, state),
        }
    }
}

/// A head as it is called beside figures: `L3H7`, both counted from 0.
pub fn head_name(at: HeadAt) -> String {
    format!("L{}H{}", at.layer, at.head)
}

/// A formula in characters that every font has.
pub fn formula(measure: Measure) -> String {
    measure.formula().replace('\u{1d40}', "^T")
}

/// On what an analysis rests, in a line, and as an exported figure says it.
pub fn provenance(run: &RunSummary, analysis: &Analysis, cx: &PanelContext<'_>) -> (String, BTreeMap<String, String>) {
    let mut words = format!("{} of {}", counted(analysis.examples, "example"), counted(analysis.tokens, "token"));
    if let Some(step) = analysis.step {
        words = format!("step {}, {words}", format::count(step));
    }
    if !analysis.data.is_empty() {
        words = format!("{words}, {}", analysis.data);
    }
    let mut metadata = BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("run".to_owned(), run.id.to_string()),
        ("analysis".to_owned(), words.clone()),
    ]);
    if let Some(record) = cx.state.records.get(&run.id) {
        metadata.insert("config".to_owned(), record.config_toml.clone());
    }
    (words, metadata)
}

/// What of these parts could not be had or is to be known.
pub fn notes_ui(ui: &mut Ui, analysis: &Analysis, topics: &[Topic]) {
    let palette = theme::palette(ui.visuals());
    for note in analysis.notes_on(topics) {
        ui.label(RichText::new(note).color(palette.warning));
    }
}
