use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, TrySendError, bounded};

use super::clock::now_ms;
use super::entry::{Entry, OtherEntry, Point};
use super::thread::Message;
use super::{
    ExampleOutcomes, NewCheckpoint, NewSnapshot, Progress, RunFacts, RunId, RunState, Settled, StateDetails,
    StoreError, StoreWarning,
};

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
    attempts: RwLock<HashMap<RunId, Attempt>>,
    lost: AtomicU64,
}

/// An attempt in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub number: u32,
    pub first_step: u64,
    /// The attempt that did the step before the first one.
    pub before: u32,
}

impl Attempt {
    /// The attempt to which what is logged at a step belongs. An evaluation that a stop cut short is made up for by the
    /// attempt that goes on: it belongs to the step after which it was due, and so to the attempt that did that step.
    fn at(self, step: u64) -> u32 {
        if step.checked_add(1) == Some(self.first_step) { self.before } else { self.number }
    }
}

impl StoreWriter {
    pub(crate) fn new(messages: Sender<Message>, warnings: Sender<StoreWarning>) -> Self {
        let (attempts, lost) = (RwLock::default(), AtomicU64::new(0));
        Self { shared: Arc::new(Shared { messages, warnings, attempts, lost }) }
    }

    /// A writer whose entries go nowhere, as for a store that is open for reading only.
    pub fn nowhere(warnings: Sender<StoreWarning>) -> Self {
        // With no receiver every entry is dropped at once.
        Self::new(bounded(0).0, warnings)
    }

    /// Logs one value of a series at a step of the run's newest attempt (see [`super::Store::begin_attempt`]).
    ///
    /// `wall_ms`: milliseconds of training until then, over all attempts, pauses left out; `tokens`: tokens trained on
    /// until then. Logging the same series and step twice in one attempt keeps the first value.
    pub fn log(&self, run: &RunId, series: &str, step: u64, value: f64, wall_ms: u64, tokens: u64) {
        let (attempt, run, series) = (self.attempt(run, step), run.clone(), series.into());
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
        let attempt = self.attempt(run, snapshot.step);
        self.send(OtherEntry::Snapshot { run: run.clone(), attempt, snapshot, at_ms: now_ms() }.into());
    }

    /// Keeps the outcomes of the single examples of an evaluation as the last ones, and as the best ones where they are.
    pub fn example_outcomes(&self, run: &RunId, outcomes: ExampleOutcomes, is_best: bool) {
        let attempt = self.attempt(run, outcomes.step);
        self.send(OtherEntry::Outcomes { run: run.clone(), attempt, outcomes, is_best, at_ms: now_ms() }.into());
    }

    /// Records a checkpoint that was written.
    pub fn checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) {
        self.send(OtherEntry::Checkpoint { run: run.clone(), checkpoint, at_ms: now_ms() }.into());
    }

    /// Forgets a checkpoint whose directory goes, whatever it was kept for.
    pub fn forget_checkpoint(&self, run: &RunId, path: &Path) {
        self.send(OtherEntry::Forget { run: run.clone(), path: path.to_owned() }.into());
    }

    /// Waits until all that was logged before is in the database, at most so long, and says where it is then. What can be
    /// written neither there nor to the file beside it is written to a file apart.
    pub fn settle(&self, patience: Duration) -> Settled {
        let (reply, answer) = bounded(1);
        let message = Message::Settle { reply, deadline: Instant::now() + patience };
        // Closed: the program is ending, and nobody is left to write.
        if self.shared.messages.send(message).is_err() {
            return Settled::Held;
        }
        answer.recv().unwrap_or(Settled::Held)
    }

    /// Waits until all that was logged before is safe on disk, in the database or in the spill file.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (reply, answer) = bounded(1);
        self.shared.messages.send(Message::Flush(reply)).map_err(|_| StoreError::Closed)?;
        answer.recv().map_err(|_| StoreError::Closed)?
    }

    pub(crate) fn set_attempt(&self, run: &RunId, attempt: Attempt) {
        self.shared.attempts.write().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), attempt);
    }

    pub(crate) fn messages(&self) -> &Sender<Message> {
        &self.shared.messages
    }

    /// The attempt of what is logged at a step; 0 for the newest that the database knows.
    fn attempt(&self, run: &RunId, step: u64) -> u32 {
        let attempts = self.shared.attempts.read().unwrap_or_else(PoisonError::into_inner);
        attempts.get(run).map_or(0, |attempt| attempt.at(step))
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
