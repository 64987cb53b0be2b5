//! Fields that name files.

use std::path::{Path, PathBuf};

/// Place of a path.
#[derive(Debug)]
pub enum PathSlot<'a> {
    /// It is always there, and empty until somebody names it.
    Required(&'a mut PathBuf),
    /// It may be absent.
    Optional(&'a mut Option<PathBuf>),
}

/// Contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Examples.
    Examples,
    /// Labels of examples of another file, or names of classes.
    Labels,
    /// A tokenizer.
    Tokenizer,
}

/// A field that names a file or a folder.
#[derive(Debug)]
pub struct PathField<'a> {
    /// The field, such as `data.path`.
    pub name: &'static str,
    /// Contents of the file.
    pub holds: Holds,
    /// Its value.
    pub slot: PathSlot<'a>,
}

/// Beginning of the fields of held-out examples.
pub(super) const HELD_OUT: &str = "data.validation_";

impl<'a> PathField<'a> {
    /// A path that data of a kind always have.
    pub(super) fn required(name: &'static str, path: &'a mut PathBuf) -> Self {
        Self { name, holds: Holds::Examples, slot: PathSlot::Required(path) }
    }

    /// A path of examples that may be absent.
    pub(super) fn optional(name: &'static str, path: &'a mut Option<PathBuf>) -> Self {
        Self { name, holds: Holds::Examples, slot: PathSlot::Optional(path) }
    }

    /// A path of labels that may be absent.
    pub(super) fn labels(name: &'static str, path: &'a mut Option<PathBuf>) -> Self {
        Self { name, holds: Holds::Labels, slot: PathSlot::Optional(path) }
    }

    /// Returns true if the file is one of held-out examples.
    pub fn is_held_out(&self) -> bool {
        self.name.starts_with(HELD_OUT)
    }

    /// The path, where there is one; it may be empty.
    pub fn path(&self) -> Option<&Path> {
        match &self.slot {
            PathSlot::Required(path) => Some(path),
            PathSlot::Optional(path) => path.as_deref(),
        }
    }

    /// Names another file.
    pub fn put(&mut self, path: Option<PathBuf>) {
        match &mut self.slot {
            PathSlot::Required(own) => **own = path.unwrap_or_default(),
            PathSlot::Optional(own) => **own = path,
        }
    }

    /// The path to be changed, where there is one.
    pub(in crate::config) fn named(self) -> Option<&'a mut PathBuf> {
        match self.slot {
            PathSlot::Required(path) => Some(path),
            PathSlot::Optional(path) => path.as_mut(),
        }
    }
}
