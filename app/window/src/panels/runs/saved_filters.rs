use egui::{
    Button, Key, PopupCloseBehavior, RichText, TextEdit, Ui,
    containers::menu::{MenuButton, MenuConfig},
};

use crate::{settings::Settings, theme, widgets::focus_when_opened};

/// Draws the menu of kept filters: one is chosen, kept under a name, or removed.
pub(super) fn saved_filters_ui(ui: &mut Ui, filter: &mut String, name: &mut String, settings: &mut Settings) {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    MenuButton::new("Filters").config(config).ui(ui, |ui| {
        let weak = theme::palette(ui.visuals()).weak;
        let mut removed = None;
        for (own, text) in &settings.filters {
            ui.horizontal(|ui| {
                let is_it = filter.trim() == text.trim();
                let chosen = ui.add(Button::selectable(is_it, own)).on_hover_text(text);
                if chosen.accessible_name(format!("Filter {own}")).clicked() {
                    filter.clone_from(text);
                    ui.close();
                }
                ui.label(RichText::new(text).small().color(weak));
                let remove = ui.add(Button::new("×").frame_when_inactive(false)).on_hover_text("Removes the filter");
                if remove.accessible_name(format!("Remove the filter {own}")).clicked() {
                    removed = Some(own.clone());
                }
            });
        }
        if let Some(own) = removed {
            settings.filters.remove(&own);
        }
        if settings.filters.is_empty() {
            ui.label(RichText::new("A filter that is kept here is chosen with one click.").color(weak));
        }
        ui.separator();
        ui.set_style(ui.ctx().global_style());
        ui.horizontal(|ui| {
            let has_filter = !filter.trim().is_empty();
            let field = TextEdit::singleline(name).desired_width(150.0).hint_text("Name for this filter");
            let typed = ui.add_enabled(has_filter, field).accessible_name("Name for this filter");
            if has_filter {
                focus_when_opened(ui, &typed);
            }
            let enter = typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            let ready = has_filter && !name.trim().is_empty();
            let keep =
                ui.add_enabled(ready, Button::new("Keep")).on_disabled_hover_text("Type a filter and a name first");
            if ready && (keep.accessible_name("Keep this filter").clicked() || enter) {
                settings.filters.insert(std::mem::take(name).trim().to_owned(), filter.trim().to_owned());
            }
        });
    });
}
