use std::sync::Arc;

use crossbeam_channel::Sender;

use super::{monitor::Position, note::Note, outbox::Outbox};
use crate::store::{Store, StoreWriter};

/// Stack of the engine thread and of the threads that compute: sorting and dropping a graph of many operations recurses.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// What a job works with.
pub(super) struct Bench {
    pub(super) store: Store,
    pub(super) writer: StoreWriter,
    pub(super) outbox: Outbox,
    pub(super) position: Arc<Position>,
    notes: Sender<Note>,
}

impl Bench {
    pub(super) fn new(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        position: Arc<Position>,
        notes: Sender<Note>,
    ) -> Self {
        Self { store, writer, outbox, position, notes }
    }

    /// Tells the desk that what is written about the current run changed.
    pub(super) fn runs_changed(&self) {
        // A desk that is busy hears of it with the next change.
        let _ = self.notes.try_send(Note::RunsChanged);
    }
}
