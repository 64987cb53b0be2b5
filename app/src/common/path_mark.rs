use std::path::{Path, PathBuf};

use egui::{Response, Ui};

use crate::{
    file_dialogs::{FileDialogs, current_folder, typed_path},
    widgets::mark_invalid,
};

/// Marks the field of a path that leads nowhere, once it is no longer typed in, and says so on hover and to screen readers. Nothing is
/// said of an empty one. `key`: of this field alone, as for dialogs.
pub fn mark_path(ui: &Ui, field: Response, text: &str, key: &str, dialogs: &mut FileDialogs) -> Response {
    if field.has_focus() || leads_nowhere(text, key, dialogs).is_none() {
        return field;
    }
    mark_invalid(ui, &field);
    ui.ctx().accesskit_node_builder(field.id, |node| node.set_description(NOWHERE));
    field.on_hover_text(NOWHERE)
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
