//! From a path to images.

use std::path::Path;

use super::classes::Label;
use super::kind::{Kind, beginning, single};
use super::place::{Place, require_length, shape_at};
use super::set::Set;
use super::{cifar, folder, idx, raw};
use crate::config::{ImageShape, ImagesSource, Problem, RunConfig, Source};
use crate::data::ImageError;
use crate::data::progress::advance;
use crate::data::{DataError, Edition, Progress, Stage};

/// The images of a place with their labels.
pub(super) fn load(place: Place<'_>, channels: Option<usize>, progress: &dyn Progress) -> Result<Set, DataError> {
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
pub(super) fn require_shape(found: ImageShape, wanted: Option<ImageShape>, path: &Path) -> Result<(), ImageError> {
    match wanted.filter(|wanted| *wanted != found) {
        Some(wanted) => Err(ImageError::OtherShape { path: path.to_owned(), found, wanted }),
        None => Ok(()),
    }
}

/// What is wrong with images, as far as the beginnings of their files tell: of the training images, or of the held-out ones.
pub(in crate::data) fn probe_images(source: &ImagesSource, is_held_out: bool) -> Result<(), DataError> {
    let training = Place::training(source);
    let own = shape_at(training, source.channels)?;
    let wanted =
        ImageShape { size: source.size.unwrap_or(own.size), channels: source.channels.unwrap_or(own.channels) };
    require_shape(own, Some(wanted), training.path)?;
    if let Some(path) = source.classes.as_ref().filter(|_| !is_held_out) {
        let field = "data.classes";
        let names = super::classes::names_of(path).map_err(|error| match error {
            DataError::Image(error) => DataError::Image(error),
            other => ImageError::Unreadable { why: other.to_string(), field }.into(),
        })?;
        super::preview::require_named(source, &names)
            .map_err(|error| ImageError::Unreadable { why: error.to_string(), field })?;
    }
    if let Some(place) = Place::validation(source).filter(|_| is_held_out) {
        require_shape(shape_at(place, Some(wanted.channels))?, Some(wanted), place.path)?;
    }
    Ok(())
}

/// The config with the size and the channels of its images, and the sequence length that follows, where it reads images from
/// disk; paths are absolute. Reads the beginnings of files.
///
/// # Errors
/// Why they cannot be told, at the field to correct.
pub fn with_image_shape(mut config: RunConfig) -> Result<RunConfig, Problem> {
    if let Source::Images(images) = &mut config.data.source
        && images.size.zip(images.channels).is_none()
        && !images.path.as_os_str().is_empty()
    {
        let shape = shape_at(Place::training(images), images.channels)
            .map_err(|error| Problem::new(error.field().unwrap_or("data.path"), error.to_string()))?;
        images.size.get_or_insert(shape.size);
        images.channels.get_or_insert(shape.channels);
    }
    Ok(config.with_image_tokens())
}
