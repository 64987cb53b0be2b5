//! From a path to images.

use std::path::{Path, PathBuf};

use super::classes::Label;
use super::kind::{Kind, beginning, single};
use super::{ImageError, cifar, folder, idx, raw};
use crate::config::{ImageShape, ImagesSource, MOST_SIDE, Problem, RunConfig, Source};
use crate::data::progress::advance;
use crate::data::{DataError, Edition, Progress, Stage};

/// Images of a path.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) shape: ImageShape,
    /// `[images, channels, size, size]`
    pub(super) pixels: Vec<u8>,
    /// `[images]`; none where nobody asked for them.
    pub(super) labels: Option<Vec<Label>>,
    /// What each image is called, where it is a file of its own.
    pub(super) names: Option<Vec<String>>,
    /// The file of the labels, where it is another one.
    pub(super) labels_path: Option<PathBuf>,
    /// Files that were read.
    pub(super) files: usize,
    pub(super) warnings: Vec<String>,
}

impl Set {
    pub(super) fn len(&self) -> usize {
        self.pixels.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }
}

/// A part of a source: where its images and labels are, and the field that names the labels.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) labels: Option<&'a Path>,
    pub(super) labels_field: &'static str,
    /// Rules by which images are read.
    pub(super) edition: Edition,
}

impl<'a> Place<'a> {
    pub(super) fn training(source: &'a ImagesSource) -> Self {
        let (labels, edition) = (source.labels.as_deref(), Edition::Current);
        Self { path: &source.path, labels, labels_field: "data.labels", edition }
    }

    pub(super) fn validation(source: &'a ImagesSource) -> Option<Self> {
        let labels = source.validation_labels.as_deref();
        let (labels_field, edition) = ("data.validation_labels", Edition::Current);
        source.validation_path.as_deref().map(|path| Self { path, labels, labels_field, edition })
    }

    /// The same by the rules of another edition.
    pub(super) fn in_edition(self, edition: Edition) -> Self {
        Self { edition, ..self }
    }

    /// Refuses labels of their own where images have theirs.
    fn without_labels_file(self) -> Result<(), ImageError> {
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
}

impl Place<'_> {
    /// Refuses a file of labels that is not there, is none, or has not one for each of so many images.
    fn require_labels(self, images: usize) -> Result<(), DataError> {
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
pub(super) fn shape_at(place: Place<'_>, channels: Option<usize>) -> Result<ImageShape, DataError> {
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
fn require_length(header: &idx::Header, found: usize, path: &Path) -> Result<(), ImageError> {
    const KNOWN: usize = u32::MAX as usize;
    let wanted = header.length().unwrap_or(usize::MAX);
    if wanted == found || (wanted > KNOWN && found <= KNOWN && wanted & KNOWN == found) {
        return Ok(());
    }
    Err(ImageError::Length { path: path.to_owned(), wanted, found })
}

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
