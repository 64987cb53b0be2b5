//! The height of charts: a handle below a chart, by which it is made higher or lower, and what a high window leaves to charts.

use std::ops::RangeInclusive;

use egui::{CursorIcon, EventFilter, Key, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use crate::theme;

/// Height of the handle in points.
const THICK: f32 = 8.0;
/// How far an arrow key moves it.
const STEP: f32 = 20.0;
/// The most that a chart takes beyond its usual height, in points.
const MOST_SPARE: f32 = 640.0;
/// What stays free below a panel that is filled.
const BELOW: f32 = 8.0;

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

/// What the charts of a scrolling panel take beyond their usual heights, each the same, so that they fill the panel where the window is
/// high. What else the panel holds is measured as it is drawn: nothing has to be known of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpareHeight {
    each: f32,
}

impl SpareHeight {
    /// The height of a chart: the one that the user chose, else its usual one with what is spare.
    pub fn of(self, chosen: Option<f32>, usual: f32) -> f32 {
        chosen.unwrap_or(usual + self.each)
    }

    /// Once all of the panel was drawn in `ui`, which scrolls: what each of the `stacked` charts takes from the next frame on. Those
    /// stand below each other, and the user chose the height of none.
    pub fn update(&mut self, ui: &Ui, stacked: usize) {
        let left = ui.clip_rect().height() - ui.min_rect().height() - BELOW;
        let each = spare(self.each, left, stacked);
        if each != self.each {
            self.each = each;
            ui.ctx().request_repaint();
        }
    }
}

/// What each of so many charts takes now, from what each took before and the height that was left below them then; less than none
/// where they scrolled.
fn spare(before: f32, left: f32, stacked: usize) -> f32 {
    if stacked == 0 {
        return 0.0;
    }
    (before + left / stacked as f32).floor().clamp(0.0, MOST_SPARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of two charts takes once nothing changes any more, in a panel so high. Beside the first one stands what is 80 points
    /// higher than its usual height, so that it grows into that first.
    fn settled(panel: f32, begins: f32) -> f32 {
        let mut each = begins;
        for _ in 0..30 {
            let drawn = 500.0 + each.max(80.0) + each;
            let found = spare(each, panel - drawn, 2);
            if found == each {
                return each;
            }
            each = found;
        }
        f32::NAN
    }

    #[test]
    fn charts_share_what_a_high_window_leaves_and_keep_their_heights_in_a_low_one() {
        assert_eq!([400.0, 500.0, 580.0].map(|panel| settled(panel, 0.0)), [0.0; 3]);
        for panel in [700.0, 900.0, 1_300.0] {
            let each = settled(panel, 0.0);
            let drawn = 500.0 + each.max(80.0) + each;
            assert!((panel - 2.0..=panel).contains(&drawn), "{each}: {drawn} of {panel}");
            // From a window that was higher.
            assert!((settled(panel, 600.0) - each).abs() <= 1.0, "{panel}: {each}");
        }
        assert_eq!(settled(9_000.0, 0.0), MOST_SPARE);
        assert_eq!(spare(200.0, 300.0, 0), 0.0, "the user chose all heights");
    }
}
