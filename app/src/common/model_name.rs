//! What models are called.

use std::path::Path;

use headroom_engine::hub::name_of_snapshot;

use crate::state::{State, SubjectId};

/// What a model directory is called: the model's name on its hub where it was fetched, else the folder's own.
pub fn folder_name(folder: &Path) -> String {
    if let Some(name) = name_of_snapshot(folder) {
        return name.to_string();
    }
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// What a run or a model directory is called.
pub fn subject_name(state: &State, of: &SubjectId) -> String {
    match of {
        SubjectId::Run(run) => state.run_name(run),
        SubjectId::Directory(path) => folder_name(path),
    }
}
