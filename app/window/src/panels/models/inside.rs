//! The panels that look inside a model.

use egui::{Button, RichText, Ui};
use headroom_engine::protocol::Target;

use crate::{
    context::{Action, PanelContext, PanelId},
    theme,
};

/// The panels, what each is called, and what it shows.
const PANELS: [(PanelId, &str, &str); 6] = [
    (PanelId::REDUNDANCY, "Redundancy", "How similar the attention maps of its heads and layers are"),
    (PanelId::SPECTRA, "Spectra", "In how few dimensions its attention scores lie"),
    (PanelId::HEADS, "Heads", "The attention maps of every head"),
    (PanelId::RECONSTRUCT, "Reconstruct", "From how few pairs its scores follow"),
    (PanelId::ADVISER, "Adviser", "What it could save"),
    (PanelId::GENERATE, "Generate", "Text that it writes"),
];

/// Draws a button for each of them, which shows the model there, and what stands behind them in their row.
pub fn inside_ui(
    ui: &mut Ui,
    target: &Target,
    cx: &mut PanelContext<'_>,
    more: impl FnOnce(&mut Ui, &mut PanelContext<'_>),
) {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Look inside").color(palette.weak));
        for (panel, name, about) in PANELS {
            let button = ui.add(Button::new(name)).on_hover_text(about);
            if button.accessible_name(format!("Look inside: {name}")).clicked() {
                match target {
                    Target::Directory(path) => cx.state.selection.set_directory(Some(path.clone())),
                    Target::Run { run, .. } => {
                        cx.state.selection.set_directory(None);
                        cx.state.selection.focused = Some(run.clone());
                    }
                }
                if panel == PanelId::GENERATE {
                    cx.state.generate.opened = Some(target.clone());
                }
                cx.act(Action::Open(panel));
            }
        }
        more(ui, cx);
    });
}
