//! Places of images and of their labels.

use std::path::{Path, PathBuf};

use super::kind::{Kind, beginning};
use super::{cifar, folder, idx};
use crate::config::{ImageShape, MOST_SIDE};
use crate::{DataError, Edition, ImageError};

/// A part of a source: where its images and labels are, and the field that names the labels.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    pub(crate) labels: Option<&'a Path>,
    pub(crate) labels_field: &'static str,
    /// Rules by which images are read.
    pub(crate) edition: Edition,
}

impl Place<'_> {
    /// The same by the rules of another edition.
    pub(crate) fn in_edition(self, edition: Edition) -> Self {
        Self { edition, ..self }
    }

    /// Refuses labels of their own where images have theirs.
    pub(super) fn without_labels_file(self) -> Result<(), ImageError> {
        match self.labels {
            Some(_) => Err(ImageError::OwnLabels { path: self.path.to_owned(), field: self.labels_field }),
            None => Ok(()),
        }
    }

    /// The file of the labels of an IDX file: the one that is named, or the one beside it that is named alike.
    pub(super) fn labels_of_idx(self) -> Result<PathBuf, ImageError> {
        if let Some(path) = self.labels {
            return Ok(path.to_owned());
        }
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let beside = self.path.with_file_name(name.replace("images", "labels").replace("idx3", "idx1"));
        let is_another = beside != self.path && beside.is_file();
        let none = || ImageError::NoLabels { path: self.path.to_owned(), field: self.labels_field };
        is_another.then_some(beside).ok_or_else(none)
    }

    /// Refuses a file of labels that is not there, is none, or has not one for each of so many images.
    pub(super) fn require_labels(self, images: usize) -> Result<(), DataError> {
        let labels_path = self.labels_of_idx()?;
        let field = self.labels_field;
        let (first, _) =
            beginning(&labels_path).map_err(|error| ImageError::Unreadable { why: error.to_string(), field })?;
        let labels = idx::Header::read(&first).filter(|header| header.dimensions.len() == 1);
        let labels = labels.and_then(|header| header.dimensions.first().copied());
        match labels {
            Some(labels) if labels != images => {
                Err(ImageError::Counts { images, labels, labels_path, path: self.path.to_owned(), field }.into())
            }
            // What else it is, is told when it is read.
            _ => Ok(()),
        }
    }
}

/// The shape of the images at a path, by their beginning.
pub(crate) fn shape_at(place: Place<'_>, channels: Option<usize>) -> Result<ImageShape, DataError> {
    let path = place.path;
    if path.is_dir() {
        place.without_labels_file()?;
        let shape = folder::first_shape(path)?;
        return Ok(ImageShape { channels: channels.unwrap_or(shape.channels), ..shape });
    }
    let (first, length) = beginning(path)?;
    let found = match Kind::require(&first, length, path)? {
        Kind::Idx => {
            let unknown = || ImageError::UnknownKind { path: path.to_owned(), bytes: length };
            let header = idx::Header::read(&first).ok_or_else(unknown)?;
            let [images, _, size] = header.of_images(path)?;
            require_length(&header, length, path)?;
            place.require_labels(images)?;
            ImageShape { size, channels: 1 }
        }
        Kind::Cifar => {
            place.without_labels_file()?;
            cifar::SHAPE
        }
        Kind::Single(_) => return Err(ImageError::NoClassFolders { path: path.to_owned(), instead: None }.into()),
    };
    if found.size > MOST_SIDE {
        let why = format!("it has {} pixels a side, more than {MOST_SIDE}", found.size);
        return Err(ImageError::Undecodable { path: path.to_owned(), why }.into());
    }
    Ok(found)
}

/// Refuses a file whose length is not what its header says, before it is read. A packed file knows its length modulo 4 GiB.
pub(super) fn require_length(header: &idx::Header, found: usize, path: &Path) -> Result<(), ImageError> {
    const KNOWN: usize = u32::MAX as usize;
    let wanted = header.length().unwrap_or(usize::MAX);
    if wanted == found || (wanted > KNOWN && found <= KNOWN && wanted & KNOWN == found) {
        return Ok(());
    }
    Err(ImageError::Length { path: path.to_owned(), wanted, found })
}
