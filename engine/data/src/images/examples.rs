//! Images as examples: of one length, each with its class.

use std::sync::Arc;

use super::Normalisation;
use crate::config::ImageShape;
use crate::objective::{Answers, Batch, Pixels};

/// The images of a part.
#[derive(Clone, Debug)]
pub(crate) struct Pictures {
    pixels: Arc<[u8]>,
    shape: ImageShape,
    normalisation: Normalisation,
    answers: Arc<Answers>,
    sequence: usize,
    has_labels: bool,
}

impl Pictures {
    /// Images that a model reads as `sequence` positions.
    pub(crate) fn new(
        pixels: Arc<[u8]>,
        shape: ImageShape,
        normalisation: Normalisation,
        answers: &Answers,
        sequence: usize,
    ) -> Self {
        let answers = Arc::new(answers.clone());
        Self { pixels, shape, normalisation, answers, sequence, has_labels: true }
    }

    /// The same images with nothing to predict.
    pub(crate) fn without_labels(self) -> Self {
        Self { has_labels: false, ..self }
    }

    /// How many images there are.
    pub(crate) fn len(&self) -> usize {
        self.pixels.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }

    /// Positions of an example.
    pub(crate) fn sequence(&self) -> usize {
        self.sequence
    }

    /// A batch of images by their numbers.
    pub(crate) fn batch(&self, rows: &[usize]) -> Batch {
        let numbers = self.shape.numbers();
        let mut values = Vec::with_capacity(rows.len() * numbers);
        for row in rows {
            let image = &self.pixels[row * numbers..(row + 1) * numbers];
            self.normalisation.extend(&mut values, image);
        }
        Batch {
            input_ids: Vec::new(),
            labels: Vec::new(),
            key_mask: None,
            token_types: None,
            batch: rows.len(),
            sequence: self.sequence,
            sources: None,
            answers: self.has_labels.then(|| self.answers.of_rows(rows)),
            pixels: Some(Pixels { values, shape: self.shape, images: rows.to_vec() }),
        }
    }
}
