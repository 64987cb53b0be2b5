//! Images to learn from and held-out ones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::classes::{self, Label};
use super::examples::Pictures;
use super::load::{load, load_unlabelled, require_shape};
use super::place::Place;
use super::set::Set;
use super::{Normalisation, PreviewImage, pathfinder};
use crate::config::{DataConfig, ImageShape, ImagesSource, Source, counted};
use crate::data::class_labels::ClassFinder;
use crate::data::hash::{sha256_hex, sha256_prefix};
use crate::data::row_answers::RowAnswers;
use crate::data::split::held_out_places;
use crate::data::{DataError, Edition, NumberedBatch, Progress, Reading, Silent};
use crate::objective::{Answers, Labels};

/// The images of a corpus.
#[derive(Clone, Debug)]
pub struct ImageCorpus {
    /// The shape of each.
    pub shape: ImageShape,
    /// How they become numbers: by those to train on, or as a finished model has it.
    pub normalisation: Normalisation,
    /// Those to train on. `[images, channels, size, size]`
    pub train: Arc<[u8]>,
    /// Held-out ones. `[images, channels, size, size]`
    pub validation: Arc<[u8]>,
}

impl ImageCorpus {
    /// Images of a part.
    pub(in crate::data) fn count(&self, part: &[u8]) -> usize {
        part.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }

    /// Lower-case hex SHA-256 over parts with their answers, and how they become numbers.
    pub(in crate::data) fn hash(&self, parts: &[(&[u8], &Answers)], labels: &Labels) -> String {
        let words = format!("{:?} {:?} {labels:?}", self.shape, self.normalisation);
        let answers: Vec<String> = parts.iter().map(|(_, answers)| format!("{answers:?}")).collect();
        let pixels = parts.iter().map(|(pixels, _)| *pixels);
        sha256_hex([words.as_bytes()].into_iter().chain(pixels).chain(answers.iter().map(String::as_bytes)))
    }
}

/// Images with their classes, and what is to be told of them.
pub(in crate::data) struct Pictured {
    pub images: ImageCorpus,
    pub answers: RowAnswers,
    pub files: usize,
    pub warnings: Vec<String>,
}

/// Reads or draws images for training and holds out a part: those of a file of their own, or a share of all.
pub(in crate::data) fn split_images(
    config: &DataConfig,
    (base_dir, edition): (&Path, Edition),
    progress: &dyn Progress,
) -> Result<Pictured, DataError> {
    match &config.source {
        Source::Images(images) => {
            let source = anchored(images, base_dir);
            split_files(&source, config.validation_fraction, edition, progress)
        }
        Source::Pathfinder(source) => {
            let [train, validation] = pathfinder::generate(source, progress)?;
            let shape = ImageShape { size: source.size, channels: 1 };
            let labels = pathfinder::labels();
            let part = |set: pathfinder::Drawn| (set.pixels, Answers::Classes { classes: set.classes, weights: None });
            Ok(pictured(shape, part(train), part(validation), labels, 0, Vec::new()))
        }
        _ => Err(DataError::NoImages),
    }
}

fn anchored(source: &ImagesSource, base_dir: &Path) -> ImagesSource {
    let mut source = source.clone();
    source.paths_mut().for_each(|(_, path)| *path = base_dir.join(&*path));
    source
}

fn pictured(
    shape: ImageShape,
    (train, train_answers): (Vec<u8>, Answers),
    (validation, validation_answers): (Vec<u8>, Answers),
    labels: Labels,
    files: usize,
    warnings: Vec<String>,
) -> Pictured {
    let normalisation = Normalisation::of(&train, shape);
    let images = ImageCorpus { shape, normalisation, train: train.into(), validation: validation.into() };
    let answers = RowAnswers { labels, texts: 0, train: train_answers, validation: validation_answers };
    Pictured { images, answers, files, warnings }
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
) -> Result<Pictured, DataError> {
    let mut train = load(Place::training(source).in_edition(edition), source.channels, progress)?;
    let wanted = source.size.map(|size| ImageShape { size, channels: source.channels.unwrap_or(train.shape.channels) });
    require_shape(train.shape, wanted, &source.path)?;
    let own = train.labels.take().unwrap_or_default();
    let (names, known) = names(source, &own)?;
    classes::require_two(&own, &names, &source.path)?;
    let all = classes::classes(&own, &names, &known, &labels_path(&train, &source.path))?;
    let mut warnings = std::mem::take(&mut train.warnings);
    let shape = train.shape;
    let answers = |classes| Answers::Classes { classes, weights: None };
    let Some(place) = Place::validation(source) else {
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
        let labels = Labels::Classes(names);
        let (own, held_out) = ((train_pixels, answers(train_classes)), (validation, answers(validation_classes)));
        return Ok(pictured(shape, own, held_out, labels, train.files, warnings));
    };
    let mut validation = load(place.in_edition(edition), Some(shape.channels), progress)?;
    require_shape(validation.shape, Some(shape), place.path)?;
    let held_out = validation.labels.take().unwrap_or_default();
    let held_out = classes::classes(&held_out, &names, &known, &labels_path(&validation, place.path))?;
    warnings.append(&mut validation.warnings);
    warnings.extend(seen_in_training(&train, &validation, place.path));
    let files = train.files + validation.files;
    let labels = Labels::Classes(names);
    Ok(pictured(shape, (train.pixels, answers(all)), (validation.pixels, answers(held_out)), labels, files, warnings))
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

/// The whole of a source as held-out images, made into numbers as a model has it.
pub(in crate::data) fn all_images(
    source: &Source,
    (labels, reading): (&Labels, &Reading),
    (shape, normalisation): (ImageShape, &Normalisation),
    base_dir: &Path,
    progress: &dyn Progress,
) -> Result<Pictured, DataError> {
    let part = |classes| Answers::Classes { classes, weights: None };
    let (pixels, classes, files, warnings, found, path) = match source {
        Source::Images(images) => {
            let source = anchored(images, base_dir);
            let mut set = load(Place::training(&source), Some(shape.channels), progress)?;
            let Labels::Classes(names) = labels else { return Err(DataError::NoImages) };
            let own = as_classes(set.labels.take().unwrap_or_default(), names, reading)?;
            let known = "those of the model";
            let classes = classes::classes(&own, names, known, &labels_path(&set, &source.path))?;
            (set.pixels, classes, set.files, set.warnings, set.shape, source.path)
        }
        Source::Pathfinder(source) => {
            let [_, drawn] = pathfinder::generate(source, progress)?;
            let found = ImageShape { size: source.size, channels: 1 };
            (drawn.pixels, drawn.classes, 0, Vec::new(), found, PathBuf::new())
        }
        _ => return Err(DataError::NoImages),
    };
    require_shape(found, Some(shape), &path)?;
    let images =
        ImageCorpus { shape, normalisation: normalisation.clone(), train: Arc::new([]), validation: pixels.into() };
    let (train, validation) = (part(Vec::new()), part(classes));
    let answers = RowAnswers { labels: labels.clone(), texts: 0, train, validation };
    Ok(Pictured { images, answers, files, warnings })
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

/// What the classes of a source of images are.
pub(in crate::data) fn image_labels(source: &Source, base_dir: &Path) -> Result<Labels, DataError> {
    match source {
        Source::Images(images) => {
            let source = anchored(images, base_dir);
            if let Some(path) = &source.classes {
                return Ok(Labels::Classes(classes::names_of(path)?));
            }
            let set = load(Place::training(&source), source.channels, &Silent)?;
            Ok(Labels::Classes(names(&source, &set.labels.unwrap_or_default())?.0))
        }
        Source::Pathfinder(_) => Ok(pathfinder::labels()),
        _ => Err(DataError::NoImages),
    }
}

/// Images that a model is to answer about.
pub struct UnansweredImages {
    /// All of them in batches, with nothing to predict, each with the numbers of its images.
    pub batches: Vec<NumberedBatch>,
    /// What each image is called, where it is a file of its own.
    pub names: Option<Vec<String>>,
    /// The first of them, made small.
    pub pictures: Vec<PreviewImage>,
}

/// The images of a path in batches of `batch`, the first `shown` of them also to be seen.
///
/// # Errors
/// If they cannot be read, or have another shape.
pub fn unanswered_images(
    path: &Path,
    shape: ImageShape,
    normalisation: &Normalisation,
    sequence: usize,
    batch: usize,
    shown: usize,
) -> Result<UnansweredImages, DataError> {
    let set = load_unlabelled(path, shape.channels, &Silent)?;
    require_shape(set.shape, Some(shape), path)?;
    let (names, count) = (set.names.clone(), set.len());
    let called = |number: usize| names.as_ref().and_then(|names| names.get(number)).cloned().unwrap_or_default();
    let bytes = (shape.channels * shape.size * shape.size).max(1);
    let first = set.pixels.chunks_exact(bytes).take(shown).enumerate();
    let pictures = first.map(|(number, pixels)| PreviewImage::new(called(number), shape, pixels)).collect();
    let none = Answers::Classes { classes: Vec::new(), weights: None };
    let all = Pictures::new(set.pixels.into(), shape, normalisation.clone(), &none, sequence).without_labels();
    let order: Vec<usize> = (0..count).collect();
    let batches = order.chunks(batch.max(1)).map(|rows| (rows.to_vec(), all.batch(rows))).collect();
    Ok(UnansweredImages { batches, names, pictures })
}
