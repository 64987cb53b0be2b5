//! What is wrong, where the eye is: above the numbers.

use egui::{Color32, Frame, RichText, Stroke, Ui};
use headroom_engine::{
    store::{RunState, RunSummary},
    train::Health,
};

use crate::{
    common::{RunOperation, perform, state_text},
    context::PanelContext,
    theme,
};

/// Says why a run ended that did not finish, what is wrong with its loss or with the machine, and what to do; nothing where all
/// is well.
pub fn alerts_ui(ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    if cx.state.engine_ended {
        framed_ui(ui, palette.error, |ui| {
            ui.label(RichText::new("The engine has ended. Restart the program; runs are kept.").color(palette.error));
        });
    }
    let health = run.told_health();
    let is_sick = health.is_some_and(Health::is_bad);
    let has_ended = matches!(run.state, RunState::Failed | RunState::Diverged | RunState::Interrupted);
    if is_sick || has_ended {
        let colour = state_text::colour_of(run, palette);
        framed_ui(ui, colour, |ui| {
            ui.label(RichText::new(state_text::why(run)).color(colour));
            let what_to_do = state_text::what_to_do(run);
            if !what_to_do.is_empty() {
                ui.label(what_to_do);
            }
            if matches!(run.state, RunState::Diverged | RunState::Failed) {
                let button = ui.button(RunOperation::Configure.label(run, false));
                if button.on_hover_text(RunOperation::Configure.about()).clicked() {
                    perform(RunOperation::Configure, &run.id, cx);
                }
            }
        });
    } else if let Some(plateau @ Health::Plateau { .. }) = health.filter(|_| run.state.is_active()) {
        framed_ui(ui, palette.weak, |ui| {
            ui.label(format!("Plateau. {} {}", plateau.why(), plateau.what_to_do()).trim_end());
        });
    }
    // What runs out ends the run that trains, whichever is looked at.
    for (_, words) in cx.state.shortages() {
        framed_ui(ui, palette.warning, |ui| drop(ui.label(RichText::new(words).color(palette.warning))));
    }
}

fn framed_ui(ui: &mut Ui, colour: Color32, add: impl FnOnce(&mut Ui)) {
    let surface = theme::palette(ui.visuals()).surface;
    let frame = Frame::new().fill(surface).corner_radius(5.0).inner_margin(10.0).stroke(Stroke::new(1.0, colour));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        add(ui);
    });
}
