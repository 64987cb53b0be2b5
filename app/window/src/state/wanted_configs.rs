//! Loads the configs of many runs little by little.

use std::sync::Arc;

use headroom_engine::store::{RunId, RunSummary};

use super::{FlatConfigs, State};
use crate::compare::flatten;

/// Records that may be asked for and not have come, so that 10,000 runs do not fill the engine's door.
const IN_FLIGHT: usize = 16;

impl FlatConfigs {
    /// Wants the configs of these runs; a few are asked for at a time. Returns how many are still missing.
    pub fn want(&mut self, state: &mut State, runs: impl IntoIterator<Item = RunId>) -> usize {
        let mut missing = 0;
        // A run that was deleted meanwhile will never answer.
        self.asked.retain(|run| !state.records.contains_key(run) && state.run(run).is_some());
        for run in runs {
            if self.known.contains_key(&run) {
                continue;
            }
            if let Some(record) = state.records.get(&run) {
                self.known.insert(run, Arc::new(flatten(&record.config)));
                continue;
            }
            missing += 1;
            if self.asked.len() < IN_FLIGHT && self.asked.insert(run.clone()) {
                state.want_record(&run);
            }
        }
        missing
    }

    /// Wants the configs of all runs. Returns how many are still missing.
    pub fn want_all(&mut self, state: &mut State) -> usize {
        let now = state.runs.first().map(|newest| (state.runs.len(), newest.id.clone()));
        if self.complete == now {
            return 0;
        }
        let is_unknown = |run: &&RunSummary| !self.known.contains_key(&run.id);
        let unknown: Vec<RunId> = state.runs.iter().filter(is_unknown).map(|run| run.id.clone()).collect();
        let missing = if unknown.is_empty() { 0 } else { self.want(state, unknown) };
        self.complete = now.filter(|_| missing == 0);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn configs_are_asked_for_a_few_at_a_time_and_each_once() {
        let runs = (0..40).map(|i| examples::summary(i, "run")).collect();
        let mut state = State { runs, ..State::default() };
        let ids: Vec<RunId> = state.runs.iter().map(|run| run.id.clone()).collect();
        let mut configs = FlatConfigs::default();
        assert_eq!(configs.want(&mut state, ids.clone()), 40);
        assert_eq!(configs.want(&mut state, ids.clone()), 40);
        assert_eq!(state.take_requests().len(), IN_FLIGHT);
        for number in 0..IN_FLIGHT as u64 {
            let record = examples::record(number, "run");
            state.records.insert(record.summary.id.clone(), record);
        }
        assert_eq!(configs.want(&mut state, ids), 40 - IN_FLIGHT);
        assert_eq!(configs.len(), IN_FLIGHT);
        assert!(!state.take_requests().is_empty());
        assert!(configs.get(&examples::summary(0, "run").id).unwrap().contains_key("model.layers"));
    }
}
