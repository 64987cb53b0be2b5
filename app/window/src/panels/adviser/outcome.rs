//! What was predicted of advised runs beside what was measured.

use std::sync::Arc;

use egui::{CollapsingHeader, Grid, Label, RichText, Ui};
use headroom_engine::{
    analysis::Analysis,
    store::{AdviceRecord, RunId, RunState, RunSummary, series_names},
};

use crate::{
    compare::{Comparison, Course, Delta, Verdict},
    context::{Action, PanelContext, PanelId},
    findings, format,
    plot::{CurveX, Series},
    theme,
};

/// Advised runs that are shown.
const MOST: usize = 8;

/// What a table was made from.
struct Key {
    run: RunId,
    states: [(RunState, u64); 2],
    /// They are held, so that no other one takes the address that they are known by.
    analyses: [Option<Arc<Analysis>>; 2],
    /// What to think of the difference of the losses.
    losses: Option<Delta>,
}

impl Key {
    fn is(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Option<Arc<Analysis>>, &Option<Arc<Analysis>>)| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        (&self.run, &self.states, &self.losses) == (&other.run, &other.states, &other.losses)
            && self.analyses.iter().zip(&other.analyses).all(is_same)
    }
}

/// Tables that were made, again only when something changed.
#[derive(Default)]
pub struct Outcomes(Vec<(Key, Vec<[String; 5]>)>);

/// The newest analysis of a run, asked for where it is not there.
fn newest(run: &RunId, cx: &mut PanelContext<'_>) -> Option<Arc<Analysis>> {
    let state = &mut cx.state.analysis;
    if let Some(step) = state.steps(run)?.last() {
        return state.at(run, *step);
    }
    let own = state.on_demand(&run.into()).into_iter().next()?;
    state.result(&own.id)
}

/// What to think of the difference of the losses of two runs, by as much of their curves as is loaded.
fn judged_losses(before: &RunSummary, after: &RunSummary, cx: &mut PanelContext<'_>) -> Option<Delta> {
    const LOSS: &str = series_names::VALIDATION_LOSS;
    let mut curve = |run: &RunSummary| -> Series {
        cx.state.series.curve(&run.id, LOSS, CurveX::STEP).cloned().unwrap_or_default()
    };
    let (old, new) = (curve(before), curve(after));
    let old = Course { run: before, series: LOSS, x: old.x(), y: old.y(), outcomes: None };
    let new = Course { run: after, series: LOSS, x: new.x(), y: new.y(), outcomes: None };
    Comparison::of_best(&new, &old).map(|comparison| comparison.delta)
}

impl Outcomes {
    /// Draws a table for everything that was advised from a run, or of the run itself.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunId, cx: &mut PanelContext<'_>) {
        cx.state.advice.want();
        let all: Vec<AdviceRecord> = cx.state.advice.about(run).take(MOST).cloned().collect();
        for (place, record) in all.iter().enumerate() {
            ui.push_id(&record.run, |ui| self.one_ui(ui, record, place == 0, cx));
        }
    }

    fn one_ui(&mut self, ui: &mut Ui, record: &AdviceRecord, is_newest: bool, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        let advised = &record.advised;
        let beside = advised.beside.as_ref().filter(|run| cx.state.run(run).is_some());
        let before = beside.unwrap_or(&advised.source).clone();
        let Some(after_run) = cx.state.run(&record.run).cloned() else { return };
        let title = format!("Predicted and measured: {}", cx.state.run_name(&record.run));
        CollapsingHeader::new(RichText::new(title).strong()).id_salt("outcome").default_open(is_newest).show(
            ui,
            |ui| {
                let Some(before_run) = cx.state.run(&before).cloned() else {
                    ui.label("The run it was advised from was deleted, so there is nothing to compare with.");
                    return;
                };
                let (old, new) = (newest(&before, cx), newest(&record.run, cx));
                let stands = |run: &RunSummary| (run.state, run.steps_done);
                let judged = judged_losses(&before_run, &after_run, cx);
                let key = Key {
                    run: record.run.clone(),
                    states: [stands(&before_run), stands(&after_run)],
                    analyses: [old.clone(), new.clone()],
                    losses: judged,
                };
                if !self.0.iter().any(|(known, _)| known.is(&key)) {
                    let outcome = findings::outcome(
                        &advised.prediction,
                        &findings::trained(&before_run, beside.is_some(), old.as_deref()),
                        &findings::trained(&after_run, false, new.as_deref()),
                    );
                    self.0.retain(|(known, _)| known.run != key.run);
                    let words = key.losses.map(|losses| losses.words(format::delta));
                    let rows = findings::outcome_rows(&outcome, words.as_deref());
                    self.0.push((key, rows));
                }
                let Some((_, rows)) = self.0.iter().find(|(known, _)| known.run == record.run) else { return };
                let how = if beside.is_some() { "trained again beside it" } else { "trained before" };
                let words = format!(
                    "{}. Against \"{}\", {how}; advised from {}.",
                    format::with_capital(&findings::stands_words(&after_run)),
                    cx.state.run_name(&before),
                    advised.words
                );
                ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
                Grid::new("rows").num_columns(5).striped(true).spacing([14.0, 3.0]).show(ui, |ui| {
                    for heading in ["", "Before", "Predicted", "Measured", ""] {
                        ui.label(RichText::new(heading).small().color(palette.weak));
                    }
                    ui.end_row();
                    for [what, present, predicted, came_out, note] in rows {
                        ui.label(what);
                        ui.label(present);
                        ui.label(predicted);
                        ui.label(RichText::new(came_out).strong());
                        ui.add(Label::new(RichText::new(note).small().color(palette.weak)).wrap());
                        ui.end_row();
                    }
                });
                let is_untested = judged.is_some_and(|losses| losses.verdict == Verdict::NotTested);
                let is_wanted = ui.horizontal_wrapped(|ui| {
                    let button = ui.button("Compare their curves");
                    if is_untested {
                        let words = "Compare queues the seeds that a test takes.";
                        ui.label(RichText::new(words).small().color(palette.weak));
                    }
                    button.clicked()
                });
                if is_wanted.inner {
                    let runs = [before.clone(), record.run.clone()];
                    cx.state.selection.visible.extend(runs);
                    cx.state.selection.baseline = Some(before.clone());
                    cx.act(Action::Open(PanelId::COMPARE));
                }
            },
        );
        ui.add_space(6.0);
    }
}
