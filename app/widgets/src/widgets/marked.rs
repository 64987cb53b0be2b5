use egui::{Context, Key, Modifiers, Response, Ui};

/// Where the arrow keys move the mark of a list with so many lines, from its place or from none; none while neither is pressed.
pub fn moved_by_arrows(ctx: &Context, at: Option<usize>, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let (up, down) = ctx.input_mut(|input| {
        let mut pressed = |key| input.consume_key(Modifiers::NONE, key);
        (pressed(Key::ArrowUp), pressed(Key::ArrowDown))
    });
    match (up, down) {
        (false, true) => Some(at.filter(|&at| at < last).map_or(0, |at| at + 1)),
        (true, false) => Some(at.and_then(|at| at.checked_sub(1)).unwrap_or(last)),
        _ => None,
    }
}

/// Gives a field the keyboard when what it stands in has just been opened: it was not drawn in the frame before.
pub fn focus_when_opened(ui: &Ui, field: &Response) {
    let pass = ui.ctx().cumulative_pass_nr();
    let id = field.id.with("drawn in pass");
    let before = ui.data(|data| data.get_temp::<u64>(id));
    ui.data_mut(|data| data.insert_temp(id, pass));
    if before.is_none_or(|before| before + 1 < pass) {
        field.request_focus();
    }
}

/// Whether Enter was pressed in a search field, which keeps the keyboard: a list may stay open.
pub fn entered(ui: &Ui, field: &Response) -> bool {
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if entered {
        field.request_focus();
    }
    entered
}
