use egui::{ScrollArea, Ui};
use headroom_engine::store::RunSummary;

use crate::{
    inspector::{ExportBox, no_runs_ui, working_ui},
    panels::{PanelContext, live::shown_run},
};

/// What a panel shows of the run that is looked at, scrolling; `what` would fill it where there is none.
pub fn of_run_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    what: &str,
    add: impl FnOnce(&mut Ui, &RunSummary, &mut PanelContext<'_>),
) {
    match shown_run(cx) {
        _ if !cx.state.runs_loaded && cx.state.current.is_none() => working_ui(ui, "Reading the runs…"),
        None => no_runs_ui(ui, cx, what),
        Some(run) => {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| add(ui, &run, cx));
        }
    }
}

/// The box in which a figure leaves, while it is open.
pub fn export_ui(export: &mut Option<ExportBox>, ui: &mut Ui, cx: &mut PanelContext<'_>) {
    if let Some(mut open) = export.take()
        && open.ui(ui, cx)
    {
        *export = Some(open);
    }
}

/// Whether the run that is looked at has an analysis, so that there are figures of it.
pub fn has_analysis(cx: &mut PanelContext<'_>) -> bool {
    let Some(run) = shown_run(cx) else { return false };
    let state = &mut cx.state.analysis;
    state.opened(&run.id).is_some() || state.steps(&run.id).is_some_and(|steps| !steps.is_empty())
}
