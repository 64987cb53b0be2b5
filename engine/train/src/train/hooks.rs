//! What a training loop asks and tells.

use super::{CoverageReport, EvaluationReport, StepReport, Trainer};
use crate::analysis::{Analysis, AnalysisError};

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
