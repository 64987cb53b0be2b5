use std::{collections::BTreeMap, sync::Arc};

use egui::{RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, Measure, Topic},
    attention::HeadAt,
    config::counted,
    store::AnalysisId,
};

use super::{Scrubber, Subject};
use crate::{
    context::PanelContext,
    format,
    state::{AnalysisPart, AnalysisState, SubjectId},
    theme,
};

/// What of a run or a model directory is shown.
pub enum Shown {
    /// It is being read.
    Reading,
    /// It has no analysis.
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

    /// What is shown where the scrubber stands.
    pub(super) fn of(subject: &Subject, scrubber: &mut Scrubber, cx: &mut PanelContext<'_>) -> Self {
        let (id, state) = (&subject.id, &mut cx.state.analysis);
        if let Some(opened) = state.opened(id) {
            return Self::on_demand(&opened, state);
        }
        // A model directory was analysed on demand alone.
        let steps = match id.run() {
            Some(run) => state.steps(run),
            None => Some(Vec::new()),
        };
        let (run, steps) = match (id.run(), steps) {
            (Some(run), None) => return Self::waiting(AnalysisPart::Steps(run.clone()), state),
            (run, steps) => (run, steps.unwrap_or_default()),
        };
        let Some((run, step)) = run.and_then(|run| Some((run, scrubber.step(run, &steps)?))) else {
            // What was found on demand is better than nothing.
            let Some(newest) = state.on_demand(id).into_iter().next() else {
                return if run.is_some() || state.has_list() {
                    Self::Nothing
                } else {
                    Self::waiting(AnalysisPart::List, state)
                };
            };
            state.open(id, Some(newest.id.clone()));
            return Self::on_demand(&newest.id, state);
        };
        // The next one is read ahead, so that playing does not wait for it.
        if let Some(next) = steps.iter().copied().find(|next| *next > step).filter(|_| scrubber.is_playing()) {
            let _ = state.at(run, next);
        }
        if let Some(analysis) = state.at(run, step) {
            scrubber.shows(step);
            return Self::Analysis { analysis, id: None, steps, step };
        }
        let part = AnalysisPart::Live(run.clone(), step);
        let has_failed = state.failure(&part).is_some();
        match scrubber.shown_before().and_then(|before| Some((before, state.at(run, before)?))) {
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
pub fn provenance(subject: &Subject, analysis: &Analysis, cx: &PanelContext<'_>) -> (String, BTreeMap<String, String>) {
    let mut words = format!("{} of {}", counted(analysis.examples, "example"), counted(analysis.tokens, "token"));
    if let Some(step) = analysis.step {
        words = format!("step {}, {words}", format::count(step));
    }
    if !analysis.data.is_empty() {
        words = format!("{words}, {}", analysis.data);
    }
    let mut metadata = BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("analysis".to_owned(), words.clone()),
    ]);
    if let Some(step) = analysis.step {
        metadata.insert("step".to_owned(), step.to_string());
    }
    match &subject.id {
        SubjectId::Run(run) => {
            metadata.insert("run".to_owned(), run.to_string());
            if let Some(record) = cx.state.records.get(run) {
                metadata.insert("config".to_owned(), record.config_toml.clone());
            }
        }
        SubjectId::Directory(path) => {
            metadata.insert("model".to_owned(), path.display().to_string());
        }
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
