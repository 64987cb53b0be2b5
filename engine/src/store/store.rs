use std::path::Path;

use crossbeam_channel::Receiver;
use serde::Serialize;

use super::*;

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Made if there is none; brought up to date; dead programs' runs become interrupted.
    ReadWrite,
    /// Nothing on disk is changed.
    ReadOnly,
}

/// Bytes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreSize {
    /// The database and its log.
    pub database_bytes: u64,
    /// Checkpoints and other files of runs.
    pub runs_bytes: u64,
    /// Caches: can be removed at any time.
    pub cache_bytes: u64,
}

/// The store. Cheap to clone; the last clone to go writes what waits and closes.
#[derive(Clone, Debug)]
pub struct Store {}

macro_rules! todo_signatures {
    ($($(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident: $ty:ty)*) -> $out:ty;)*) => {
        impl Store { $($(#[$doc])* pub fn $name(&self $(, $arg: $ty)*) -> Result<$out, StoreError> {
            let _ = ($($arg,)*); Err(StoreError::Closed)
        })* }
    };
}

impl Store {
    /// Opens the store in the file `path`.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        let _ = (path, mode);
        Err(StoreError::Closed)
    }

    /// Where things are.
    pub fn paths(&self) -> &StorePaths {
        unimplemented!()
    }

    /// Trouble as it happens. One queue: clones of the receiver share it.
    pub fn warnings(&self) -> Receiver<StoreWarning> {
        unimplemented!()
    }
}

todo_signatures! {
    /// The training thread's way in.
    fn writer(&self) -> StoreWriter;
    /// Puts a run in the store, queued.
    fn create_run(&self, run: NewRun) -> RunRecord;
    /// Changes a run's state, and waits until it is written.
    fn set_state(&self, run: &RunId, state: RunState, details: StateDetails) -> ();
    /// Starts an attempt (the first start, or a resume) at `first_step`: the run is running, owned by this program, and
    /// points of earlier attempts at or after `first_step` are hidden. Returns the attempt's number, from 1.
    fn begin_attempt(&self, run: &RunId, first_step: u64) -> u32;
    /// Adds what is known only once the run starts.
    fn set_facts(&self, run: &RunId, facts: RunFacts) -> ();
    /// The table of runs with what each series comes to, oldest first.
    fn runs(&self, filter: RunFilter) -> Vec<RunSummary>;
    /// A run by id, name, `#number`, or the beginning of an id or name that fits only one.
    fn run(&self, query: &str) -> RunRecord;
    /// Points of one series in step order; with a cursor only those that came after.
    fn series(&self, run: &RunId, name: &str, after: Option<Cursor>) -> SeriesData;
    /// Configs as JSON of the given runs.
    fn configs(&self, runs: &[RunId]) -> Vec<(RunId, serde_json::Value)>;
    /// Renames a run.
    fn rename(&self, run: &RunId, name: &str) -> ();
    /// Changes a run's note.
    fn set_note(&self, run: &RunId, note: &str) -> ();
    /// Adds a label.
    fn add_tag(&self, run: &RunId, tag: &str) -> ();
    /// Takes a label away.
    fn remove_tag(&self, run: &RunId, tag: &str) -> ();
    /// Puts a run away, or brings it back.
    fn set_archived(&self, run: &RunId, archived: bool) -> ();
    /// Deletes a run so that it can be brought back.
    fn delete(&self, run: &RunId) -> ();
    /// Brings a deleted run back.
    fn undelete(&self, run: &RunId) -> ();
    /// Deletes a run and its files for good.
    fn purge(&self, run: &RunId) -> ();
    /// Purges every run that was deleted before `before_ms`; returns how many.
    fn purge_deleted(&self, before_ms: i64) -> usize;
    /// Records a checkpoint.
    fn record_checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) -> ();
    /// Forgets a checkpoint whose directory was removed.
    fn forget_checkpoint(&self, run: &RunId, path: &Path) -> ();
    /// A run's checkpoints by step.
    fn checkpoints(&self, run: &RunId) -> Vec<CheckpointRecord>;
    /// Keeps a snapshot.
    fn record_snapshot(&self, run: &RunId, snapshot: NewSnapshot) -> ();
    /// A run's snapshots of one kind, or all, without their elements, by step.
    fn snapshots(&self, run: &RunId, kind: Option<&str>) -> Vec<SnapshotRecord>;
    /// A snapshot with its elements.
    fn snapshot(&self, id: i64) -> SnapshotData;
    /// A run's text samples by step.
    fn samples(&self, run: &RunId) -> Vec<TextSample>;
    /// Bytes on disk.
    fn size(&self) -> StoreSize;
    /// Bytes of one run's files.
    fn run_bytes(&self, run: &RunId) -> u64;
    /// Marks runs of programs that died as interrupted; returns them. Done at open; call it now and then in a window.
    fn mark_interrupted(&self) -> Vec<RunId>;
    /// Reads the whole database for damage.
    fn verify(&self) -> ();
}
