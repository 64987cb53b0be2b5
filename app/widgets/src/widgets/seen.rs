//! What was on the screen in the frame before.

use egui::{Id, Ui};

/// Whether this was not drawn in the frame before: what is measured while it is drawn, such as the room of an axis, is right from
/// the second frame on.
pub fn is_new(ui: &Ui, id: Id) -> bool {
    let (key, frame) = (id.with("last drawn"), ui.ctx().cumulative_frame_nr());
    let before = ui.data_mut(|data| {
        let before = data.get_temp::<u64>(key);
        data.insert_temp(key, frame);
        before
    });
    before.is_none_or(|before| before + 1 < frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_away_for_a_frame_is_new_again() {
        let ctx = egui::Context::default();
        let frame = |is_there: bool| {
            let mut found = None;
            let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
                found = is_there.then(|| is_new(ui, Id::unique("chart")));
            });
            output.textures_delta.clear();
            found
        };
        assert_eq!([frame(true), frame(true), frame(true)], [Some(true), Some(false), Some(false)]);
        assert_eq!([frame(false), frame(true), frame(true)], [None, Some(true), Some(false)]);
    }
}
