use std::time::{Duration, Instant};

use super::{Control, Hooks, Moment, Outcome, TrainError, Trainer};
use crate::analysis::AnalysisError;

/// Longest time that a run trains without writing a state to resume from: what a crash costs at most.
pub const STATE_INTERVAL: Duration = Duration::from_mins(5);

/// Trains until the last step, a stop or a divergence.
///
/// Before the first step the attention is analysed; a run that begins with a trained model is evaluated and probed there as well:
/// what that is worth before it is trained further. After each step: evaluation when due, then the probe, then a checkpoint when
/// due. A checkpoint therefore always holds what the points up to its step say, and a continued run repeats nothing. An
/// evaluation that a stop cut short is noted in the checkpoint and made up for when the run goes on, so that the curve is that of
/// a run never stopped.
///
/// A state to resume from is written at the first evaluation and then at least every `state_interval` ([`STATE_INTERVAL`]), whatever
/// the interval of checkpoints is. It is written where a regular checkpoint would be, so that a run resumed from it is as exact.
pub fn train(trainer: &mut Trainer, hooks: &mut dyn Hooks, state_interval: Duration) -> Result<Outcome, TrainError> {
    let mut checkpointed_at = None;
    let mut last_state = Instant::now();
    // A run that is past its first step was resumed from a state.
    let mut has_state = trainer.progress().step > 0;
    let is_evaluated_first = trainer.progress().is_evaluation_due;
    if trainer.progress().step == 0 && trainer.config().probe.every > 0 && !is_evaluated_first {
        // What training starts from. Stopped here, nothing has begun.
        hooks.evaluating(trainer);
        analyse(trainer, hooks, true)?;
    }
    loop {
        let step = trainer.progress().step;
        if trainer.progress().is_evaluation_due {
            let Evaluated { is_evaluated, best } = evaluate_and_probe(trainer, hooks)?;
            let config = &trainer.config().train;
            let is_regular = config.checkpoint_every > 0 && step.is_multiple_of(config.checkpoint_every);
            let is_state_due = (is_evaluated && !has_state) || last_state.elapsed() >= state_interval;
            // What a run from elsewhere begins with can be gone on from: it stays what it is where it is the best so far.
            let resumable =
                step == 0 || step == trainer.steps() || trainer.early_end().is_some() || is_regular || is_state_due;
            if (best || resumable) && !trainer.progress().is_evaluation_due {
                hooks.checkpoint(trainer, Moment { best, resumable, asked: false });
                if resumable {
                    (checkpointed_at, has_state, last_state) = (Some(step), true, Instant::now());
                }
            }
        }
        if step >= trainer.steps() && !trainer.progress().is_evaluation_due {
            return Ok(Outcome::Finished);
        }
        if let Some(why) = trainer.early_end().filter(|_| !trainer.progress().is_evaluation_due) {
            return Ok(Outcome::EndedEarly(why));
        }
        match hooks.control(trainer) {
            Control::Go => {}
            Control::Checkpoint => {
                hooks.checkpoint(trainer, Moment { best: false, resumable: true, asked: true });
                (checkpointed_at, has_state, last_state) = (Some(step), true, Instant::now());
                continue;
            }
            Control::Stop => {
                if step > 0 && checkpointed_at != Some(step) {
                    hooks.checkpoint(trainer, Moment { best: false, resumable: true, asked: false });
                }
                return Ok(Outcome::Stopped);
            }
        }
        if trainer.is_choice_due() {
            match trainer.choose_pairs(&|| hooks.should_stop())? {
                Some(report) => hooks.covered(step, &report),
                None => continue,
            }
        }
        match trainer.step()? {
            Ok(report) => hooks.step(&report),
            Err(divergence) => return Ok(Outcome::Diverged(divergence)),
        }
    }
}

/// Analyses the attention on the probe batch, if that is `due` in any case or there is time for it. False: it was cut
/// short.
fn analyse(trainer: &mut Trainer, hooks: &mut dyn Hooks, due: bool) -> Result<bool, TrainError> {
    let step = trainer.progress().step;
    if !trainer.plan().is_analysable() {
        return Ok(true);
    }
    if !due && !trainer.has_time_to_analyse() {
        if let Some(analysis_secs) = trainer.first_analysis_left_out() {
            hooks.analysis_thinned(step, analysis_secs);
        }
        return Ok(true);
    }
    let found = trainer.analyse(&|| hooks.should_stop())?;
    if matches!(found, Err(AnalysisError::Stopped)) {
        return Ok(false);
    }
    hooks.analysed(step, &found);
    Ok(true)
}

/// Outcome of the evaluation and the probe after a step.
#[derive(Clone, Copy, Default)]
struct Evaluated {
    /// The step asked for an evaluation, and it was done.
    is_evaluated: bool,
    /// It was the best so far.
    best: bool,
}

/// Evaluates and probes where the step asks for it.
fn evaluate_and_probe(trainer: &mut Trainer, hooks: &mut dyn Hooks) -> Result<Evaluated, TrainError> {
    let step = trainer.progress().step;
    let is_last = step == trainer.steps();
    let is_due = |every: u64| every > 0 && (is_last || step.is_multiple_of(every));
    let (evaluates, probes) =
        (is_last || is_due(trainer.config().train.evaluate_every), is_due(trainer.config().probe.every));
    if evaluates || probes {
        hooks.evaluating(trainer);
    }
    let mut outcome = Evaluated::default();
    if evaluates {
        let Some(report) = trainer.evaluate(&|| hooks.should_stop())? else { return Ok(outcome) };
        hooks.evaluated(&report);
        outcome = Evaluated { is_evaluated: true, best: report.best };
    }
    if probes {
        if !analyse(trainer, hooks, is_last || step == 0)? {
            return Ok(outcome);
        }
        let Some(text) = trainer.sample(&|| hooks.should_stop())? else { return Ok(outcome) };
        hooks.sample(step, &text);
    }
    trainer.evaluation_is_done();
    Ok(outcome)
}
