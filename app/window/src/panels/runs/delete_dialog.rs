use egui::{Button, Frame, Id, RichText, ScrollArea, Ui};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
};

use super::several::why_kept;
use crate::{
    common::{dialog_ui, left_by_key},
    context::{Action, PanelContext},
    theme,
};

/// Asks before several runs are deleted, and says which; keep it while it is open.
pub(super) struct DeleteDialog {
    runs: Vec<RunId>,
    is_focused: bool,
}

impl DeleteDialog {
    /// A dialog about these runs.
    pub fn new(runs: Vec<RunId>) -> Self {
        Self { runs, is_focused: false }
    }

    /// Draws it over the panel; false once it is closed.
    pub fn ui(&mut self, ui: &Ui, cx: &mut PanelContext<'_>) -> bool {
        let mut open = true;
        // As they stand now: a run may have begun meanwhile.
        let all: Vec<&RunSummary> = self.runs.iter().filter_map(|run| cx.state.run(run)).collect();
        let (go, stay): (Vec<&RunSummary>, Vec<&RunSummary>) = all.into_iter().partition(|run| why_kept(run).is_none());
        let count = counted(go.len() as u64, "run");
        let mut agreed = false;
        let modal = dialog_ui(ui.ctx(), Id::unique("delete runs"), Frame::window(ui.style()), 520.0, |ui| {
            let screen = ui.ctx().content_rect();
            ui.label(RichText::new(format!("Delete {count}?")).heading());
            let palette = theme::palette(ui.visuals());
            ui.label(RichText::new("Undo (Ctrl+Z) brings them back until they are purged.").color(palette.weak));
            ui.add_space(4.0);
            ScrollArea::vertical().max_height((screen.height() - 260.0).clamp(80.0, 360.0)).show(ui, |ui| {
                for run in &go {
                    ui.label(format!("{} (#{}, {})", cx.state.run_name(&run.id), run.number, run.state));
                }
                for run in &stay {
                    let why = why_kept(run).unwrap_or_default();
                    let words = format!("{} stays: {why}.", cx.state.run_name(&run.id));
                    ui.label(RichText::new(words).color(palette.warning));
                }
            });
            ui.add_space(6.0);
            ui.separator();
            ui.horizontal(|ui| {
                let delete = ui.add_enabled(!go.is_empty(), Button::new(format!("Delete {count}")));
                if delete.clicked() {
                    (open, agreed) = (false, true);
                }
                let keep = ui.button("Keep them");
                if keep.clicked() {
                    open = false;
                }
                // Enter and the arrow keys answer; deleting can be undone, and was asked for.
                if !std::mem::replace(&mut self.is_focused, true) {
                    if go.is_empty() { keep.request_focus() } else { delete.request_focus() }
                }
            });
        });
        if agreed {
            let going: Vec<RunId> = go.iter().map(|run| run.id.clone()).collect();
            cx.act(Action::DeleteAll(going));
        }
        open && !left_by_key(&modal)
    }
}
