use serde::Serialize;

use crate::objective::{ConfusionMatrix, ExampleSums, Measurements};

/// What one optimiser step did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// Steps done, from 1.
    pub step: u64,
    /// Mean training loss of the step, nats per labelled token.
    pub loss: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Global gradient norm before clipping.
    pub grad_norm: f64,
    /// Tokens trained on since the start of the run.
    pub tokens: u64,
    /// Time of this step.
    pub step_secs: f64,
    /// Of it: batches and forward passes.
    pub forward_secs: f64,
    /// Of it: backward passes and the sum of their gradients.
    pub backward_secs: f64,
    /// Of it: norm, clipping and the optimiser.
    pub optimiser_secs: f64,
    /// Tokens a second of this step.
    pub tokens_per_sec: f64,
}

/// What an evaluation on held-out text found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationReport {
    /// Steps done.
    pub step: u64,
    /// Mean loss, nats per labelled token.
    pub loss: f64,
    /// The objective's other metrics.
    #[serde(flatten)]
    pub metrics: Measurements,
    /// Labelled tokens that were counted.
    pub tokens: u64,
    /// How often each class was predicted where each is right, where examples are classified.
    #[serde(skip)]
    pub confusion: Option<ConfusionMatrix>,
    /// Loss and labels of the single examples, in the order of the validation set.
    #[serde(skip)]
    pub examples: ExampleSums,
    /// Whether it is the best of the run so far: has the lowest loss, or the best value of the metric that judges it.
    pub best: bool,
}

/// Where numbers stopped being finite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The step that could not be done, from 1.
    pub step: u64,
    /// The first place with a non-finite value in words, such as `layer 3` or `the gradient of layer 2`.
    pub place: String,
    /// The layer, from 1; `None` for embeddings and head.
    pub layer: Option<usize>,
}

/// How a loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// It improved no more (`train.stop_early`): how it stands, in words.
    EndedEarly(String),
    /// The hooks said stop.
    Stopped,
    /// The loss or a gradient became non-finite. Weights are those of the last good step.
    Diverged(Divergence),
}
