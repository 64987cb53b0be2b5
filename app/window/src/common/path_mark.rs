use std::path::{Path, PathBuf};

use egui::{Response, Ui};

use crate::{
    file_dialogs::{FileDialogs, current_folder, typed_path},
    widgets::{mark_invalid, tooltip_above},
};

/// Marks the field of a path that leads nowhere, once it is no longer typed in, and says so on hover and to screen readers. Nothing is
/// said of an empty one. `key`: of this field alone, as for dialogs.
pub fn mark_path(ui: &Ui, field: Response, text: &str, key: &str, dialogs: &mut FileDialogs) -> Response {
    if field.has_focus() || leads_nowhere(text, key, dialogs).is_none() {
        return field;
    }
    mark_invalid(ui, &field);
    ui.ctx().accesskit_node_builder(field.id, |node| node.set_description(NOWHERE));
    tooltip_above(field, NOWHERE)
}

/// Why a typed path cannot be meant, as soon as that is known. `key`: as where it is marked.
pub fn leads_nowhere(text: &str, key: &str, dialogs: &mut FileDialogs) -> Option<&'static str> {
    let path = typed_path(text, &current_folder());
    let is_nowhere = !text.trim().is_empty() && dialogs.look(&format!("{key}.there"), &path, there) == Some(None);
    is_nowhere.then_some(NOWHERE)
}

/// Whether a path leads somewhere, as soon as that is known. `key`: of this path alone.
pub fn is_there(path: &Path, key: &str, dialogs: &mut FileDialogs) -> bool {
    dialogs.look(&format!("{key}.there"), path, there).is_some_and(|found| found.is_some())
}

const NOWHERE: &str = "There is no such file or folder";

fn there(path: &Path) -> Option<PathBuf> {
    path.exists().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread, time::Duration};

    use egui::{Context, Event, RawInput, Rect, Shape, TextEdit, UiBuilder, pos2, vec2};

    use super::*;

    #[test]
    fn what_is_wrong_with_a_path_is_told_above_its_field() {
        let (ctx, mut dialogs) = (Context::default(), FileDialogs::new(Arc::new(|| ())));
        let mut text = "/no/such/folder".to_owned();
        let place = Rect::from_min_size(pos2(100.0, 200.0), vec2(200.0, 24.0));
        let (mut field, mut told) = (Rect::NOTHING, None);
        for frame in 0..2_000 {
            dialogs.drain();
            let pointer = Event::PointerMoved(place.min + vec2(10.0, 8.0));
            let input = RawInput {
                screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(800.0, 600.0))),
                time: Some(f64::from(frame) * 0.1),
                events: if frame == 2 { vec![pointer] } else { Vec::new() },
                ..RawInput::default()
            };
            let mut output = ctx.run_ui(input, |ui| {
                let edit = |ui: &mut Ui| {
                    let edit = ui.add(TextEdit::singleline(&mut text));
                    mark_path(ui, edit, &text, "test", &mut dialogs)
                };
                field = ui.scope_builder(UiBuilder::new().max_rect(place), edit).inner.rect;
            });
            output.textures_delta.clear();
            told = output.shapes.iter().find_map(|shape| match &shape.shape {
                Shape::Text(text) if text.galley.text() == NOWHERE => Some(text.visual_bounding_rect()),
                _ => None,
            });
            if told.is_some() {
                break;
            }
            // The path is looked for on another thread.
            thread::sleep(Duration::from_millis(2));
        }
        assert!(told.is_some_and(|told| told.bottom() <= field.top()), "{told:?} {field:?}");
    }
}
