use super::{NewCheckpoint, NewSnapshot, Progress, RunId, RunState, StateDetails, StoreError};

/// The training thread's way into the store: never blocks on the disk, never fails. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StoreWriter {}

impl StoreWriter {
    /// Logs one value of a series at a step of the run's newest attempt (see [`super::Store::begin_attempt`]).
    ///
    /// `wall_ms`: milliseconds of training until then, over all attempts, pauses left out; `tokens`: tokens trained on
    /// until then. Logging the same series and step twice in one attempt keeps the first value.
    pub fn log(&self, run: &RunId, series: &str, step: u64, value: f64, wall_ms: u64, tokens: u64) {
        let _ = (run, series, step, value, wall_ms, tokens);
    }

    /// Writes down a change of state.
    pub fn set_state(&self, run: &RunId, state: RunState, details: StateDetails) {
        let _ = (run, state, details);
    }

    /// Writes down how far the run has come; only the newest counts.
    pub fn progress(&self, run: &RunId, progress: Progress) {
        let _ = (run, progress);
    }

    /// Keeps a snapshot of the run's newest attempt.
    pub fn snapshot(&self, run: &RunId, snapshot: NewSnapshot) {
        let _ = (run, snapshot);
    }

    /// Records a checkpoint that was written.
    pub fn checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) {
        let _ = (run, checkpoint);
    }

    /// Waits until all that was logged before is safe on disk, in the database or in the spill file.
    pub fn flush(&self) -> Result<(), StoreError> {
        Err(StoreError::Closed)
    }
}
