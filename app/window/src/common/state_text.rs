//! What a run's state means, in words.

use egui::Color32;
use headroom_engine::{
    config::counted,
    store::{RunState, RunSummary},
    train::Health,
};

use crate::{format, theme::Palette};

/// The state's word, in sentence case.
pub fn word(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "Queued",
        RunState::Running => "Running",
        RunState::Paused => "Paused",
        RunState::Finished => "Finished",
        RunState::Stopped => "Stopped",
        RunState::Diverged => "Diverged",
        RunState::Failed => "Failed",
        RunState::Interrupted => "Interrupted",
        RunState::Cancelled => "Cancelled",
    }
}

/// The run's state as a word, with that of its health where there is more to say.
pub fn words(run: &RunSummary) -> String {
    match run.told_health() {
        Some(health) => format!("{}, {}", word(run.state), health.word()),
        None => word(run.state).to_owned(),
    }
}

/// The colour of the run's state, or of what is wrong with its health.
pub fn colour_of(run: &RunSummary, palette: &Palette) -> Color32 {
    match run.told_health() {
        Some(health) if health.is_bad() => health_colour(health, palette),
        _ => colour(run.state, palette),
    }
}

/// The colour of a health.
pub fn health_colour(health: Health, palette: &Palette) -> Color32 {
    match health {
        Health::Diverged { .. } => palette.error,
        Health::Stalled { .. } | Health::Unstable { .. } => palette.warning,
        Health::Sound | Health::Plateau { .. } => palette.weak,
    }
}

/// The state's colour.
pub fn colour(state: RunState, palette: &Palette) -> Color32 {
    match state {
        RunState::Running => palette.running,
        RunState::Finished => palette.better,
        RunState::Diverged | RunState::Failed => palette.error,
        RunState::Interrupted | RunState::Paused => palette.warning,
        RunState::Queued | RunState::Stopped | RunState::Cancelled => palette.weak,
    }
}

/// Whether the program ended before the run had begun: it only waited in the queue.
pub fn never_began(run: &RunSummary) -> bool {
    run.state == RunState::Interrupted && run.started_ms.is_none() && run.steps_done == 0
}

/// Why the run is in its state, and what its health is, as sentences.
pub fn why(run: &RunSummary) -> String {
    match run.told_health() {
        Some(health) => format!("{} {}", why_state(run), health.why()),
        None => why_state(run),
    }
}

fn why_state(run: &RunSummary) -> String {
    let done = counted(run.steps_done, "step");
    let steps = match run.steps_total {
        Some(total) => format!("{} of {}", format::count(run.steps_done), counted(total, "step")),
        None => done.clone(),
    };
    let are = if run.steps_total.unwrap_or(run.steps_done) == 1 { "is" } else { "are" };
    match run.state {
        RunState::Queued => "Waiting in the queue.".to_owned(),
        RunState::Running => format!("Training: {steps} {are} done."),
        RunState::Paused => format!("Paused after {steps}."),
        // Nothing else ends a run that is sound before its last step.
        RunState::Finished if run.steps_total.is_some_and(|total| run.steps_done < total) => {
            format!("Ended early after {steps}: its evaluations improved no more (train.stop_early).")
        }
        RunState::Finished if run.steps_done == 1 => "Finished its only step.".to_owned(),
        RunState::Finished => format!("Finished all {done}."),
        RunState::Stopped => format!("Stopped after {steps}."),
        RunState::Diverged => match (&run.diverged, run.health) {
            (_, Some(health @ Health::Diverged { .. })) => health.why(),
            (Some(diverged), _) => {
                let place = diverged.at.as_ref().map_or_else(String::new, |at| format!(", first in {at}"));
                format!("A value became non-finite at step {}{place}.", format::count(diverged.step))
            }
            (None, _) => format!("A value became non-finite after {done}."),
        },
        RunState::Failed => {
            run.failure.as_ref().map_or_else(|| format!("Failed after {done}."), |failure| failure.why.clone())
        }
        RunState::Interrupted if never_began(run) => "It waited in the queue when the program ended.".to_owned(),
        RunState::Interrupted if run.steps_done == 0 => "The program ended before the first step.".to_owned(),
        RunState::Interrupted => format!("The program ended during training; the curves of {steps} are kept."),
        RunState::Cancelled => "Removed from the queue before it started.".to_owned(),
    }
}

/// What the user can do about it; empty when there is nothing to do.
pub fn what_to_do(run: &RunSummary) -> String {
    if let Some(health) = run.told_health().filter(|health| health.is_bad()) {
        return health.what_to_do().to_owned();
    }
    match run.state {
        RunState::Paused => "Resume continues at once.".to_owned(),
        RunState::Interrupted if never_began(run) => "Resume puts it into the queue again.".to_owned(),
        RunState::Stopped | RunState::Interrupted => {
            "Resume continues from the newest checkpoint, and the curve exactly; where there is none, or none but the best one, which \
             holds weights alone, from the first step."
                .to_owned()
        }
        RunState::Diverged => "Lower the learning rate, clip the gradient or warm up longer.".to_owned(),
        RunState::Failed => run.failure.as_ref().map(|failure| failure.what_to_do.clone()).unwrap_or_default(),
        RunState::Cancelled => "\"Repeat this run\" queues it again.".to_owned(),
        RunState::Queued | RunState::Running | RunState::Finished => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        store::{Divergence, Failure},
        train::Activity,
    };

    use super::*;
    use crate::examples;

    #[test]
    fn every_state_says_why_and_every_bad_end_says_what_to_do() {
        let mut run = examples::summary(1, "run");
        run.failure = Some(Failure { why: "The disk is full.".to_owned(), what_to_do: "Free some space.".to_owned() });
        run.diverged = Some(Divergence { step: 1234, at: Some("layer 3".to_owned()) });
        for state in RunState::ALL {
            run.state = state;
            assert!(why(&run).ends_with('.'), "{state}");
            let bad = matches!(state, RunState::Diverged | RunState::Failed | RunState::Interrupted);
            assert!(!bad || !what_to_do(&run).is_empty(), "{state}");
        }
        run.state = RunState::Diverged;
        assert_eq!(why(&run), "A value became non-finite at step 1,234, first in layer 3.");
        assert_eq!(words(&run), "Diverged");
        let (since_step, best, best_step) = (40, 7.0, 1);
        run.health = Some(Health::Diverged { since_step, loss: 3e5, best, best_step });
        assert!(why(&run).contains("300,000 after 7.000 at step 1"), "{}", why(&run));
        run.state = RunState::Running;
        run.health = Some(Health::Unstable { since_step, loss: 9.0, best, best_step });
        assert_eq!(words(&run), "Running, unstable");
        assert!(why(&run).starts_with("Training") && why(&run).contains("since step 40: 9.000"), "{}", why(&run));
        assert!(!what_to_do(&run).is_empty());
        run.state = RunState::Finished;
        run.health = Some(Health::Stalled { after_step: 1, secs: 61.0, during: Activity::Step });
        assert_eq!(words(&run), "Finished", "that is over");
        (run.steps_done, run.steps_total) = (300, Some(1_000));
        assert!(why(&run).starts_with("Ended early after 300 of 1,000 steps: "), "{}", why(&run));
        (run.steps_done, run.steps_total) = (1_000, Some(1_000));
        assert_eq!(why(&run), "Finished all 1,000 steps.");
        run.state = RunState::Failed;
        assert_eq!((why(&run), what_to_do(&run)), ("The disk is full.".to_owned(), "Free some space.".to_owned()));
    }

    #[test]
    fn a_run_that_only_waited_when_the_program_ended_is_not_said_to_have_trained() {
        let mut run = RunSummary { state: RunState::Interrupted, steps_done: 0, ..examples::summary(1, "run") };
        assert!(!never_began(&run), "it was being prepared");
        assert_eq!(why(&run), "The program ended before the first step.");
        run.started_ms = None;
        assert!(never_began(&run));
        assert_eq!(why(&run), "It waited in the queue when the program ended.");
        assert_eq!(what_to_do(&run), "Resume puts it into the queue again.");
        run.state = RunState::Queued;
        assert!(!never_began(&run));
    }
}
