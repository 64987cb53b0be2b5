use egui::{Button, Popup, PopupCloseBehavior, RectAlign, RichText, Ui};
use headroom_engine::{store::AnalysisId, worker::Command};

use crate::{
    context::{Action, PanelContext},
    state::{GenerationPhase, State},
    theme,
};

/// The queue button with its list of waiting runs, whose order can be changed and which can be cancelled, and of what else waits
/// that this window asked for.
pub fn queue_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
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
    let button = ui.button(text).on_hover_text("Runs waiting to start").accessible_name(spoken);
    Popup::from_toggle_button_response(&button)
        // It grows away from the window's edge, which is near, from its first frame on.
        .align(RectAlign::BOTTOM_END)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .accessible_name("Waiting runs")
        .show(|ui| {
            ui.set_min_width(320.0);
            others_ui(ui, &others, cx);
            ui.label(RichText::new("Waiting runs").strong());
            if waiting.is_empty() {
                ui.colored_label(
                    theme::palette(ui.visuals()).weak,
                    "No run is waiting. A run that is started while another trains waits here.",
                );
                return;
            }
            egui::Grid::new("waiting runs").num_columns(5).spacing([8.0, 4.0]).show(ui, |ui| {
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
                        for (word, spoken, to) in moves {
                            let response = ui
                                .add_enabled(to.is_some(), Button::new(word).small())
                                .accessible_name(format!("{spoken}: {name}, place {}", position + 1));
                            if let Some(to) = to
                                && response.clicked()
                            {
                                cx.actions.push(Action::Send(Command::Move { run: run.clone(), position: to }));
                            }
                        }
                    });
                    if ui
                        .add(Button::new("Cancel").small())
                        .on_hover_text("Removes it from the queue")
                        .accessible_name(format!("Cancel: {name}, place {}", position + 1))
                        .clicked()
                    {
                        cx.actions.push(Action::Send(Command::Cancel { run: run.clone() }));
                    }
                    ui.end_row();
                }
            });
        });
}

/// An analysis or a text of this window that waits for its turn or has it.
struct Other {
    words: String,
    is_going: bool,
    /// The analysis; none: texts.
    analysis: Option<AnalysisId>,
}

/// What this window asked for besides runs, in the order in which it was.
fn others(state: &State) -> Vec<Other> {
    let analyses = state.analysis.pending.iter().map(|pending| Other {
        words: format!("Analysis of {}", state.subject_name(&pending.of)),
        is_going: pending.at.is_some(),
        analysis: Some(pending.analysis.clone()),
    });
    let texts = state.generate.sides.iter().flatten().filter(|side| side.phase.is_open()).map(|side| Other {
        words: format!("Text of {}", side.name),
        is_going: side.phase == GenerationPhase::Going,
        analysis: None,
    });
    analyses.chain(texts).collect()
}

fn others_ui(ui: &mut Ui, others: &[Other], cx: &mut PanelContext<'_>) {
    if others.is_empty() {
        return;
    }
    let weak = theme::palette(ui.visuals()).weak;
    ui.label(RichText::new("Analyses and texts of this window").strong());
    egui::Grid::new("other jobs").num_columns(3).spacing([8.0, 4.0]).show(ui, |ui| {
        for (place, Other { words, is_going, analysis }) in others.iter().enumerate() {
            ui.label(words);
            ui.colored_label(weak, if *is_going { "goes on" } else { "waits" });
            let button = ui.add(Button::new("Cancel").small());
            if button.accessible_name(format!("Cancel: {words}, place {}", place + 1)).clicked() {
                match analysis {
                    Some(analysis) => cx.state.analysis.cancel(analysis),
                    None => cx.state.generate.stop(),
                }
            }
            ui.end_row();
        }
    });
    ui.add_space(6.0);
}
