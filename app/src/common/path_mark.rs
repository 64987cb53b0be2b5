use std::path::Path;

use egui::{Response, Ui};

use crate::{
    file_dialogs::{current_folder, typed_path},
    widgets::mark_invalid,
};

/// What was found of a path that was typed, and when, in seconds of the window's time.
#[derive(Clone)]
struct Found {
    text: String,
    is_there: bool,
    at: f64,
}

/// How long what was found holds: a folder on a network is not asked in every frame.
const HOLDS: f64 = 2.0;

/// Marks the field of a path that leads nowhere, once it is no longer typed in, and says so on hover and to screen readers. Nothing is
/// said of an empty one.
pub fn mark_path(ui: &Ui, field: Response, text: &str) -> Response {
    if field.has_focus() || text.trim().is_empty() {
        return field;
    }
    let (id, now) = (field.id.with("path"), ui.input(|input| input.time));
    let known = ui.data(|data| data.get_temp::<Found>(id));
    let known = known.filter(|found| found.text == text && now - found.at < HOLDS);
    let found = known.unwrap_or_else(|| {
        let found = Found { text: text.to_owned(), is_there: leads_somewhere(text, &current_folder()), at: now };
        ui.data_mut(|data| data.insert_temp(id, found.clone()));
        found
    });
    if found.is_there {
        return field;
    }
    mark_invalid(ui, &field);
    ui.ctx().accesskit_node_builder(field.id, |node| node.set_description(NOWHERE));
    field.on_hover_text(NOWHERE)
}

const NOWHERE: &str = "There is no such file or folder";

fn leads_somewhere(text: &str, base: &Path) -> bool {
    typed_path(text, base).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_meant_as_they_are_typed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (text, is_there) in [
            ("Cargo.toml", true),
            ("src", true),
            (" \"Cargo.toml\" ", true),
            ("no.toml", false),
            ("Cargo.toml/c", false),
        ] {
            assert_eq!(leads_somewhere(text, folder), is_there, "{text}");
        }
    }
}
