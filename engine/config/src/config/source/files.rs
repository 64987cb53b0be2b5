//! The files of a source.

use std::path::{Path, PathBuf};

use super::{
    Source,
    paths::{HELD_OUT, Holds, PathField, PathSlot},
};

/// A path that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) path: PathBuf,
    pub(super) holds: Holds,
    pub(super) is_held_out: bool,
}

/// The name of a file or folder without the way there.
fn last_part(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

impl Source {
    /// The fields that name its files.
    pub fn path_fields(&mut self) -> Vec<PathField<'_>> {
        self.settings_mut().path_fields()
    }

    /// Every path that it names.
    pub(super) fn named_paths(&self) -> impl Iterator<Item = NamedPath> + use<> {
        let mut own = self.clone();
        let named = |field: &PathField<'_>| {
            let path = field.path()?.to_owned();
            Some(NamedPath { path, holds: field.holds, is_held_out: field.is_held_out() })
        };
        own.path_fields().iter().filter_map(named).collect::<Vec<_>>().into_iter()
    }

    /// Every file that it names.
    pub fn files(&self) -> Vec<PathBuf> {
        self.named_paths().map(|path| path.path).collect()
    }

    /// The files that are trained on, and those of their labels.
    pub fn training_files(&self) -> Vec<PathBuf> {
        self.named_paths().filter(|path| !path.is_held_out).map(|path| path.path).collect()
    }

    /// Returns true if data of the same kind are read from the same file.
    pub fn is_of_same_file(&self, other: &Self) -> bool {
        let file = |source: &Self| source.named_paths().next().map(|path| path.path);
        self.facts().kind == other.facts().kind && self.reads_files() && file(self) == file(other)
    }

    /// Names of the files of its examples, or of its held-out ones; empty where it has none.
    pub(super) fn file_names(&self, are_held_out: bool) -> String {
        let are_such = |path: &NamedPath| path.is_held_out == are_held_out && path.holds == Holds::Examples;
        self.named_paths().filter(are_such).map(|path| last_part(&path.path)).collect::<Vec<_>>().join(" and ")
    }

    /// Names the file of a field. False where data of this kind have no such field.
    pub fn put_path(&mut self, field: &str, path: PathBuf) -> bool {
        let fields = self.path_fields();
        let Some(mut own) = fields.into_iter().find(|own| own.name == field) else { return false };
        let is_new_kind_of_image = matches!(own.slot, PathSlot::Required(_));
        own.put(Some(path));
        if is_new_kind_of_image {
            self.settings_mut().set_image_shape(None);
        }
        true
    }

    /// Its held-out examples as data of their own, for a model that was trained on others: generated ones as they are. None where a
    /// share of its files is held out.
    #[must_use]
    pub fn held_out_alone(mut self) -> Option<Self> {
        if !self.reads_files() {
            return Some(self);
        }
        let mut held_out = Vec::new();
        let mut has_examples = false;
        for mut field in self.path_fields() {
            if let Some(name) = field.name.strip_prefix(HELD_OUT) {
                let path = field.path().map(Path::to_owned);
                has_examples |= path.is_some() && field.holds == Holds::Examples;
                field.put(None);
                held_out.push((name, path));
            }
        }
        for mut field in self.path_fields() {
            let is_same = |name: &str| field.name.strip_prefix("data.") == Some(name);
            if let Some((_, path)) = held_out.iter().find(|(name, _)| is_same(name)) {
                field.put(path.clone());
            }
        }
        has_examples.then_some(self)
    }
}
