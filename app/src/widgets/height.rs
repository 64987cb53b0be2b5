//! A handle below a chart, by which it is made higher or lower.

use std::ops::RangeInclusive;

use egui::{CursorIcon, EventFilter, Key, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use crate::theme;

/// Height of the handle in points.
const THICK: f32 = 8.0;
/// How far an arrow key moves it.
const STEP: f32 = 20.0;

/// The handle: dragged, or moved with the arrow keys; a double click gives the usual height back.
pub struct HeightHandle<'a> {
    name: &'a str,
    range: RangeInclusive<f32>,
}

impl<'a> HeightHandle<'a> {
    /// A handle for the height of what is called `name`, within these points.
    pub fn new(name: &'a str, range: RangeInclusive<f32>) -> Self {
        Self { name, range }
    }

    /// Draws it; `height` is what the user chose, `now` what is drawn.
    pub fn show(self, ui: &mut Ui, height: &mut Option<f32>, now: f32) {
        let palette = theme::palette(ui.visuals());
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), THICK), Sense::click_and_drag());
        let name = format!("Height of {}", self.name);
        response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, &name));
        let is_active = response.hovered() || response.dragged() || response.has_focus();
        let colour = if is_active { palette.accent } else { palette.grid };
        let middle = rect.center();
        let half = vec2(22.0, 0.0);
        ui.painter()
            .line_segment([middle - half, middle + half], Stroke::new(if is_active { 3.0 } else { 2.0 }, colour));
        let mut moved = if response.dragged() { response.drag_delta().y } else { 0.0 };
        if response.has_focus() {
            let arrows = EventFilter { vertical_arrows: true, ..EventFilter::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
            let pressed = |key| ui.input(|input| input.key_pressed(key));
            moved += STEP * (f32::from(u8::from(pressed(Key::ArrowDown))) - f32::from(u8::from(pressed(Key::ArrowUp))));
        }
        if moved != 0.0 {
            *height = Some((now + moved).clamp(*self.range.start(), *self.range.end()));
        }
        if response.double_clicked() {
            *height = None;
        }
        response
            .on_hover_cursor(CursorIcon::ResizeVertical)
            .on_hover_text("Drag: higher or lower. Double click: as it was");
    }
}
