//! Images as the input of a run: the sequence length that follows from them, and what does not fit.

use super::{ImageShape, Problem, RunConfig, Sentence};

impl RunConfig {
    /// The same with the sequence length that follows from images and patches, where it reads images; from an assumed shape where
    /// theirs is not known yet.
    #[must_use]
    pub fn with_image_tokens(mut self) -> Self {
        if self.data.source.has_images() {
            let tokens = |patch| self.data.source.image_shape_or_assumed(patch).tokens(patch);
            self.data.sequence_length = self.model.patch.map_or(0, tokens);
        }
        self
    }

    /// What does not fit where images are read, or does not fit where none are.
    pub(super) fn problems_of_images(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut add = |field: &str, sentence: Sentence| found.push(Problem::new(field, sentence));
        let (reads_images, model) = (self.data.source.has_images(), &self.model);
        let is_task = self.task.as_ref().is_some_and(|task| task.info().reads_images);
        match (reads_images, model.patch) {
            (true, None) => add(
                "model.patch",
                "a model reads images in squares; give the pixels of a side of a square, such as 4 for images of 28 or 32"
                    .into(),
            ),
            (false, Some(_)) => add(
                "model.patch",
                "only models of images have it; leave it out, or set {data.kind} to {data.kind=images}".into(),
            ),
            (true, Some(patch)) => {
                if let Some(message) = self.data.source.image_shape().and_then(|shape| does_not_divide(patch, shape)) {
                    add("model.patch", message.into());
                }
            }
            (false, None) => {}
        }
        if reads_images && is_task && !model.kind.generates() && model.positions.is_some() {
            add("model.positions", "they follow from the images and {model.patch}; leave it out".into());
        }
        if reads_images && self.data.shuffled {
            add("data.shuffled", "the control of shuffled tokens is for text; leave it out".into());
        }
        found
    }
}

/// Why squares of `patch` pixels a side do not cut an image, with the nearest that do.
fn does_not_divide(patch: usize, ImageShape { size, .. }: ImageShape) -> Option<String> {
    if patch > 0 && size.is_multiple_of(patch) {
        return None;
    }
    let fitting: Vec<String> =
        (1..=size).filter(|side| size.is_multiple_of(*side)).map(|side| side.to_string()).collect();
    Some(format!(
        "an image of {size} pixels a side is not cut into squares of {patch}; take one of {}",
        fitting.join(", ")
    ))
}
