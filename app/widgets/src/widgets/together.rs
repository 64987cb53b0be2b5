use egui::{Align, Layout, Ui, Vec2};

/// Draws what stays on one line: in a row that wraps, a label and its control go to the next line together where they do not
/// fit. `salt` tells the groups of a row apart.
pub fn together_ui<R>(ui: &mut Ui, salt: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let id = ui.scope_id().with(("together", salt));
    let known = ui.data(|data| data.get_temp::<Vec2>(id));
    let size = known.unwrap_or_else(|| Vec2::new(0.0, ui.spacing().interact_size.y));
    let shown = ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add);
    let size = shown.response.rect.size();
    if known.is_none_or(|known| (known - size).abs().max_elem() > 0.5) {
        // How wide it is, is known only now.
        ui.data_mut(|data| data.insert_temp(id, size));
        ui.ctx().request_repaint();
    }
    shown.inner
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tops of a label and of its control behind another control, in a row of this width.
    fn tops(width: f32) -> (f32, f32, f32) {
        let ctx = egui::Context::default();
        let mut found = (0.0, 0.0, 0.0);
        for _ in 0..4 {
            let output = ctx.run_ui(egui::RawInput::default(), |ui| {
                ui.set_max_width(width);
                ui.horizontal_wrapped(|ui| {
                    let before = ui.add_sized([100.0, 20.0], egui::Button::new("a"));
                    together_ui(ui, "group", |ui| {
                        let label = ui.label("Group by");
                        let control = ui.add_sized([100.0, 20.0], egui::Button::new("b"));
                        found = (before.rect.center().y, label.rect.center().y, control.rect.center().y);
                    });
                });
            });
            output.drop_without_applying_deltas();
        }
        found
    }

    #[test]
    fn a_label_goes_to_the_next_line_with_its_control() {
        let (before, label, control) = tops(400.0);
        assert!((before - label).abs() < 2.0 && (label - control).abs() < 2.0, "there is room");
        // Between the width of the label alone and that of both.
        let (before, label, control) = tops(200.0);
        assert!(label > before + 10.0 && (label - control).abs() < 2.0, "{before} {label} {control}");
    }
}
