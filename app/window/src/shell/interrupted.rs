use egui::{Align, Button, Frame, Label, Layout, Margin, Panel, RichText, Stroke, Ui};
use headroom_engine::{
    protocol::commands,
    store::{CheckpointKind, CheckpointRecord, RunId, RunState, RunSummary},
};

use crate::{
    common::state_text::never_began,
    context::{Action, PanelContext, PanelId},
    format,
    settings::Settings,
    state::State,
    theme,
};

/// Below the top bar: what was training or waited when the program ended last, and one click that goes on with it, or with all of
/// them. Draws nothing where there is no such run.
pub fn interrupted_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let mut found: Vec<&RunSummary> =
        cx.state.runs.iter().filter(|run| is_to_tell(run, cx.state, cx.settings)).collect();
    // What trained is told of before what waited for it.
    found.sort_by_key(|run| never_began(run));
    let Some(run) = found.first().map(|&run| run.clone()) else { return };
    let more = found.len() - 1;
    found.sort_by_key(|run| (never_began(run), run.number));
    let in_order: Vec<(RunId, i64)> = found.into_iter().map(ending).collect();
    cx.state.want_record(&run.id);
    let name = cx.state.run_name(&run.id);
    let words = words(&run, &name, cx.state, cx.settings.closed_on.contains(&run.id));
    let palette = theme::palette(ui.visuals());
    let frame = Frame::new().fill(palette.surface).stroke(Stroke::new(1.0, palette.line));
    let frame = frame.inner_margin(Margin::symmetric(12, 6));
    let (mut resume, mut resume_all, mut inspect, mut dismiss) = (false, false, false, false);
    Panel::top("interrupted").resizable(false).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let hint = "Hides this; the run can be resumed from Runs at any time";
            let button = ui.button("Not now").on_hover_text(hint);
            dismiss = button.accessible_name(format!("Not now: {name}")).clicked();
            inspect =
                ui.button("Show").on_hover_text("Opens the run").accessible_name(format!("Show {name}")).clicked();
            let hint = "Queues the rest of the run; its curve continues exactly";
            let button = ui.add(Button::new("Resume").fill(palette.selection)).on_hover_text(hint);
            resume = button.accessible_name(format!("Resume {name}")).clicked();
            if more > 0 {
                let button = ui.button(format!("Resume all {}", format::count(in_order.len() as u64)));
                let hint = "Queues the rest of each, those that trained before those that waited, the oldest first";
                resume_all = button.on_hover_text(hint).clicked();
                ui.label(RichText::new(format!("and {} more", format::count(more as u64))).color(palette.weak));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(RichText::new(&words).color(palette.warning)).truncate()).on_hover_text(&words);
            });
        });
    });
    let done = match (resume_all, resume || dismiss) {
        (true, _) => in_order,
        (false, true) => vec![ending(&run)],
        (false, false) => Vec::new(),
    };
    if resume || resume_all {
        for (run, _) in &done {
            cx.send(commands::ResumeRun { run: run.clone() });
        }
        cx.act(Action::Open(PanelId::LIVE));
        cx.state.selection.focused = done.first().map(|(run, _)| run.clone());
    }
    if inspect {
        cx.act(Action::Inspect(run.id.clone()));
        cx.act(Action::Open(PanelId::LIVE));
    }
    for (run, ended_ms) in done {
        cx.settings.closed_on.remove(&run);
        cx.settings.told.insert(run, ended_ms);
    }
}

/// What is remembered of a run that was told: its end, for it may be resumed and be cut short again.
fn ending(run: &RunSummary) -> (RunId, i64) {
    (run.id.clone(), run.ended_ms.unwrap_or_default())
}

/// Whether the program's end cut this run short, and the user was not told yet.
fn is_to_tell(run: &RunSummary, state: &State, settings: &Settings) -> bool {
    let is_cut = match run.state {
        RunState::Interrupted => true,
        RunState::Stopped => settings.closed_on.contains(&run.id),
        _ => false,
    };
    let is_current = || state.current.as_ref().is_some_and(|current| current.run == run.id);
    is_cut && !run.archived && settings.told.get(&run.id) != Some(&run.ended_ms.unwrap_or_default()) && !is_current()
}

fn words(run: &RunSummary, name: &str, state: &State, was_closed: bool) -> String {
    if never_began(run) {
        return format!("\"{name}\" waited in the queue when the program ended. Resume puts it there again.");
    }
    let of = run.steps_total.map_or_else(String::new, |total| format!(" of {}", format::count(total)));
    let at = format!("at step {}{of}", format::count(run.steps_done));
    let was_stopped = was_closed && run.state == RunState::Stopped;
    let what = format!("\"{name}\" was {} {at}", if was_stopped { "stopped" } else { "interrupted" });
    let why = if was_stopped { "The window was closed." } else { "The program ended while it trained." };
    // What Resume does comes early: a narrow window shows the beginning.
    // The best is kept to be used, without what training needs to go on.
    let goes_on = |record: &&CheckpointRecord| record.kind != CheckpointKind::Best && record.problem.is_none();
    let checkpoints =
        state.checkpoints.get(&run.id).map(|all| all.iter().filter(goes_on).map(|record| record.step).max());
    match checkpoints {
        Some(Some(step)) if step == run.steps_done => format!("{what}, Resume goes on from there. {why}"),
        Some(Some(step)) => {
            format!("{what}, Resume goes on from its checkpoint of step {}. {why}", format::count(step))
        }
        Some(None) => format!("{what}, Resume starts at the first step: it has no checkpoint to go on from. {why}"),
        None => format!("{what}. {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn only_runs_that_the_end_of_the_program_cut_short_are_told() {
        let (state, mut settings) = (State::default(), Settings::default());
        let mut run = examples::summary(1, "run");
        for of in RunState::ALL {
            run.state = of;
            assert_eq!(is_to_tell(&run, &state, &settings), of == RunState::Interrupted, "{of}");
        }
        run.state = RunState::Stopped;
        settings.closed_on.insert(run.id.clone());
        assert!(is_to_tell(&run, &state, &settings));
        run.steps_done = 1_234;
        run.steps_total = Some(5_000);
        let told = words(&run, "run", &state, true);
        assert_eq!(told, "\"run\" was stopped at step 1,234 of 5,000. The window was closed.");
        run.state = RunState::Interrupted;
        settings.told.insert(run.id.clone(), run.ended_ms.unwrap_or_default());
        assert!(!is_to_tell(&run, &state, &settings));
        run.ended_ms = Some(run.ended_ms.unwrap_or_default() + 1);
        assert!(is_to_tell(&run, &state, &settings), "it was resumed and interrupted again");
        run.archived = true;
        assert!(!is_to_tell(&run, &state, &settings));
    }

    #[test]
    fn a_run_that_only_waited_is_not_said_to_have_trained() {
        let mut run = RunSummary { state: RunState::Interrupted, steps_done: 0, ..examples::summary(1, "run") };
        run.steps_total = Some(200);
        let told = words(&run, "run", &State::default(), false);
        assert_eq!(told, "\"run\" was interrupted at step 0 of 200. The program ended while it trained.");
        run.started_ms = None;
        let told = words(&run, "run", &State::default(), false);
        assert_eq!(told, "\"run\" waited in the queue when the program ended. Resume puts it there again.");
    }

    #[test]
    fn the_step_that_is_named_is_the_one_that_training_goes_on_from() {
        let mut state = State::default();
        let run = RunSummary { state: RunState::Interrupted, steps_done: 1_400, ..examples::summary(1, "run") };
        let kept = |step: u64, kind| CheckpointRecord { step, kind, ..examples::checkpoints()[0].clone() };
        let best = kept(1_350, CheckpointKind::Best);
        state.checkpoints.insert(run.id.clone(), vec![kept(1_000, CheckpointKind::Last), best.clone()]);
        let told = words(&run, "run", &state, false);
        assert!(told.contains(" of 100, Resume goes on from its checkpoint of step 1,000."), "{told}");
        state.checkpoints.insert(run.id.clone(), vec![best]);
        let told = words(&run, "run", &state, false);
        assert!(told.contains(" of 100, Resume starts at the first step: it has no checkpoint"), "{told}");
    }
}
