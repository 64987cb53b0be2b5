use std::{fmt::Debug, sync::Arc};

use super::{Answers, Batch, IGNORED, Metric, Objective, Pixels, Sources, Specials, Sums};
use crate::{
    config::ImageShape,
    model::{ForwardOptions, Loss, Model, ModelError},
    ops::random::Stream,
};

/// What each objective says of itself, in one file: its batches, its loss, its metrics. What it does not say is as those have
/// it that are learnt of examples with an answer each, which stands beside them: their texts are framed, and no position has a
/// label.
pub trait Task {
    /// The metrics of an evaluation; the first is the loss, by which runs and checkpoints are judged.
    fn metrics(&self) -> &'static [Metric];

    /// Those of them that what was counted has: not all data have all.
    fn metrics_of(&self, _sums: &Sums) -> &'static [Metric] {
        self.metrics()
    }

    /// Of what was counted how often each class was predicted where each is right, right ones by rows; none where nothing is
    /// classified.
    fn class_counts(&self, _sums: &Sums) -> Option<Vec<Vec<u64>>> {
        None
    }

    /// The unit of the loss, in words.
    fn loss_unit(&self) -> &'static str {
        "nats per token"
    }

    /// What an example is made of.
    fn framing(&self, specials: &Specials) -> Framing {
        Framing { before: specials.cls, after: specials.sep, lookahead: 0 }
    }

    /// Whether an example is a pair: a text that an encoder reads, and one that is written.
    fn reads_sources(&self) -> bool {
        false
    }

    /// The token that stands after each document, where the vocabulary has one; none where an example is a document.
    fn separator(&self, _specials: &Specials) -> Option<u32> {
        None
    }

    /// Whether a vocabulary with these special tokens will do.
    fn serves(&self, specials: &Specials) -> bool {
        specials.cls.is_some() && specials.sep.is_some()
    }

    /// What makes the labels of examples; none where the vocabulary lacks what it takes, or answers stand beside them.
    fn labeller(&self, _vocabulary: &Vocabulary) -> Option<Arc<dyn Labeller>> {
        None
    }

    /// The labels of a batch of random tokens, of which `targets` are to be predicted: as many as in training.
    fn random_labels(&self, targets: Vec<i64>) -> Vec<i64> {
        vec![IGNORED; targets.len()]
    }

    /// The answers of a batch of random tokens, where examples are answered as a whole.
    fn random_answers(&self, _batch: usize) -> Option<Answers> {
        None
    }

    /// Denominator of the mean loss of a batch: its labels, or the sum of their weights where they are weighted. The mean loss of
    /// several batches is the mean of theirs, weighted by this.
    fn loss_weight(&self, batch: &Batch) -> f64 {
        batch.targets() as f64
    }

    /// The training loss of a batch, with its graph: the mean over [`Task::loss_weight`].
    ///
    /// # Errors
    /// If the batch does not fit the model, or the device fails.
    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError>;

    /// What a batch counts in an evaluation, without dropout.
    ///
    /// # Errors
    /// As [`Task::loss`].
    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError>;

    /// How a sample of text shows what was learnt.
    fn showing(&self) -> Showing {
        Showing::Answered
    }
}

/// The task of an objective that a config names, for whatever trains, evaluates and measures.
pub trait LearnedTask {
    /// The task: its batches, its loss and its metrics.
    fn task(&self) -> &dyn Task;

    /// A batch of tokens drawn evenly from `vocabulary`, labelled as densely as in training: to measure steps with.
    fn random_batch(&self, vocabulary: usize, sizes: [usize; 2], stream: &mut Stream) -> Batch;

    /// A batch of images of noise, as many as training has and of that shape, each read as `sequence` positions: to measure
    /// steps with.
    fn random_images(&self, shape: ImageShape, sizes: [usize; 2], stream: &mut Stream) -> Batch;
}

impl LearnedTask for Objective {
    fn task(&self) -> &dyn Task {
        match self {
            Self::MaskedTokens(task) => task,
            Self::NextToken(task) => task,
            Self::Translation(task) => task,
            Self::Classification(task) => task,
            Self::Regression(task) => task,
            Self::Span(task) => task,
        }
    }

    fn random_batch(&self, vocabulary: usize, [batch, sequence]: [usize; 2], stream: &mut Stream) -> Batch {
        let mut tokens =
            || -> Vec<u32> { (0..batch * sequence).map(|_| stream.below(vocabulary as u64) as u32).collect() };
        let (input_ids, targets) = (tokens(), tokens());
        let sources = self.task().reads_sources().then(|| Sources { ids: tokens(), key_mask: None, sequence });
        let labels = self.task().random_labels(targets.into_iter().map(i64::from).collect());
        let answers = self.task().random_answers(batch);
        Batch { input_ids, labels, key_mask: None, token_types: None, batch, sequence, sources, answers, pixels: None }
    }

    fn random_images(&self, shape: ImageShape, [batch, sequence]: [usize; 2], stream: &mut Stream) -> Batch {
        let values = (0..batch * shape.numbers()).map(|_| stream.normal() as f32).collect();
        Batch {
            input_ids: Vec::new(),
            labels: Vec::new(),
            key_mask: None,
            token_types: None,
            batch,
            sequence,
            sources: None,
            answers: self.task().random_answers(batch),
            pixels: Some(Pixels { values, shape, images: (0..batch).collect() }),
        }
    }
}

/// What an example of text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The special token before the text.
    pub before: Option<u32>,
    /// The special token after it.
    pub after: Option<u32>,
    /// Tokens after the text that serve as labels alone.
    pub lookahead: usize,
}

/// What labels depend on of a vocabulary.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The tokens with a meaning of their own.
    pub specials: Specials,
    /// By id: whether the token is special.
    pub is_special: Vec<bool>,
}

/// An example while its labels are made.
#[derive(Debug)]
pub struct Example<'a> {
    /// What the model reads, without padding. `[tokens]`
    pub ids: &'a mut [u32],
    /// [`IGNORED`] everywhere at first. `[tokens]`
    pub labels: &'a mut [i64],
    /// The text one token further on, where the framing looks ahead. `[tokens of text]`
    pub following: &'a [u32],
    /// With `number`, all that random choices depend on.
    pub seed: u64,
    /// See `seed`.
    pub number: u64,
}

/// Makes the labels of examples, and changes what the model reads where that belongs to the objective.
pub trait Labeller: Debug + Send + Sync {
    /// Labels one example: a pure function of it.
    fn label(&self, example: Example<'_>);
}

/// How a sample of text shows what a model learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// The model goes on with the first words of examples.
    Continuation,
    /// The model fills in the hidden tokens of examples.
    FilledIn,
    /// The model translates the texts of examples.
    Translated,
    /// The model answers about examples.
    Answered,
}

/// Keeps every label that `share` of them asks for, evenly spread; the others are [`IGNORED`].
pub(super) fn spread_labels(labels: Vec<i64>, share: f64) -> Vec<i64> {
    let keeps = |place: usize| ((place + 1) as f64 * share).floor() > (place as f64 * share).floor();
    labels.into_iter().enumerate().map(|(place, label)| if keeps(place) { label } else { IGNORED }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{objective::RECORDED, ops::random::Purpose};

    #[test]
    fn every_objective_is_judged_by_its_loss_and_names_no_metric_twice() {
        let mut names = HashSet::new();
        for objective in Objective::EXAMPLES {
            let metrics = objective.task().metrics();
            assert_eq!(metrics[0].series, "validation/loss", "{objective:?}");
            for metric in metrics {
                assert!(metric.value(&Sums::example()).unwrap().is_finite());
                assert_eq!(Metric::find(metric.series), Some(metric));
                assert!(metric.phrase.matches("{}").count() == 1, "{metric:?}");
                assert_eq!(metric.series, format!("validation/{}", metric.field()));
            }
            assert_eq!(metrics.iter().map(|metric| metric.series).collect::<HashSet<_>>().len(), metrics.len());
            names.extend(metrics[1..].iter().map(|metric| metric.series));
        }
        assert_eq!(Metric::own_of_objectives().count(), names.len(), "each is told once");
        let all: Vec<&str> = RECORDED.iter().map(|metric| metric.series).chain(names).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn a_random_batch_is_labelled_as_densely_as_a_batch_of_text() {
        for objective in Objective::EXAMPLES {
            let batch = objective.random_batch(50, [4, 20], &mut Stream::new(1, Purpose::Test, 0));
            assert_eq!(batch.targets(), objective.labelled([4, 20]));
            assert!(batch.input_ids.iter().all(|id| *id < 50));
        }
    }
}
