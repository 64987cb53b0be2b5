//! What a panel shows when it has nothing to show.

use egui::{RichText, Ui};
use headroom_engine::config::presets;

use crate::{
    context::{Action, PanelContext, PanelId},
    file_dialogs::current_folder,
    settings::KeptForm,
    theme,
};

/// A heading and a sentence in the middle of an empty panel, and below them what `actions` draws.
pub fn blank_ui(ui: &mut Ui, heading: &str, sentence: &str, actions: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui.visuals());
    ui.add_space((ui.available_height() * 0.22).min(160.0));
    ui.vertical_centered(|ui| {
        ui.set_max_width(460.0);
        ui.label(RichText::new(heading).heading().color(palette.strong));
        ui.add_space(2.0);
        ui.label(RichText::new(sentence).color(palette.weak));
        ui.add_space(8.0);
        actions(ui);
    });
}

/// There is no run at all: says what would fill the panel and offers to start one.
pub fn no_runs_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, sentence: &str) {
    blank_ui(ui, "No runs yet", sentence, |ui| {
        let ready = presets().first().and_then(|preset| Some((preset.about(), preset.config().ok()?)));
        if let Some(KeptForm { config: Some(form), .. }) = cx.settings.form() {
            let start = ui.button(format!("Start \"{}\"", form.name)).on_hover_text("Starts what Configure is set to");
            if start.clicked() {
                cx.act(Action::StartForm);
            }
        } else if let Some((about, config)) = ready {
            let start = ui.button(format!("Start the preset \"{}\"", config.name)).on_hover_text(about);
            if start.clicked() {
                cx.act(Action::Start(Box::new(config), current_folder()));
            }
        }
        if ui.button("Set up a run").on_hover_text("Opens the Configure panel").clicked() {
            cx.act(Action::Open(PanelId::CONFIGURE));
        }
    });
}

/// Something is being loaded.
pub fn working_ui(ui: &mut Ui, what: &str) {
    blank_ui(ui, what, "", |ui| {
        ui.add(egui::Spinner::new());
    });
}
