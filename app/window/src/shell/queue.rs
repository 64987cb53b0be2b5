use egui::{Button, Id, Popup, PopupCloseBehavior, Rect, RectAlign, RichText, Ui, vec2};
use headroom_engine::{
    config::counted,
    protocol::{JobRef, commands},
    store::{RunId, RunState},
};

use super::button_width::least_width;
use crate::{
    context::{Action, PanelContext},
    state::{FollowedJob, Phase, State},
    theme,
};

/// Runs that were cancelled together and are told of by their names.
const NAMED: usize = 6;
/// The widest words of the button, unless hundreds wait.
const WIDEST: &str = "Queue (88)";

/// The queue button with its list of waiting runs, whose order can be changed and which can be cancelled, and of what else waits
/// that this window asked for.
pub fn queue_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    tell_cancelled(ui, cx);
    let waiting = cx.state.waiting.clone();
    let others = others(cx.state);
    let waits = waiting.len() + others.iter().filter(|other| !other.is_going).count();
    let text = if waits == 0 { "Queue".to_owned() } else { format!("Queue ({waits})") };
    let spoken = match (waiting.len(), waits - waiting.len()) {
        (0, 0) => "Queue, empty".to_owned(),
        (1, 0) => "Queue, 1 run waits".to_owned(),
        (more, 0) => format!("Queue, {more} runs wait"),
        (0, 1) => "Queue, 1 other waits".to_owned(),
        (0, more) => format!("Queue, {more} others wait"),
        (runs, more) => format!("Queue, {} wait", runs + more),
    };
    let button = ui.add(Button::new(text).min_size(vec2(least_width(ui, WIDEST), 0.0)));
    let button = button.on_hover_text("Runs waiting to start").accessible_name(spoken);
    Popup::from_toggle_button_response(&button)
        // It grows away from the window's edge, which is near, from its first frame on.
        .align(RectAlign::BOTTOM_END)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .accessible_name("Waiting runs")
        .show(|ui| {
            ui.set_min_width(320.0);
            others_ui(ui, &others, waits, cx);
            ui.horizontal(|ui| {
                ui.label(RichText::new("Waiting runs").strong());
                if waiting.len() > 1 {
                    let all = ui.add(Button::new("Cancel all").small());
                    let all = all.on_hover_text("Takes all of them out of the queue; Runs keeps them, to be repeated");
                    if all.accessible_name("Cancel all waiting runs").clicked() {
                        let cancel =
                            |run: &RunId| Action::Send(commands::Cancel { job: JobRef::Id(run.clone()) }.into());
                        cx.actions.extend(waiting.iter().map(cancel));
                        ui.data_mut(|data| data.insert_temp(cancelled_id(), waiting.clone()));
                    }
                }
            });
            let paused = cx.state.current.as_ref().filter(|current| current.is_paused && waits > 0);
            if let Some(paused) = paused.map(|current| cx.state.run_name(&current.run)) {
                let words =
                    format!("\"{paused}\" is paused: what waits begins once it was resumed and ends, or is stopped.");
                ui.colored_label(theme::palette(ui.visuals()).warning, words);
            }
            let begun = Begun::of(ui, &waiting, cx.state);
            if waiting.is_empty() && begun.rows.is_empty() {
                ui.colored_label(
                    theme::palette(ui.visuals()).weak,
                    "No run is waiting. A run that is started while another trains waits here.",
                );
                return;
            }
            let grid = egui::Grid::new("waiting runs").num_columns(5).spacing([8.0, 4.0]).show(ui, |ui| {
                let weak = theme::palette(ui.visuals()).weak;
                for run in &begun.rows {
                    ui.label("");
                    ui.colored_label(weak, cx.state.run_name(run));
                    ui.colored_label(weak, "has begun");
                    ui.end_row();
                }
                for (position, run) in waiting.iter().enumerate() {
                    let name = cx.state.run_name(run);
                    // The name says it where that tells runs of one name apart.
                    let seed = cx.state.run(run).map(|summary| format!("seed {}", summary.seed));
                    let seed = seed.filter(|seed| !name.contains(seed.as_str())).unwrap_or_default();
                    ui.push_id(run.as_str(), |ui| ui.label(format!("{}.", position + 1)));
                    if ui.link(name.as_str()).on_hover_text("Show it in the inspector").clicked() {
                        cx.actions.push(Action::Inspect(run.clone()));
                    }
                    ui.colored_label(theme::palette(ui.visuals()).weak, seed);
                    ui.horizontal(|ui| {
                        let moves = [
                            ("Up", "Earlier", position.checked_sub(1)),
                            ("Down", "Later", Some(position + 1).filter(|&to| to < waiting.len())),
                        ];
                        // What else waits may stand between two runs.
                        let among_all = |to: usize| cx.state.waiting_places.get(to).copied().unwrap_or(to);
                        let moves = moves.map(|(word, spoken, to)| (word, spoken, to.map(among_all)));
                        for (word, spoken, to) in moves {
                            let response = ui
                                .add_enabled(to.is_some(), Button::new(word).small())
                                .accessible_name(format!("{spoken}: {name}, place {}", position + 1));
                            if let Some(to) = to
                                && response.clicked()
                            {
                                cx.actions.push(Action::Send(commands::Move { run: run.clone(), position: to }.into()));
                            }
                        }
                    });
                    if ui
                        .add(Button::new("Cancel").small())
                        .on_hover_text("Removes it from the queue")
                        .accessible_name(format!("Cancel: {name}, place {}", position + 1))
                        .clicked()
                    {
                        cx.actions.push(Action::Send(commands::Cancel { job: JobRef::Id(run.clone()) }.into()));
                    }
                    ui.end_row();
                }
            });
            begun.keep(ui, waiting, grid.response.rect);
        });
}

/// Buttons that move a job that waits before or behind everything else that does.
fn move_ui(ui: &mut Ui, id: &RunId, of: &str, has_others: bool, cx: &mut PanelContext<'_>) {
    ui.horizontal(|ui| {
        for (position, word, about) in [
            (0, "First", "Before everything else that waits, runs too"),
            (usize::MAX, "Last", "Behind everything else that waits, runs too"),
        ] {
            let button = ui.add_enabled(has_others, Button::new(word).small()).on_hover_text(about);
            if button.accessible_name(format!("{word}: {of}")).clicked() {
                // The lists follow at once.
                moved(&mut cx.state.analysis.pending, |pending| &pending.job, id, position);
                moved(&mut cx.state.speed.measuring, |measuring| &measuring.job, id, position);
                cx.act(Action::Send(commands::Move { run: id.clone(), position }.into()));
            }
        }
    });
}

/// Puts the job of this id to its new place among those that wait, behind the one that goes on.
fn moved<T>(jobs: &mut Vec<T>, job: impl Fn(&T) -> &FollowedJob, id: &RunId, position: usize) {
    if let Some(place) = jobs.iter().position(|own| job(own).id.as_ref() == Some(id)) {
        let own = jobs.remove(place);
        let going = jobs.iter().take_while(|own| job(own).phase == Phase::Going).count();
        jobs.insert(position.clamp(going, jobs.len()), own);
    }
}

fn cancelled_id() -> Id {
    Id::unique("runs that are cancelled together")
}

/// Once the last of the runs that were cancelled together is out of the queue, one message tells of all.
fn tell_cancelled(ui: &Ui, cx: &mut PanelContext<'_>) {
    let Some(asked) = ui.data(|data| data.get_temp::<Vec<RunId>>(cancelled_id())) else { return };
    let state_of = |run: &RunId| cx.state.run(run).map(|summary| summary.state);
    let waits = |run: &RunId| cx.state.waiting.contains(run) || state_of(run) == Some(RunState::Queued);
    if asked.iter().any(waits) {
        return;
    }
    ui.data_mut(|data| data.remove::<Vec<RunId>>(cancelled_id()));
    // One may have begun before it was reached.
    let is_gone = |run: &RunId| matches!(state_of(run), Some(RunState::Cancelled | RunState::Stopped));
    let names: Vec<String> = asked.iter().filter(|&run| is_gone(run)).map(|run| cx.state.run_name(run)).collect();
    if names.is_empty() {
        return;
    }
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let taken = counted(names.len(), "run");
    cx.state.messages.push_info(format!("Took {taken} out of the queue: {named}{more}."));
}

/// Runs that began while the pointer was at the rows: their rows stay until it has left, so that the others keep their places.
#[derive(Clone, Default)]
struct Begun {
    rows: Vec<RunId>,
    /// What waited in the frame before, and where.
    before: Vec<RunId>,
    rect: Option<Rect>,
}

impl Begun {
    fn of(ui: &Ui, waiting: &[RunId], state: &State) -> Self {
        let mut new: Self = ui.data(|data| data.get_temp(Self::id(ui))).unwrap_or_default();
        let pointer = ui.ctx().pointer_latest_pos();
        if new.rect.zip(pointer).is_some_and(|(rect, pointer)| rect.contains(pointer)) {
            let has_begun = |run: &RunId| {
                let is_current = state.current.as_ref().is_some_and(|current| current.run == *run);
                let summary = state.run(run);
                is_current || summary.is_some_and(|run| !matches!(run.state, RunState::Queued | RunState::Cancelled))
            };
            let gone = new.before.iter().filter(|run| !waiting.contains(run) && has_begun(run));
            new.rows.extend(gone.cloned());
        } else {
            new.rows.clear();
        }
        new
    }

    fn keep(self, ui: &Ui, waiting: Vec<RunId>, rect: Rect) {
        let id = Self::id(ui);
        ui.data_mut(|data| data.insert_temp(id, Self { before: waiting, rect: Some(rect), ..self }));
    }

    fn id(ui: &Ui) -> Id {
        ui.scope_id().with("runs that began")
    }
}

/// What this window asked for besides runs, and waits for its turn or has it.
struct Other {
    words: String,
    is_going: bool,
    job: JobRef,
}

/// Returns the jobs of this window besides runs and transfers, by kind in the order in which they were asked for.
fn others(state: &State) -> Vec<Other> {
    let open = state.queued_jobs().filter(|job| job.phase.is_open());
    let other =
        |job: &FollowedJob| Other { words: job.title.clone(), is_going: job.phase == Phase::Going, job: job.job() };
    let mut others: Vec<Other> = open.map(other).collect();
    // Nothing tells of the beginning of an evaluation: it comes before all that waits, so that it has its turn once nothing else does.
    if state.current.is_none()
        && !others.iter().any(|other| other.is_going)
        && let Some(asked) = state.mistakes.asked()
        && let Some(own) = others.iter_mut().find(|other| other.job == JobRef::Ticket(asked))
    {
        own.is_going = true;
    }
    others
}

/// `waits`: how many jobs wait, runs among them.
fn others_ui(ui: &mut Ui, others: &[Other], waits: usize, cx: &mut PanelContext<'_>) {
    if others.is_empty() {
        return;
    }
    let weak = theme::palette(ui.visuals()).weak;
    ui.label(RichText::new("Besides runs, asked for here").strong());
    egui::Grid::new("other jobs").num_columns(4).spacing([8.0, 4.0]).show(ui, |ui| {
        for (place, Other { words, is_going, job }) in others.iter().enumerate() {
            ui.label(words);
            ui.colored_label(weak, if *is_going { "goes on" } else { "waits" });
            match job {
                JobRef::Id(id) if !is_going => {
                    let of = format!("{words}, place {}", place + 1);
                    move_ui(ui, id, &of, waits > 1, cx);
                }
                // What answers somebody who waits comes before all else anyway.
                _ => drop(ui.label("")),
            }
            let button = ui.add(Button::new("Cancel").small());
            if button.accessible_name(format!("Cancel: {words}, place {}", place + 1)).clicked() {
                cx.state.cancel_job(job);
            }
            ui.end_row();
        }
    });
    ui.add_space(6.0);
}
