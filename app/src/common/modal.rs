//! How dialogs that hold what the user typed are left.

use egui::{Key, ModalResponse, Modifiers};

/// Whether Esc leaves a dialog. A click outside does not: what was typed would be lost by a slip.
pub fn left_by_key<T>(modal: &ModalResponse<T>) -> bool {
    let escaped = || modal.response.ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    modal.response.should_close() || (modal.is_top_modal && !modal.any_popup_open && escaped())
}
