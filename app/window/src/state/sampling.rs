//! Noise of the validation sample of runs, derived once from the outcomes of their examples.

use headroom_engine::store::{ExampleOutcomes, OutcomeKind, RunId};

use super::{
    State,
    sampling_cache::{Print, print},
};
use crate::compare::RunOutcomes;

impl State {
    /// Noise of the validation sample in the best and the last evaluation of a run, once their outcomes are loaded; they are asked for
    /// here.
    pub fn run_outcomes(&mut self, run: &RunId) -> Option<RunOutcomes> {
        for kind in OutcomeKind::ALL {
            self.want_outcomes(run, kind);
        }
        let of = |kind: OutcomeKind| self.outcomes.get(&(run.clone(), kind));
        let loaded: Vec<_> = OutcomeKind::ALL.into_iter().map(of).collect::<Option<_>>()?;
        let evaluations: Vec<&ExampleOutcomes> = loaded.into_iter().flatten().map(AsRef::as_ref).collect();
        let prints: Vec<Print> = evaluations.iter().map(|outcomes| print(outcomes)).collect();
        if let Some((known, noise)) = self.sampling.0.get(run)
            && *known == prints
        {
            return Some(noise.clone());
        }
        let noise = RunOutcomes::of(evaluations);
        self.sampling.0.insert(run.clone(), (prints, noise.clone()));
        Some(noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn outcomes_are_asked_for_once_and_newer_ones_replace_what_was_derived() {
        let mut state = State::default();
        let run = examples::summary(1, "run").id;
        assert_eq!(state.run_outcomes(&run), None, "asked for");
        let outcomes = |step: u64, loss: Vec<f32>| {
            let labels = vec![1; loss.len()];
            Some(Box::new(ExampleOutcomes { step, evaluated_hash: "text".to_owned(), loss, labels, correct: None }))
        };
        state.outcomes.insert((run.clone(), OutcomeKind::Best), outcomes(50, vec![1.0, 2.0]));
        assert_eq!(state.run_outcomes(&run), None, "the last one is to come");
        state.outcomes.insert((run.clone(), OutcomeKind::Last), None);
        let knows = |state: &mut State, value: f64, step: u64| {
            state.run_outcomes(&run).unwrap().noise("validation/loss", value, step).is_some()
        };
        assert!(knows(&mut state, 1.5, 50) && !knows(&mut state, 1.5, 100));
        state.outcomes.insert((run.clone(), OutcomeKind::Last), outcomes(100, vec![2.0, 3.0]));
        assert!(knows(&mut state, 1.5, 50) && knows(&mut state, 2.5, 100));
    }
}
