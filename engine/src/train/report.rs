use serde::Serialize;

use super::{CoverageReport, Trainer};
use crate::{
    analysis::{Analysis, AnalysisError},
    objective::{ConfusionMatrix, ExampleSums, Measurements},
};

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

/// What to do before the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The next step.
    Go,
    /// A checkpoint, then the next step.
    Checkpoint,
    /// A checkpoint, then the end.
    Stop,
}

/// When a checkpoint is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// It is the best so far on held-out text.
    pub best: bool,
    /// It is to be resumable: an interval came round, the run has no state to resume from yet, the user asked, or the run ends.
    pub resumable: bool,
    /// The user asked for it, so that it is kept until the user removes it.
    pub asked: bool,
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

/// What the loop tells and asks. Nothing here may fail the run: trouble with storage is the hooks' own.
pub trait Hooks {
    /// Asked before each step; may wait (pause).
    fn control(&mut self, trainer: &Trainer) -> Control;
    /// A step is done.
    fn step(&mut self, report: &StepReport);
    /// The held-out text was evaluated.
    fn evaluated(&mut self, report: &EvaluationReport);
    /// The probe showed what the model can do.
    fn sample(&mut self, step: u64, text: &str);
    /// The step is about to be evaluated, or the probe to be taken, or both.
    fn evaluating(&mut self, trainer: &Trainer);
    /// The attention on the probe batch was analysed. What cannot be found out does not harm the run.
    fn analysed(&mut self, step: u64, found: &Result<Analysis, AnalysisError>);
    /// An analysis of the probe batch was left out, because all of them would take more than
    /// [`super::LIVE_ANALYSIS_SHARE`] of the training time. Told once.
    fn analysis_thinned(&mut self, step: u64, analysis_secs: f64);
    /// The model was warmed up: pairs were chosen, and from the next step on it scores no others.
    fn covered(&mut self, step: u64, report: &CoverageReport);
    /// A checkpoint is due.
    fn checkpoint(&mut self, trainer: &Trainer, moment: Moment);
    /// Whether a long piece of work inside a step (an evaluation) should be cut short.
    fn should_stop(&self) -> bool;
}
