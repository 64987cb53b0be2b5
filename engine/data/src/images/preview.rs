//! What a source of images holds, before anything is trained on it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::classes::Label;
use super::kind::{Kind, beginning};
use super::place::Place;
use super::raw::{self, Raw};
use super::{cifar, folder, idx};
use crate::DataError;
use crate::ImageError;
use crate::config::ImageShape;

/// Images that are shown, as far as there are classes: one of each.
pub(crate) const SHOWN: usize = 10;
/// Images of a file that are looked at for one of each class.
const LOOKED_AT: usize = 512;
/// Pixels of a side of an image as it is shown; larger ones are thinned out.
const SIDE: usize = 64;

/// The beginning of a source of images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImagesPreview {
    /// The shape of each of its images.
    pub shape: ImageShape,
    /// Images to train on, and held-out ones among them where none have a file of their own.
    pub images: u64,
    /// Each class in the order of the model's outputs, with how many of the images have it; empty where they are generated.
    pub classes: Vec<(String, u64)>,
    /// Some images, one of a class.
    pub examples: Vec<PreviewImage>,
    /// Folders that hold no image and so are no classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_folders: Vec<String>,
}

/// An image, thinned out where it is large.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PreviewImage {
    /// Its class.
    pub label: String,
    /// Its shape as it is here.
    pub shape: ImageShape,
    /// `[channels, size, size]`
    pub pixels: Vec<u8>,
}

impl PreviewImage {
    /// Of an image of this shape and its pixels, `[channels, size, size]`.
    pub fn new(label: String, shape: ImageShape, pixels: &[u8]) -> Self {
        let step = shape.size.div_ceil(SIDE).max(1);
        let size = shape.size.div_ceil(step);
        let channel = |channel: &[u8]| -> Vec<u8> {
            let rows = channel.chunks_exact(shape.size.max(1)).step_by(step);
            rows.flat_map(|row| row.iter().step_by(step).copied()).collect()
        };
        let pixels = pixels.chunks_exact((shape.size * shape.size).max(1)).flat_map(channel).collect();
        Self { label, shape: ImageShape { size, ..shape }, pixels }
    }
}

/// Labels of all images with those of a few, and the pixels of these. Labels of a file are read whole, as they are short.
pub(crate) struct Looked {
    pub labels: Vec<Label>,
    /// Places among the labels with the pixels there.
    pub shown: Vec<(usize, Vec<u8>)>,
}

/// Places of the first image of each class.
fn first_of_each(labels: &[Label]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for (place, label) in labels.iter().enumerate() {
        if chosen.len() < SHOWN && !chosen.iter().any(|other| labels.get(*other) == Some(label)) {
            chosen.push(place);
        }
    }
    chosen
}

/// The pixels of the first images of each class in a file: `each` bytes an image behind a head, its pixels the last of them.
fn pick(bytes: &[u8], each: usize, numbers: usize, labels: &[Label]) -> Vec<(usize, Vec<u8>)> {
    let images: Vec<&[u8]> = bytes.chunks_exact(each.max(1)).collect();
    let pixels = |place: usize| images.get(place)?.get(each.saturating_sub(numbers)..).map(<[u8]>::to_vec);
    let read = labels.get(..images.len().min(labels.len())).unwrap_or_default();
    first_of_each(read).into_iter().filter_map(|place| Some((place, pixels(place)?))).collect()
}

fn of_file(place: Place<'_>, shape: ImageShape) -> Result<Looked, DataError> {
    let path = place.path;
    let (first, length) = beginning(path)?;
    let numbers = shape.numbers();
    match Kind::require(&first, length, path)? {
        Kind::Idx => {
            let labels_path = place.labels_of_idx()?;
            let labels: Vec<Label> =
                idx::labels(&raw::read(&labels_path)?, &labels_path)?.into_iter().map(Label::Number).collect();
            let head = idx::Header::read(&first).map_or(0, |header| header.bytes());
            let bytes = Raw::open(path)?.read((head + LOOKED_AT * numbers) as u64, path)?;
            let shown = pick(bytes.get(head..).unwrap_or_default(), numbers, numbers, &labels);
            Ok(Looked { labels, shown })
        }
        Kind::Cifar => {
            let (pixels, labels) = cifar::images(&raw::read(path)?, path)?;
            let labels: Vec<Label> = labels.into_iter().map(Label::Number).collect();
            let looked_at = pixels.get(..pixels.len().min(LOOKED_AT * numbers)).unwrap_or_default();
            Ok(Looked { shown: pick(looked_at, numbers, numbers, &labels), labels })
        }
        Kind::Single(_) => Err(ImageError::NoClassFolders { path: path.to_owned(), instead: None }.into()),
    }
}

fn of_folder(path: &Path, channels: usize) -> Result<Looked, DataError> {
    let (mut labels, mut shown) = (Vec::new(), Vec::new());
    for (name, files) in folder::classes(path)? {
        if shown.len() < SHOWN
            && let Some(pixels) = files.iter().find_map(|file| folder::pixels(file, channels).ok())
        {
            shown.push((labels.len(), pixels));
        }
        labels.extend(std::iter::repeat_n(Label::Folder(name), files.len()));
    }
    Ok(Looked { labels, shown })
}

/// Paths of images and labels, each with its length and when it was written.
type FileState = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// What was found in the file that was looked at last.
static LAST: Mutex<Option<(FileState, Arc<Looked>)>> = Mutex::new(None);

fn state_of(place: Place<'_>) -> FileState {
    let paths = [Some(place.path.to_owned()), place.labels_of_idx().ok()];
    let state = |path: PathBuf| {
        let about = std::fs::metadata(&path).ok();
        let (bytes, written) = about.map_or((0, None), |about| (about.len(), about.modified().ok()));
        (path, bytes, written)
    };
    paths.into_iter().flatten().map(state).collect()
}

/// Looks at images. A config is checked after every edit: a large file is not read each time.
pub(crate) fn look(place: Place<'_>, shape: ImageShape) -> Result<Arc<Looked>, DataError> {
    if place.path.is_dir() {
        return of_folder(place.path, shape.channels).map(Arc::new);
    }
    let state = state_of(place);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, looked)) = last.as_ref().filter(|(known, _)| *known == state) {
        return Ok(Arc::clone(looked));
    }
    let looked = Arc::new(of_file(place, shape)?);
    *last = Some((state, Arc::clone(&looked)));
    Ok(looked)
}
