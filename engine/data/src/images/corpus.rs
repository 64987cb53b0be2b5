//! Images to learn from and held-out ones.

use std::path::Path;
use std::sync::Arc;

use super::examples::Pictures;
use super::load::{load_unlabelled, require_shape};
use super::{Normalisation, PreviewImage};
use crate::config::ImageShape;
use crate::hash::sha256_hex;
use crate::objective::{Answers, Labels};
use crate::row_answers::RowAnswers;
use crate::{DataError, NumberedBatch, Silent};

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
    /// Images that become numbers as those to train on have it.
    pub(crate) fn of_training(shape: ImageShape, train: Vec<u8>, validation: Vec<u8>) -> Self {
        let normalisation = Normalisation::of(&train, shape);
        Self { shape, normalisation, train: train.into(), validation: validation.into() }
    }

    /// Held-out images that become numbers as a model has it.
    pub(crate) fn held_out(shape: ImageShape, normalisation: Normalisation, pixels: Vec<u8>) -> Self {
        Self { shape, normalisation, train: Arc::new([]), validation: pixels.into() }
    }

    /// Images of a part.
    pub(crate) fn count(&self, part: &[u8]) -> usize {
        part.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }

    /// Lower-case hex SHA-256 over parts with their answers, and how they become numbers.
    pub(crate) fn hash(&self, parts: &[(&[u8], &Answers)], labels: &Labels) -> String {
        let words = format!("{:?} {:?} {labels:?}", self.shape, self.normalisation);
        let answers: Vec<String> = parts.iter().map(|(_, answers)| format!("{answers:?}")).collect();
        let pixels = parts.iter().map(|(pixels, _)| *pixels);
        sha256_hex([words.as_bytes()].into_iter().chain(pixels).chain(answers.iter().map(String::as_bytes)))
    }
}

/// The classes of images.
pub(crate) fn classes_of(labels: Labels, train: Vec<u32>, validation: Vec<u32>) -> RowAnswers {
    let [train, validation] = [train, validation].map(|classes| Answers::Classes { classes, weights: None });
    RowAnswers { labels, texts: 0, train, validation }
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
