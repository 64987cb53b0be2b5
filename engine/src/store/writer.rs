use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError, bounded};

use super::clock::now_ms;
use super::entry::{Entry, OtherEntry, Point};
use super::thread::Message;
use super::{NewCheckpoint, NewSnapshot, Progress, RunFacts, RunId, RunState, StateDetails, StoreError, StoreWarning};

/// The longest that logging waits for a place in the queue. Only a flood of tens of thousands of points within the
/// time of one transaction fills it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The training thread's way into the store: never waits for the disk, never fails. Cheap to clone.
///
/// What is logged is in the database some 250 ms later. While the database cannot be written (locked, disk full) it
/// goes to a file beside it, and from there into the database as soon as that can be written again.
#[derive(Clone, Debug)]
pub struct StoreWriter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    messages: Sender<Message>,
    warnings: Sender<StoreWarning>,
    /// The newest attempt of the runs of this program.
    attempts: RwLock<HashMap<RunId, u32>>,
    lost: AtomicU64,
}

impl StoreWriter {
    pub(crate) fn new(messages: Sender<Message>, warnings: Sender<StoreWarning>) -> Self {
        let (attempts, lost) = (RwLock::default(), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { messages, warnings, attempts, lost }) }
    }

    /// A writer whose entries go nowhere, as for a store that is open for reading only.
    pub(crate) fn nowhere(warnings: Sender<StoreWarning>) -> Self {
        // With no receiver every entry is dropped at once.
        Self::new(bounded(0).0, warnings)
    }

    /// Logs one value of a series at a step of the run's newest attempt (see [`super::Store::begin_attempt`]).
    ///
    /// `wall_ms`: milliseconds of training until then, over all attempts, pauses left out; `tokens`: tokens trained on
    /// until then. Logging the same series and step twice in one attempt keeps the first value.
    pub fn log(&self, run: &RunId, series: &str, step: u64, value: f64, wall_ms: u64, tokens: u64) {
        let (attempt, run, series) = (self.attempt(run), run.clone(), series.into());
        self.send(Entry::Point(Point { run, series, attempt, step, value, wall_ms, tokens }));
    }

    /// Writes down a change of state.
    pub fn set_state(&self, run: &RunId, state: RunState, details: StateDetails) {
        self.send(OtherEntry::State { run: run.clone(), state, details, at_ms: now_ms() }.into());
    }

    /// Adds what is known only once the run starts.
    pub fn set_facts(&self, run: &RunId, facts: RunFacts) {
        self.send(OtherEntry::Facts { run: run.clone(), facts }.into());
    }

    /// Writes down how far the run has come; only the newest counts.
    pub fn progress(&self, run: &RunId, progress: Progress) {
        self.send(Entry::Progress { run: run.clone(), progress });
    }

    /// Keeps a snapshot of the run's newest attempt.
    pub fn snapshot(&self, run: &RunId, snapshot: NewSnapshot) {
        let attempt = self.attempt(run);
        self.send(OtherEntry::Snapshot { run: run.clone(), attempt, snapshot, at_ms: now_ms() }.into());
    }

    /// Records a checkpoint that was written.
    pub fn checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) {
        self.send(OtherEntry::Checkpoint { run: run.clone(), checkpoint, at_ms: now_ms() }.into());
    }

    /// Waits until all that was logged before is safe on disk, in the database or in the spill file.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (reply, answer) = bounded(1);
        self.shared.messages.send(Message::Flush(reply)).map_err(|_| StoreError::Closed)?;
        answer.recv().map_err(|_| StoreError::Closed)?
    }

    pub(crate) fn set_attempt(&self, run: &RunId, attempt: u32) {
        self.shared.attempts.write().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), attempt);
    }

    pub(crate) fn messages(&self) -> &Sender<Message> {
        &self.shared.messages
    }

    fn attempt(&self, run: &RunId) -> u32 {
        self.shared.attempts.read().unwrap_or_else(PoisonError::into_inner).get(run).copied().unwrap_or(0)
    }

    fn send(&self, entry: Entry) {
        let entry = match self.shared.messages.try_send(Message::Entry(entry)) {
            Err(TrySendError::Full(entry)) => entry,
            // Closed: the program is ending.
            Ok(()) | Err(TrySendError::Disconnected(_)) => return,
        };
        if self.shared.messages.send_timeout(entry, PATIENCE).is_err() {
            let points = self.shared.lost.fetch_add(1, Ordering::Relaxed) + 1;
            let _ = self.shared.warnings.try_send(StoreWarning::Lost { points });
        }
    }
}
