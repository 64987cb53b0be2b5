use super::{Control, Hooks, Moment, Outcome, TrainError, Trainer};
use crate::analysis::AnalysisError;

/// Trains until the last step, a stop or a divergence.
///
/// Before the first step the attention is analysed; a run that begins with a trained model is evaluated and probed there as well:
/// what that is worth before it is trained further. After each step: evaluation when due, then the probe, then a checkpoint when
/// due. A checkpoint therefore always holds what the points up to its step say, and a continued run repeats nothing. An
/// evaluation that a stop cut short is noted in the checkpoint and made up for when the run goes on, so that the curve is that of
/// a run never stopped.
pub fn train(trainer: &mut Trainer, hooks: &mut dyn Hooks) -> Result<Outcome, TrainError> {
    let mut checkpointed_at = None;
    let is_evaluated_first = trainer.progress().is_evaluation_due;
    if trainer.progress().step == 0 && trainer.config().probe.every > 0 && !is_evaluated_first {
        // What training starts from. Stopped here, nothing has begun.
        hooks.evaluating(trainer);
        analyse(trainer, hooks, true)?;
    }
    loop {
        let step = trainer.progress().step;
        if trainer.progress().is_evaluation_due {
            let best = evaluate_and_probe(trainer, hooks)?;
            let config = &trainer.config().train;
            let is_regular = config.checkpoint_every > 0 && step.is_multiple_of(config.checkpoint_every);
            // What a run from elsewhere begins with can be gone on from: it stays what it is where it is the best so far.
            let resumable = step == 0 || step == trainer.steps() || trainer.early_end().is_some() || is_regular;
            if (best || resumable) && !trainer.progress().is_evaluation_due {
                hooks.checkpoint(trainer, Moment { best, resumable, asked: false });
                checkpointed_at = resumable.then_some(step).or(checkpointed_at);
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
                checkpointed_at = Some(step);
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

/// Evaluates and probes where the step asks for it. Returns whether the evaluation was the best so far.
fn evaluate_and_probe(trainer: &mut Trainer, hooks: &mut dyn Hooks) -> Result<bool, TrainError> {
    let step = trainer.progress().step;
    let is_last = step == trainer.steps();
    let is_due = |every: u64| every > 0 && (is_last || step.is_multiple_of(every));
    let (evaluates, probes) =
        (is_last || is_due(trainer.config().train.evaluate_every), is_due(trainer.config().probe.every));
    if evaluates || probes {
        hooks.evaluating(trainer);
    }
    let mut best = false;
    if evaluates {
        let Some(report) = trainer.evaluate(&|| hooks.should_stop())? else { return Ok(false) };
        hooks.evaluated(&report);
        best = report.best;
    }
    if probes {
        if !analyse(trainer, hooks, is_last || step == 0)? {
            return Ok(best);
        }
        let Some(text) = trainer.sample(&|| hooks.should_stop())? else { return Ok(best) };
        hooks.sample(step, &text);
    }
    trainer.evaluation_is_done();
    Ok(best)
}
