//! From a path to images.

use std::path::Path;

use super::classes::Label;
use super::kind::{Kind, beginning, single};
use super::place::{Place, require_length, shape_at};
use super::set::Set;
use super::{cifar, folder, idx, raw};
use crate::ImageError;
use crate::config::ImageShape;
use crate::progress::advance;
use crate::{DataError, Edition, Progress, Stage};

/// The images of a place with their labels.
pub(crate) fn load(place: Place<'_>, channels: Option<usize>, progress: &dyn Progress) -> Result<Set, DataError> {
    let path = place.path;
    // What is wrong is told before a large file is read.
    let shape = shape_at(place, channels)?;
    advance(progress, Stage::Reading, 0, 1)?;
    if path.is_dir() {
        return folder::images(path, channels, place.edition, progress);
    }
    let bytes = raw::read(path)?;
    advance(progress, Stage::Reading, 1, 1)?;
    let set = |pixels, labels: Vec<u8>, files| Set {
        shape,
        pixels,
        labels: Some(labels.into_iter().map(Label::Number).collect()),
        names: None,
        labels_path: None,
        files,
        warnings: Vec::new(),
    };
    match Kind::require(&bytes, bytes.len(), path)? {
        Kind::Idx => {
            let (pixels, _) = idx::images(&bytes, path)?;
            let labels_path = place.labels_of_idx()?;
            let labels = idx::labels(&raw::read(&labels_path)?, &labels_path)?;
            let images = pixels.len().checked_div(shape.numbers()).unwrap_or(0);
            if images != labels.len() {
                let (path, labels) = (path.to_owned(), labels.len());
                let field = place.labels_field;
                return Err(ImageError::Counts { images, labels, labels_path, path, field }.into());
            }
            Ok(Set { labels_path: Some(labels_path), ..set(pixels, labels, 2) })
        }
        Kind::Cifar => {
            let (pixels, labels) = cifar::images(&bytes, path)?;
            Ok(set(pixels, labels, 1))
        }
        Kind::Single(_) => Err(ImageError::NoClassFolders { path: path.to_owned(), instead: None }.into()),
    }
}

/// The images of a path without a question about labels: a single one, those below a folder, or those of a file.
pub(super) fn load_unlabelled(path: &Path, channels: usize, progress: &dyn Progress) -> Result<Set, DataError> {
    if path.is_dir() {
        return folder::all_images(path, Some(channels), progress);
    }
    let (first, length) = beginning(path)?;
    if single(&first).is_some() {
        return folder::of_files(&[path.to_owned()], Some(channels), Edition::Current, progress);
    }
    if let (Kind::Idx, Some(header)) = (Kind::require(&first, length, path)?, idx::Header::read(&first)) {
        require_length(&header, length, path)?;
    }
    let bytes = raw::read(path)?;
    let (pixels, shape) = match Kind::require(&bytes, bytes.len(), path)? {
        Kind::Cifar => (cifar::images(&bytes, path)?.0, cifar::SHAPE),
        Kind::Idx | Kind::Single(_) => {
            let (pixels, size) = idx::images(&bytes, path)?;
            (pixels, ImageShape { size, channels: 1 })
        }
    };
    Ok(Set { shape, pixels, labels: None, names: None, labels_path: None, files: 1, warnings: Vec::new() })
}

/// Refuses images of another shape than the wanted one.
pub(crate) fn require_shape(found: ImageShape, wanted: Option<ImageShape>, path: &Path) -> Result<(), ImageError> {
    match wanted.filter(|wanted| *wanted != found) {
        Some(wanted) => Err(ImageError::OtherShape { path: path.to_owned(), found, wanted }),
        None => Ok(()),
    }
}
