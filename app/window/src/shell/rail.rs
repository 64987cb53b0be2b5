use egui::{Align, Atom, Button, IntoAtoms, Layout, RichText, Shape, Stroke, TextWrapMode, Ui, Vec2, vec2};

use crate::{
    context::{Icon, PanelId, PanelInfo, panel_key},
    theme,
};

/// Side of an icon in points.
const ICON: f32 = 13.0;

/// The rail: one button a panel, in groups; icons alone where there is no room for names. Returns the panel that was
/// clicked.
pub fn rail_ui(
    ui: &mut Ui,
    panels: &[PanelInfo],
    open: PanelId,
    is_training: bool,
    has_names: bool,
) -> Option<PanelId> {
    let palette = theme::palette(ui.visuals());
    let mut clicked = None;
    let mut group = None;
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
        for (place, panel) in panels.iter().enumerate() {
            if group != Some(panel.group) {
                if has_names {
                    ui.add_space(if group.is_none() { 2.0 } else { 8.0 });
                    ui.label(RichText::new(panel.group.label()).small().color(palette.weak));
                } else if group.is_some() {
                    ui.separator();
                }
                group = Some(panel.group);
            }
            let key = panel_key(place);
            let mut content = icon(panel.icon).into_atoms();
            if has_names {
                content.push_right(panel.label);
            }
            let mut button =
                Button::selectable(panel.id == open, content).min_size(vec2(0.0, 30.0)).wrap_mode(TextWrapMode::Extend);
            if let Some(key) = key.filter(|_| has_names) {
                button = button.right_text(RichText::new(key).small().color(palette.weak));
            }
            let response = ui
                .scope(|ui| {
                    if panel.id == PanelId::LIVE && is_training {
                        ui.visuals_mut().override_text_color = Some(palette.running);
                    }
                    ui.add(button)
                })
                .inner;
            let key = key.map_or_else(String::new, |key| format!(" (key {key})"));
            let name = if has_names { String::new() } else { format!("{}: ", panel.label) };
            let response = response.on_hover_text(format!("{name}{}{key}", panel.about)).accessible_name(panel.label);
            if response.clicked() {
                clicked = Some(panel.id);
            }
        }
    });
    clicked
}

/// An icon in the colour of the text beside it.
fn icon<'a>(lines: Icon) -> Atom<'a> {
    Atom::paint(Vec2::splat(ICON), move |ui, at| {
        let stroke = Stroke::new(1.3, at.fallback_text_color);
        for line in lines {
            let points = line.iter().map(|&(x, y)| at.rect.lerp_inside(vec2(x, y))).collect();
            ui.painter().add(Shape::line(points, stroke));
        }
    })
}
