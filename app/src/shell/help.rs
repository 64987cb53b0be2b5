use egui::{Context, Frame, Grid, Id, Modal, RichText, ScrollArea};

use crate::{keys::HELP, theme};

/// The help over the window: every key. False when it was closed.
pub fn help_ui(ctx: &Context) -> bool {
    let frame = Frame::window(&ctx.global_style());
    let modal = Modal::new(Id::unique("help")).frame(frame).show(ctx, |ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.set_width(520.0);
        ui.set_max_height(ui.ctx().content_rect().height() - 80.0);
        ui.horizontal(|ui| {
            ui.heading("Keys");
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").accessible_name("Close the help").clicked() {
                    ui.close();
                }
            });
        });
        let height = (ui.ctx().content_rect().height() - 160.0).max(200.0);
        ScrollArea::vertical().max_height(height).show(ui, |ui| {
            // Rows of text, no controls.
            ui.spacing_mut().interact_size.y = 18.0;
            for (group, keys) in HELP {
                ui.add_space(6.0);
                ui.label(RichText::new(*group).strong());
                Grid::new(*group).num_columns(2).spacing([16.0, 4.0]).min_col_width(142.0).show(ui, |ui| {
                    for (key, what) in *keys {
                        let key =
                            if cfg!(target_os = "macos") { key.replace("Ctrl", "Cmd") } else { (*key).to_owned() };
                        ui.monospace(key);
                        ui.label(*what);
                        ui.end_row();
                    }
                });
            }
            ui.add_space(10.0);
            let weak = theme::palette(ui.visuals()).weak;
            ui.colored_label(weak, "On macOS, use Cmd instead of Ctrl. The palette finds every action by name.");
        });
    });
    !modal.should_close()
}
