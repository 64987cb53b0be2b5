//! Where dialogs stand, and how those that hold what the user typed are left.

use egui::{Align2, Context, Frame, Id, Key, Modal, ModalResponse, Modifiers, Rect, ScrollArea, Ui, vec2};

/// Room that is left around a dialog, on both sides together, in points.
const AROUND: f32 = 40.0;

/// Where a dialog stands from when it opens until it closes.
#[derive(Clone, Copy)]
struct Place {
    /// The pass in which it was drawn last.
    pass: u64,
    /// The window that it stands in.
    window: Rect,
    /// Its top in the window; none before its size is known.
    top: Option<f32>,
}

/// Draws a dialog in the middle of the window, at most as wide as is said and never larger than the window: what has no room
/// scrolls. It keeps the top that it opened with, so that what grows or shrinks in it moves nothing above.
pub fn dialog_ui<T>(
    ctx: &Context,
    id: Id,
    frame: Frame,
    width: f32,
    add: impl FnOnce(&mut Ui) -> T,
) -> ModalResponse<T> {
    let (window, pass, key) = (ctx.content_rect(), ctx.cumulative_pass_nr(), id.with("place"));
    let kept = ctx.data(|data| data.get_temp::<Place>(key));
    let kept = kept.filter(|kept| kept.window == window && pass <= kept.pass + 1);
    let mut area = Modal::default_area(id);
    if let Some(top) = kept.and_then(|kept| kept.top) {
        area = area.anchor(Align2::CENTER_TOP, vec2(0.0, top));
    }
    let most = (window.height() - AROUND - frame.total_margin().sum().y).max(0.0);
    let modal = Modal::new(id).area(area).frame(frame).show(ctx, |ui| {
        ui.set_width(width.min(window.width() - AROUND));
        // As high as it needs at once, and not a bit more in every frame.
        let scroll = ScrollArea::vertical().id_salt("dialog").max_height(most).min_scrolled_height(most);
        scroll.auto_shrink([false, true]).show(ui, add).inner
    });
    let top = match kept {
        None => {
            // Its size is known now: it is placed before it is seen.
            ctx.request_discard("a dialog was opened");
            ctx.request_repaint();
            None
        }
        Some(kept) => kept.top.or(Some((0.5 * (window.height() - modal.response.rect.height())).max(0.0).round())),
    };
    ctx.data_mut(|data| data.insert_temp(key, Place { pass, window, top }));
    modal
}

/// Whether Esc leaves a dialog. A click outside does not: what was typed would be lost by a slip.
pub fn left_by_key<T>(modal: &ModalResponse<T>) -> bool {
    let escaped = || modal.response.ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    modal.response.should_close() || (modal.is_top_modal && !modal.any_popup_open && escaped())
}

#[cfg(test)]
mod tests {
    use egui::{Pos2, RawInput, Vec2};

    use super::*;
    use crate::theme;

    /// A frame of a window of this size with a dialog of this height; where the dialog stands.
    fn frame(ctx: &Context, size: Vec2, height: f32, number: u32) -> Rect {
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            time: Some(f64::from(number) * 0.1),
            ..RawInput::default()
        };
        let mut rect = Rect::NOTHING;
        let mut output = ctx.run_ui(input, |ui| {
            let (ctx, frame) = (ui.ctx().clone(), Frame::window(ui.style()));
            let modal = dialog_ui(&ctx, Id::unique("dialog"), frame, 400.0, |ui| ui.allocate_space(vec2(10.0, height)));
            rect = modal.response.rect;
        });
        output.textures_delta.clear();
        rect
    }

    #[test]
    fn a_dialog_opens_in_the_middle_and_keeps_its_top() {
        let (ctx, size) = (Context::default(), vec2(900.0, 600.0));
        theme::install(&ctx);
        for number in 0..3 {
            frame(&ctx, size, 300.0, number);
        }
        let opened = frame(&ctx, size, 300.0, 3);
        assert!((opened.center() - Pos2::new(450.0, 300.0)).length() < 2.0, "{opened:?}");
        let mut less = Rect::NOTHING;
        for number in 4..7 {
            less = frame(&ctx, size, 100.0, number);
        }
        assert!((less.top() - opened.top()).abs() < 0.5 && less.bottom() < opened.bottom(), "{less:?} {opened:?}");
    }

    #[test]
    fn a_dialog_with_more_than_there_is_room_for_stays_in_the_window() {
        let (ctx, size) = (Context::default(), vec2(320.0, 240.0));
        theme::install(&ctx);
        let mut rect = Rect::NOTHING;
        for number in 0..4 {
            rect = frame(&ctx, size, 2000.0, number);
        }
        assert!(Rect::from_min_size(Pos2::ZERO, size).contains_rect(rect), "{rect:?}");
    }
}
