use egui::{Button, Context, Frame, Grid, Id, RichText, ScrollArea, Ui};
use headroom_engine::{
    protocol::commands,
    store::{Deleted, DeletedKind},
    text::escaped_line,
};

use crate::{
    common::{dialog_ui, left_by_key},
    context::Action,
    format,
    state::State,
    theme,
};

/// The dialog that removes for good what was deleted; keep it while it is open.
#[derive(Default)]
pub struct PurgeDialog {
    is_sure: bool,
}

impl PurgeDialog {
    /// Draws it over the window; false once it is closed.
    pub fn ui(&mut self, ctx: &Context, state: &mut State, actions: &mut Vec<Action>) -> bool {
        let mut open = true;
        let frame = Frame::window(&ctx.global_style());
        let modal = dialog_ui(ctx, Id::unique("purge"), frame, 660.0, |ui| {
            ui.label(RichText::new("Purge what was deleted").heading());
            let weak = theme::palette(ui.visuals()).weak;
            let words = "Deleted runs, benchmarks and analyses can be brought back until they are purged. Purging \
                         removes \
                         them for good, runs with their checkpoints.";
            ui.label(RichText::new(words).color(weak));
            ui.add_space(4.0);
            let most = (ctx.content_rect().height() - 240.0).clamp(120.0, 520.0);
            ScrollArea::vertical().max_height(most).auto_shrink([false, true]).show(ui, |ui| list_ui(ui, state));
            ui.add_space(6.0);
            ui.separator();
            open = self.foot_ui(ui, state, actions);
        });
        open && !left_by_key(&modal)
    }

    /// Draws the buttons; false when the dialog closes.
    fn foot_ui(&mut self, ui: &mut Ui, state: &mut State, actions: &mut Vec<Action>) -> bool {
        let mut open = true;
        let (count, bytes) = state.purge.going().fold((0_u64, 0), |(count, bytes), one| (count + 1, bytes + one.bytes));
        ui.horizontal_wrapped(|ui| {
            if state.purge.is_purging {
                ui.add(egui::Spinner::new().size(14.0));
                ui.label("Removing…");
            } else if self.is_sure {
                let words = format!(
                    "{} and {} of files will be removed for good. ",
                    format::count(count),
                    format::bytes(bytes)
                );
                ui.label(words + "This cannot be undone.");
                if ui.button("Remove for good").clicked() {
                    (self.is_sure, state.purge.is_purging) = (false, true);
                    actions.push(Action::Send(commands::Purge { before_ms: state.purge.before_ms }.into()));
                }
                if ui.button("Keep").clicked() {
                    self.is_sure = false;
                }
            } else if ui.add_enabled(count > 0, Button::new("Purge…")).clicked() {
                self.is_sure = true;
            }
            if ui.button("Close").accessible_name("Close the purge").clicked() {
                open = false;
            }
        });
        open
    }
}

fn list_ui(ui: &mut Ui, state: &State) {
    if state.purge.deleted.is_none() {
        ui.horizontal(|ui| {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label("Listing what was deleted…");
        });
        return;
    }
    if state.purge.going().next().is_none() {
        ui.label("There is nothing to purge.");
    } else {
        Grid::new("purged").num_columns(3).striped(true).show(ui, |ui| {
            for one in state.purge.going() {
                ui.label(named(one));
                let size = if one.kind == DeletedKind::Run { format::bytes(one.bytes) } else { String::new() };
                ui.label(size);
                let folder = one.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
                ui.label(RichText::new(folder).small());
                ui.end_row();
            }
        });
    }
    let warning = theme::palette(ui.visuals()).warning;
    for one in state.purge.staying() {
        let why = one.refused.as_deref().unwrap_or_default();
        ui.label(RichText::new(format!("{} is kept. {why}", named(one))).color(warning));
    }
}

/// "run #3 baseline".
fn named(one: &Deleted) -> String {
    format!("{} #{} {}", one.kind.as_str(), one.number, escaped_line(&one.name))
}
