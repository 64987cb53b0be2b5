use egui::{Button, RichText, Ui};

use crate::{panels::PanelId, theme};

/// The rail: one button a panel. Returns the panel that was clicked.
pub fn rail_ui(ui: &mut Ui, panels: &[PanelId], open: PanelId, is_training: bool) -> Option<PanelId> {
    let palette = theme::palette(ui.visuals());
    let mut clicked = None;
    ui.add_space(4.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.with_layout(egui::Layout::top_down_justified(egui::Align::Min), |ui| {
        for (index, &panel) in PanelId::ALL.iter().enumerate().filter(|(_, panel)| panels.contains(panel)) {
            let name = RichText::new(panel.name());
            let name = if panel == PanelId::Live && is_training { name.color(palette.running) } else { name };
            let button = Button::selectable(panel == open, name)
                .right_text(RichText::new(((index + 1) % 10).to_string()).small().color(palette.weak))
                .min_size(egui::vec2(0.0, 30.0));
            let response = ui
                .add(button)
                .on_hover_text(format!("{} (key {})", panel.about(), (index + 1) % 10))
                .accessible_name(panel.name());
            if response.clicked() {
                clicked = Some(panel);
            }
        }
    });
    clicked
}
