//! Which run Live shows.

use egui::Ui;
use headroom_engine::store::{RunId, RunSummary};

use crate::{context::PanelContext, panels::run_picker::run_list_ui};

/// The run that Live was pinned to, else the one that trains, else the one that did and ended, until another is chosen, else the
/// focused one, else the newest; under the name that it is shown by.
pub fn live_run(cx: &PanelContext<'_>) -> Option<RunSummary> {
    let known = |id: &RunId| cx.state.run(id).cloned();
    let pinned = cx.state.selection.live.as_ref().and_then(known);
    let current = || cx.state.current.as_ref().and_then(|current| known(&current.run));
    let followed = || cx.state.selection.followed().and_then(known);
    let focused = || cx.state.selection.focused.as_ref().and_then(known);
    let mut run =
        pinned.or_else(current).or_else(followed).or_else(focused).or_else(|| cx.state.runs.first().cloned())?;
    run.name = cx.state.run_name(&run.id);
    Some(run)
}

/// Chooses the run; a choice other than what trains pins it, and a button lets go of it.
pub fn follow_ui(ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
    if let Some(chosen) = run_list_ui(ui, run, cx) {
        let trains = cx.state.current.as_ref().is_some_and(|current| current.run == chosen);
        cx.state.selection.live = (!trains).then(|| chosen.clone());
        cx.state.selection.focused = Some(chosen);
    }
    if cx.state.selection.live.is_some() {
        let about = "Shows the run that trains, whichever it is. Until then this run stays here.";
        if ui.button("Follow what trains").on_hover_text(about).clicked() {
            cx.state.selection.live = None;
        }
    }
    // While Live follows, the run beside it may be another one.
    if let Some(other) = cx.state.selection.focused.clone().filter(|other| *other != run.id) {
        let about = format!("The inspector shows \"{}\"", cx.state.run_name(&other));
        if ui.button("Inspect it").on_hover_text(about).accessible_name("Inspect the run that Live shows").clicked() {
            cx.state.selection.focused = Some(run.id.clone());
        }
    }
}
