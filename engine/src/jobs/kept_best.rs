use crate::{
    objective::{Direction, series_names},
    store::{CheckpointKind, RunId, Store},
    train::Trainer,
};

/// The best checkpoint that a run keeps, also from an attempt that a crash ended: only a better evaluation replaces it.
///
/// The trainer starts again from a state that is older than this checkpoint, and finds its best anew from there, so that the run
/// ends as one that was never interrupted. Until it has caught up, its best so far can be worse than what is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeptBest {
    direction: Direction,
    best: Option<Evaluated>,
}

/// An evaluation by the metric that ranks evaluations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Evaluated {
    step: u64,
    /// None where the store does not know it any more.
    value: Option<f64>,
    /// The model was the one that the config asks for. That of a warm-up never replaces it.
    is_goal: bool,
}

impl Default for KeptBest {
    fn default() -> Self {
        Self { direction: Direction::Lower, best: None }
    }
}

impl KeptBest {
    /// The best checkpoint in the store, with the value that the attempt logged which wrote it.
    pub(crate) fn of(store: &Store, run: &RunId, trainer: &Trainer) -> Self {
        let metric = trainer.judged_by();
        let records = store.checkpoints(run).unwrap_or_default();
        let kept = records.into_iter().find(|kept| kept.kind == CheckpointKind::Best && kept.problem.is_none());
        let best = kept.map(|kept| {
            let logged = store.logged_value(run, metric.series, kept.step).ok().flatten();
            let loss = kept.value.filter(|_| metric.series == series_names::VALIDATION_LOSS);
            Evaluated { step: kept.step, value: logged.or(loss), is_goal: trainer.is_goal_at(kept.step) }
        });
        Self { direction: metric.direction, best }
    }

    /// Returns true if the trainer's best evaluation, which is its present one, is better than what is kept.
    pub(crate) fn is_replaced(&self, trainer: &Trainer) -> bool {
        self.is_replaced_by(Evaluated::of(trainer))
    }

    /// Takes in that the trainer's present evaluation has become the best checkpoint.
    pub(crate) fn replace(&mut self, trainer: &Trainer) {
        self.best = Some(Evaluated::of(trainer));
    }

    fn is_replaced_by(&self, new: Evaluated) -> bool {
        self.best.is_none_or(|kept| {
            if kept.is_goal != new.is_goal {
                return new.is_goal;
            }
            // The same step lies in the same directory.
            kept.step == new.step || new.value.is_none_or(|value| self.direction.improves(value, kept.value))
        })
    }
}

impl Evaluated {
    /// The present evaluation of a trainer that found it to be its best.
    fn of(trainer: &Trainer) -> Self {
        let progress = trainer.progress();
        Self { step: progress.step, value: progress.best_value, is_goal: trainer.is_goal_at(progress.step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(step: u64, value: f64) -> Evaluated {
        Evaluated { step, value: Some(value), is_goal: true }
    }

    fn lower(best: Evaluated) -> KeptBest {
        KeptBest { direction: Direction::Lower, best: Some(best) }
    }

    #[test]
    fn only_a_better_evaluation_replaces_the_best() {
        let kept = lower(evaluated(250, 2.0));
        assert!(!kept.is_replaced_by(evaluated(50, 2.5)) && !kept.is_replaced_by(evaluated(100, 2.0)));
        assert!(kept.is_replaced_by(evaluated(250, 2.0)), "the same step once more");
        assert!(kept.is_replaced_by(evaluated(300, 1.9)));
        assert!(!kept.is_replaced_by(evaluated(350, f64::NAN)));
        let higher = KeptBest { direction: Direction::Higher, best: Some(evaluated(250, 0.8)) };
        assert!(!higher.is_replaced_by(evaluated(50, 0.7)) && higher.is_replaced_by(evaluated(60, 0.9)));
        assert!(KeptBest::default().is_replaced_by(evaluated(1, 9.0)), "there is none yet");
        let unknown = lower(Evaluated { value: None, ..evaluated(1, 0.0) });
        assert!(unknown.is_replaced_by(evaluated(2, 9.0)), "the store does not know its value any more");
    }

    #[test]
    fn the_model_of_a_warm_up_gives_way_and_replaces_nothing() {
        let warm_up = |step, value| Evaluated { is_goal: false, ..evaluated(step, value) };
        assert!(lower(warm_up(10, 1.0)).is_replaced_by(evaluated(30, 2.0)), "pairs are left out now");
        assert!(lower(warm_up(10, 1.0)).is_replaced_by(warm_up(20, 0.9)));
        assert!(!lower(evaluated(30, 2.0)).is_replaced_by(warm_up(10, 1.0)), "the run starts again in its warm-up");
    }
}
