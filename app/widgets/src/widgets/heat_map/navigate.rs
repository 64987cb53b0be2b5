//! Moving over a heat map, by mouse and keyboard.

use egui::{CursorIcon, EventFilter, Key, Response, Ui, Vec2, vec2};

use super::layout::View;
use crate::plot::HeatData;

/// What a frame's input came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moves {
    /// What is to be seen from now on.
    pub view: Option<View>,
    /// The cell that has the keyboard from now on.
    pub cursor: Option<(usize, usize)>,
    /// The cell with the keyboard was chosen.
    pub chosen: bool,
}

/// Takes the input of a map that has the pointer or the keyboard.
pub(super) fn moves(
    ui: &Ui,
    response: &Response,
    data: &HeatData,
    (plot, view): (egui::Rect, View),
    cursor: Option<(usize, usize)>,
) -> Moves {
    let mut found = Moves::default();
    let whole = View::whole(data.rows(), data.columns());
    if let Some(pointer) = response.hover_pos().filter(|at| plot.contains(*at)) {
        let (zoom, alt) = ui.input(|input| (input.zoom_delta(), input.modifiers.alt));
        let mut factor = zoom;
        if alt && zoom == 1.0 {
            let scrolled = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta));
            factor = ((scrolled.x + scrolled.y) / 200.0).exp();
        }
        if factor != 1.0 {
            found.view = Some(view.zoomed(plot, factor, pointer));
        }
    }
    if response.dragged() && view.is_zoomed() {
        found.view = Some(view.moved(-response.drag_delta() / view.cell(plot)));
        ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
    } else if view.is_zoomed() && response.hovered() {
        ui.ctx().set_cursor_icon(CursorIcon::Grab);
    }
    if response.double_clicked() {
        found.view = Some(whole);
    }
    if response.has_focus() {
        keys(ui, response, data, (plot, found.view.unwrap_or(view)), cursor, &mut found);
    }
    found
}

fn keys(
    ui: &Ui,
    response: &Response,
    data: &HeatData,
    (plot, view): (egui::Rect, View),
    cursor: Option<(usize, usize)>,
    found: &mut Moves,
) {
    // Arrows belong to the map while it has the keyboard.
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let (by, zoom, home, enter) = ui.input(|input| {
        let pressed = |key| input.num_presses(key) as f32;
        let by: Vec2 =
            vec2(pressed(Key::ArrowRight) - pressed(Key::ArrowLeft), pressed(Key::ArrowDown) - pressed(Key::ArrowUp));
        let zoom = pressed(Key::Plus) + pressed(Key::Equals) - pressed(Key::Minus);
        (by, zoom, input.key_pressed(Key::Home), input.key_pressed(Key::Enter) || input.key_pressed(Key::Space))
    });
    let last = (data.rows().saturating_sub(1), data.columns().saturating_sub(1));
    let at = cursor.unwrap_or_default();
    if by != Vec2::ZERO {
        let step = |at: usize, by: f32, last: usize| (at as f32 + by).clamp(0.0, last as f32) as usize;
        // The first arrow shows where the keyboard is.
        let next = cursor.map_or(at, |(row, column)| (step(row, by.y, last.0), step(column, by.x, last.1)));
        found.cursor = Some(next);
        if view.is_zoomed() {
            found.view = Some(view.showing(next));
        }
    }
    if zoom != 0.0 {
        let around = cursor.map_or(plot.center(), |at| view.rect(plot, at, 1, 1).center());
        found.view = Some(view.zoomed(plot, 1.4_f32.powf(zoom), around));
    }
    if home {
        found.view = Some(View::whole(data.rows(), data.columns()));
    }
    found.chosen = enter;
}
