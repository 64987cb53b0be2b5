use std::{collections::BTreeMap, sync::Arc};

use headroom_engine::{analysis::Analysis, store::RunId};

/// Analyses of one run that are kept in memory; the ones that were looked at the longest ago go first.
const KEPT: usize = 200;

/// What the engine is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// At which steps a run kept an analysis while it trained.
    Steps(RunId),
    /// The one of a step.
    At(RunId, u64),
}

/// What a run kept while it trained.
#[derive(Default)]
struct Live {
    /// The steps, ascending; none until they have come.
    steps: Option<Vec<u64>>,
    /// With when each was looked at last.
    found: BTreeMap<u64, (Arc<Analysis>, u64)>,
    /// Asked for, and not come.
    waiting: Vec<u64>,
}

/// Analyses: those that runs kept while they trained, and those that were asked for.
#[derive(Default)]
pub struct AnalysisState {
    live: BTreeMap<RunId, Live>,
    asks: Vec<Ask>,
    looks: u64,
}

impl AnalysisState {
    /// The steps at which a run kept an analysis, ascending; asked for, once, while they are not known.
    pub fn steps(&mut self, run: &RunId) -> Option<Vec<u64>> {
        if !self.live.contains_key(run) {
            self.live.insert(run.clone(), Live::default());
            self.asks.push(Ask::Steps(run.clone()));
        }
        self.live.get(run).and_then(|live| live.steps.clone())
    }

    /// What a run kept at a step; asked for, once, while it is not there.
    pub fn at(&mut self, run: &RunId, step: u64) -> Option<Arc<Analysis>> {
        self.looks += 1;
        let live = self.live.entry(run.clone()).or_default();
        if let Some((found, looked)) = live.found.get_mut(&step) {
            *looked = self.looks;
            return Some(Arc::clone(found));
        }
        if !live.waiting.contains(&step) {
            live.waiting.push(step);
            self.asks.push(Ask::At(run.clone(), step));
        }
        None
    }

    /// The steps of a run have come.
    pub fn take_steps(&mut self, run: RunId, mut steps: Vec<u64>) {
        steps.sort_unstable();
        steps.dedup();
        let live = self.live.entry(run).or_default();
        live.found.retain(|step, _| steps.contains(step));
        live.steps = Some(steps);
    }

    /// A run kept one more.
    pub fn take_step(&mut self, run: &RunId, step: u64) {
        let Some(live) = self.live.get_mut(run) else { return };
        // One of a step that was done again replaces what was there.
        live.found.remove(&step);
        live.waiting.retain(|waiting| *waiting != step);
        if let Some(steps) = &mut live.steps
            && let Err(place) = steps.binary_search(&step)
        {
            steps.insert(place, step);
        }
    }

    /// What a run kept at a step has come.
    pub fn take(&mut self, run: RunId, step: u64, analysis: Analysis) {
        self.looks += 1;
        let live = self.live.entry(run).or_default();
        live.waiting.retain(|waiting| *waiting != step);
        live.found.insert(step, (Arc::new(analysis), self.looks));
        if live.found.len() > KEPT
            && let Some(oldest) = live.found.iter().min_by_key(|(_, (_, looked))| *looked).map(|(step, _)| *step)
        {
            live.found.remove(&oldest);
        }
    }

    /// Forgets runs that are no more.
    pub(super) fn retain(&mut self, exists: impl Fn(&RunId) -> bool) {
        self.live.retain(|run, _| exists(run));
    }

    pub(super) fn take_asks(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId::from("1k7qz00001".to_owned())
    }

    #[test]
    fn everything_is_asked_for_once() {
        let mut state = AnalysisState::default();
        for _ in 0..3 {
            assert_eq!((state.steps(&run()), state.at(&run(), 100)), (None, None));
        }
        assert_eq!(state.take_asks(), [Ask::Steps(run()), Ask::At(run(), 100)]);
        state.take_steps(run(), vec![200, 100]);
        assert_eq!(state.steps(&run()), Some(vec![100, 200]));
        state.take(run(), 100, Analysis { examples: 7, ..Analysis::default() });
        assert_eq!(state.at(&run(), 100).map(|found| found.examples), Some(7));
        assert_eq!(state.take_asks(), []);
    }

    #[test]
    fn new_steps_join_and_a_step_that_was_done_again_is_read_again() {
        let mut state = AnalysisState::default();
        state.take_step(&run(), 100);
        assert!(state.live.is_empty(), "of a run that nobody looks at nothing is kept");
        state.take_steps(run(), vec![100, 300]);
        state.take_step(&run(), 200);
        state.take_step(&run(), 300);
        assert_eq!(state.steps(&run()), Some(vec![100, 200, 300]));
        state.take(run(), 300, Analysis::default());
        state.take_step(&run(), 300);
        assert_eq!(state.at(&run(), 300), None);
        assert_eq!(state.take_asks(), [Ask::At(run(), 300)]);
    }

    #[test]
    fn memory_is_bounded_and_what_was_looked_at_stays() {
        let mut state = AnalysisState::default();
        state.take(run(), 0, Analysis::default());
        for step in 1..=KEPT as u64 + 50 {
            state.take(run(), step, Analysis::default());
            assert!(state.at(&run(), 0).is_some(), "step 0 is looked at all the time");
        }
        assert_eq!(state.live[&run()].found.len(), KEPT);
        state.retain(|_| false);
        assert!(state.live.is_empty());
    }
}
