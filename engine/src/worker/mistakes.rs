//! Held-out examples that a model puts into another class than their own.

use serde::{Deserialize, Serialize};

use super::{job_error::JobError, predict_job::answers, subject::Subject};
use crate::{
    data::PreviewImage,
    model::ForwardOptions,
    objective::{Answers, Batch, Labels},
    text::floats,
};

/// Images that are shown with their mistakes.
const PICTURES: usize = 100;

/// An example that a model puts into another class than its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Its text or its two texts, as far as the model reads them; none of an image.
    pub texts: Vec<String>,
    /// Where an image stands among all that were read, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<usize>,
    /// That image, of the first mistakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PreviewImage>,
    /// Its class.
    pub right: String,
    /// The class that the model gives it.
    pub predicted: String,
    /// The probability of that one, 0..=1.
    #[serde(with = "floats")]
    pub confidence: f64,
}

/// The mistakes of a model on these batches, those first of which it is the surest, at most `most`; none where it was stopped.
///
/// # Errors
/// If the model does not put examples into one of some classes.
pub(super) fn mistakes(
    subject: &Subject,
    batches: impl Iterator<Item = Batch>,
    most: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Mistake>>, JobError> {
    let told = |error: &dyn std::fmt::Display| JobError::failure(error.to_string());
    let Some(labels @ Labels::Classes(_)) = subject.corpus.answers.as_ref().map(|own| &own.labels) else {
        return Err(JobError::refusal("Mistakes are those of a model that puts texts or images into classes."));
    };
    let name = |class: usize| labels.name(class).unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        let Some(Answers::Classes { classes, .. }) = &batch.answers else { continue };
        let input = batch.input(&subject.model).map_err(|error| told(&error))?;
        let outputs = subject.model.forward(&input, &ForwardOptions::default()).map_err(|error| told(&error))?;
        let shares = answers(&outputs.logits, labels).map_err(|error| told(&error))?;
        for (row, (right, shares)) in classes.iter().zip(shares).enumerate() {
            let best = shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let Some((predicted, confidence)) = best.filter(|(place, _)| *place != *right as usize) else { continue };
            found.push(Mistake {
                texts: texts(subject, &batch, row)?,
                image: batch.pixels.as_ref().and_then(|pixels| pixels.images.get(row).copied()),
                picture: None,
                right: name(*right as usize),
                predicted: name(predicted),
                confidence: *confidence,
            });
        }
    }
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    found.truncate(most);
    if let Some(images) = &subject.corpus.images {
        for mistake in found.iter_mut().take(PICTURES) {
            let numbers = images.shape.numbers();
            let pixels = mistake.image.and_then(|at| images.validation.get(at * numbers..(at + 1) * numbers));
            mistake.picture = pixels.map(|pixels| PreviewImage::new(mistake.right.clone(), images.shape, pixels));
        }
    }
    Ok(Some(found))
}

/// The texts of a row of a batch, without special tokens: the second has the other type of token.
fn texts(subject: &Subject, batch: &Batch, row: usize) -> Result<Vec<String>, JobError> {
    if batch.pixels.is_some() {
        return Ok(Vec::new());
    }
    let places = row * batch.sequence..(row + 1) * batch.sequence;
    let is_text = |place: usize| batch.key_mask.as_ref().and_then(|mask| mask.get(place)).is_none_or(|kept| *kept != 0);
    let part = |place: usize| batch.token_types.as_ref().and_then(|types| types.get(place)).copied().unwrap_or(0);
    let mut all = Vec::new();
    for kind in [0, 1] {
        let own = places.clone().filter(|place| is_text(*place) && part(*place) == kind);
        let ids: Vec<u32> = own.filter_map(|place| batch.input_ids.get(place).copied()).collect();
        if kind == 0 || !ids.is_empty() {
            all.push(subject.corpus.tokenizer.decode(&ids).map_err(|error| JobError::failure(error.to_string()))?);
        }
    }
    Ok(all)
}
