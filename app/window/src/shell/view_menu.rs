use egui::{Button, Popup, RectAlign, RichText, Ui};

use crate::{
    keys::Pressed,
    settings::{Settings, ThemeChoice},
    shell::palette::PaletteAction,
    widgets::tooltip_beside,
};

/// The button for how the window looks. Returns what was chosen.
pub fn view_menu_ui(ui: &mut Ui, settings: &Settings) -> Option<PaletteAction> {
    let mut chosen = None;
    let button = ui.button("View").on_hover_text("Theme and size").accessible_name("View: theme and size");
    Popup::menu(&button).align(RectAlign::BOTTOM_END).accessible_name("View").show(|ui| {
        ui.label(RichText::new("Theme").small());
        for theme in ThemeChoice::ALL {
            if ui.add(Button::selectable(settings.theme == theme, theme.label())).clicked() {
                chosen = Some(PaletteAction::Theme(theme));
            }
        }
        ui.separator();
        ui.label(RichText::new(format!("Size {:.0} %", settings.zoom * 100.0)).small());
        for (label, percent) in [("Larger", 110), ("Smaller", 91), ("Reset size", 0)] {
            if ui.button(label).clicked() {
                chosen = Some(PaletteAction::Zoom(percent));
            }
        }
        ui.separator();
        // In a narrow window it is hidden at first, and nothing else on the screen brings it.
        let inspector = ui.add(Button::new("Inspector").shortcut_text("]"));
        let inspector = tooltip_beside(inspector, "Shows or hides what is known of the run");
        if inspector.accessible_name("Show or hide the inspector").clicked() {
            chosen = Some(PaletteAction::Press(Pressed::Inspector));
        }
        ui.separator();
        let purge = tooltip_beside(ui.button("Purge deleted runs…"), "Lists what would be removed, and asks first");
        if purge.clicked() {
            chosen = Some(PaletteAction::Purge);
        }
    });
    chosen
}
