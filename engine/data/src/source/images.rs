//! Images on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, Note};
use crate::class_labels::ClassFinder;
use crate::config::{DataConfig, ImageShape, ImagesSource, Problem, RunConfig, Source, SourceSettings as _, counted};
use crate::hash::sha256_prefix;
use crate::images::{
    ImageCorpus, ImagesPreview, Label, Looked, Place, PreviewImage, Set, classes, classes_of, empty_classes, load,
    look, require_shape, shape_at,
};
use crate::objective::{Labels, Objective};
use crate::preview::DataPreview;
use crate::split::held_out_places;
use crate::{DataError, Edition, ImageError, Progress, Reading, Silent};

impl DataSource for ImagesSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        split_files(&anchored(self, context.base_dir), fraction, context.reading.edition, context.progress)
    }

    fn all(&self, model: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let (Some((shape, normalisation)), Some(Labels::Classes(names))) = (model.images, model.labels) else {
            return Err(DataError::NoImages);
        };
        let source = anchored(self, context.base_dir);
        let mut set = load(training(&source), Some(shape.channels), context.progress)?;
        let own = as_classes(set.labels.take().unwrap_or_default(), names, context.reading)?;
        let classes = classes::classes(&own, names, "those of the model", &labels_path(&set, &source.path))?;
        require_shape(set.shape, Some(shape), &source.path)?;
        let images = ImageCorpus::held_out(shape, normalisation.clone(), set.pixels);
        let answers = classes_of(Labels::Classes(names.clone()), Vec::new(), classes);
        Ok(Examples { files: set.files, warnings: set.warnings, ..Content::Images(images, answers).into() })
    }

    fn labels(&self, context: LoadContext<'_>) -> Result<Option<Labels>, DataError> {
        let source = anchored(self, context.base_dir);
        if let Some(path) = &source.classes {
            return Ok(Some(Labels::Classes(classes::names_of(path)?)));
        }
        let set = load(training(&source), source.channels, &Silent)?;
        Ok(Some(Labels::Classes(names(&source, &set.labels.unwrap_or_default())?.0)))
    }

    fn probe(&self, _: (&Objective, &Reading), note: Note<'_>) {
        let is_readable = self.path.as_os_str().is_empty() || probe(self, false).is_ok();
        note("data.path", &self.path, &|| probe(self, false));
        if let Some(path) = self.validation_path.as_ref().filter(|_| is_readable) {
            note("data.validation_path", path, &|| probe(self, true));
        }
    }

    fn preview(&self, _: &DataConfig, _: (&Objective, &Reading)) -> Result<Option<DataPreview>, DataError> {
        if self.path.as_os_str().is_empty() { Ok(None) } else { look_at(self).map(DataPreview::Images).map(Some) }
    }
}

/// The config with the size and the channels of its images, and the sequence length that follows, where it reads images from
/// disk; paths are absolute. Reads the beginnings of files.
///
/// # Errors
/// Why they cannot be told, at the field to correct.
pub fn with_image_shape(mut config: RunConfig) -> Result<RunConfig, Problem> {
    if let Source::Images(images) = &mut config.data.source
        && images.image_shape().is_none()
        && !images.path.as_os_str().is_empty()
    {
        let shape = shape_at(training(images), images.channels)
            .map_err(|error| Problem::new(error.field().unwrap_or("data.path"), error.to_string()))?;
        images.set_image_shape(Some(shape));
    }
    Ok(config.with_image_tokens())
}

/// Place of the training images.
fn training(source: &ImagesSource) -> Place<'_> {
    let (labels, edition) = (source.labels.as_deref(), Edition::Current);
    Place { path: &source.path, labels, labels_field: "data.labels", edition }
}

/// Place of the held-out images, where these have one.
fn validation_place(source: &ImagesSource) -> Option<Place<'_>> {
    let labels = source.validation_labels.as_deref();
    let (labels_field, edition) = ("data.validation_labels", Edition::Current);
    source.validation_path.as_deref().map(|path| Place { path, labels, labels_field, edition })
}

fn anchored(source: &ImagesSource, base_dir: &Path) -> ImagesSource {
    let mut source = source.clone();
    for mut field in source.path_fields() {
        let path = field.path().map(|path| base_dir.join(path));
        field.put(path);
    }
    source
}

/// The names of the classes of the images to train on, and where they are from in words.
fn names(source: &ImagesSource, labels: &[Label]) -> Result<(Vec<String>, String), DataError> {
    Ok(match &source.classes {
        Some(path) => (classes::names_of(path)?, path.display().to_string()),
        None => (classes::found(labels, &source.path)?, "by the labels of the training images".to_owned()),
    })
}

/// The file in which labels are corrected.
fn labels_path(set: &Set, path: &Path) -> PathBuf {
    set.labels_path.clone().unwrap_or_else(|| path.to_owned())
}

fn split_files(
    source: &ImagesSource,
    fraction: f64,
    edition: Edition,
    progress: &dyn Progress,
) -> Result<Examples, DataError> {
    let mut train = load(training(source).in_edition(edition), source.channels, progress)?;
    let wanted = source.size.map(|size| ImageShape { size, channels: source.channels.unwrap_or(train.shape.channels) });
    require_shape(train.shape, wanted, &source.path)?;
    let own = train.labels.take().unwrap_or_default();
    let (names, known) = names(source, &own)?;
    classes::require_two(&own, &names, &source.path)?;
    let all = classes::classes(&own, &names, &known, &labels_path(&train, &source.path))?;
    let mut warnings = std::mem::take(&mut train.warnings);
    let shape = train.shape;
    let Some(place) = validation_place(source) else {
        let numbers = shape.numbers().max(1);
        let places: Vec<u64> = train.pixels.chunks_exact(numbers).map(sha256_prefix).collect();
        let held_out = held_out_places(places, fraction);
        let (mut parts, mut classes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for ((image, class), is_held_out) in train.pixels.chunks_exact(numbers).zip(all).zip(held_out) {
            parts[usize::from(is_held_out)].extend_from_slice(image);
            classes[usize::from(is_held_out)].push(class);
        }
        let ([train_pixels, validation], [train_classes, validation_classes]) = (parts, classes);
        if train_classes.is_empty() {
            return Err(DataError::Empty { path: source.path.clone() });
        }
        let answers = classes_of(Labels::Classes(names), train_classes, validation_classes);
        let images = ImageCorpus::of_training(shape, train_pixels, validation);
        return Ok(Examples { files: train.files, warnings, ..Content::Images(images, answers).into() });
    };
    let mut validation = load(place.in_edition(edition), Some(shape.channels), progress)?;
    require_shape(validation.shape, Some(shape), place.path)?;
    let held_out = validation.labels.take().unwrap_or_default();
    let held_out = classes::classes(&held_out, &names, &known, &labels_path(&validation, place.path))?;
    warnings.append(&mut validation.warnings);
    warnings.extend(seen_in_training(&train, &validation, place.path));
    let files = train.files + validation.files;
    let answers = classes_of(Labels::Classes(names), all, held_out);
    let images = ImageCorpus::of_training(shape, train.pixels, validation.pixels);
    Ok(Examples { files, warnings, ..Content::Images(images, answers).into() })
}

/// A warning where held-out images are among those for training.
fn seen_in_training(train: &Set, validation: &Set, path: &Path) -> Option<String> {
    let numbers = train.shape.numbers().max(1);
    let known: HashSet<u64> = train.pixels.chunks_exact(numbers).map(sha256_prefix).collect();
    let seen = validation.pixels.chunks_exact(numbers).filter(|image| known.contains(&sha256_prefix(image))).count();
    (seen > 0).then(|| {
        format!(
            "{seen} of {} are among the images to train on, so that what is measured on them is too good: {}",
            counted(validation.len() as u64, "held-out image"),
            path.display()
        )
    })
}

/// Names of folders as the classes of a finished model.
fn as_classes(labels: Vec<Label>, names: &[String], reading: &Reading) -> Result<Vec<Label>, DataError> {
    let finder = ClassFinder::new(names, reading, true)?;
    let class = |label| match label {
        Label::Folder(name) => {
            Label::Folder(finder.class(&name).map_or(name, |(class, _)| finder.name(class).to_owned()))
        }
        number @ Label::Number(_) => number,
    };
    Ok(labels.into_iter().map(class).collect())
}

/// Checks the beginnings of the files: of the training images, or of the held-out ones.
fn probe(source: &ImagesSource, is_held_out: bool) -> Result<(), DataError> {
    let training = training(source);
    let own = shape_at(training, source.channels)?;
    let wanted =
        ImageShape { size: source.size.unwrap_or(own.size), channels: source.channels.unwrap_or(own.channels) };
    require_shape(own, Some(wanted), training.path)?;
    if let Some(path) = source.classes.as_ref().filter(|_| !is_held_out) {
        let field = "data.classes";
        let names = classes::names_of(path).map_err(|error| match error {
            DataError::Image(error) => DataError::Image(error),
            other => ImageError::Unreadable { why: other.to_string(), field }.into(),
        })?;
        require_named(source, &names).map_err(|error| ImageError::Unreadable { why: error.to_string(), field })?;
    }
    if let Some(place) = validation_place(source).filter(|_| is_held_out) {
        require_shape(shape_at(place, Some(wanted.channels))?, Some(wanted), place.path)?;
    }
    Ok(())
}

/// Refuses names that are fewer than the classes of the training images, as far as their labels can be read.
fn require_named(source: &ImagesSource, names: &[String]) -> Result<(), ImageError> {
    let place = training(source);
    let Ok(shape) = shape_at(place, source.channels) else { return Ok(()) };
    let Ok(looked) = look(place, shape) else { return Ok(()) };
    classes::classes(&looked.labels, names, &where_named(source), place.path).map(drop)
}

/// Where the names of the classes are from, in words.
fn where_named(source: &ImagesSource) -> String {
    source.classes.as_ref().map_or_else(|| "by their labels".to_owned(), |path| path.display().to_string())
}

fn look_at(source: &ImagesSource) -> Result<ImagesPreview, DataError> {
    let place = training(source);
    let shape = shape_at(place, source.channels)?;
    let looked = look(place, shape)?;
    let Looked { labels, shown } = looked.as_ref();
    let names = match &source.classes {
        Some(path) => classes::names_of(path)?,
        None => classes::found(labels, place.path)?,
    };
    let classes = classes::classes(labels, &names, &where_named(source), place.path)?;
    let mut counts: Vec<(String, u64)> = names.iter().map(|name| (name.clone(), 0)).collect();
    for class in &classes {
        if let Some((_, count)) = counts.get_mut(*class as usize) {
            *count += 1;
        }
    }
    let mut shown: Vec<(u32, Vec<u8>)> =
        shown.iter().filter_map(|(place, pixels)| Some((*classes.get(*place)?, pixels.clone()))).collect();
    shown.sort_by_key(|(class, _)| *class);
    let example = |(class, pixels): (u32, Vec<u8>)| {
        PreviewImage::new(names.get(class as usize).cloned().unwrap_or_default(), shape, &pixels)
    };
    let examples = shown.into_iter().filter(|(_, pixels)| pixels.len() == shape.numbers()).map(example).collect();
    let empty_folders = if place.path.is_dir() { empty_classes(place.path)? } else { Vec::new() };
    Ok(ImagesPreview { shape, images: labels.len() as u64, classes: counts, examples, empty_folders })
}
