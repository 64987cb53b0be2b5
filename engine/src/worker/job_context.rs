use std::sync::Arc;

use crossbeam_channel::Sender;

use super::{monitor::Position, outbox::Outbox, scheduler::Message};
use crate::store::{Store, StoreWriter};

/// Stack of the engine thread and of the threads that compute: sorting and dropping a graph of many operations recurses.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// What a job works with.
pub(super) struct JobContext {
    pub(super) store: Store,
    pub(super) writer: StoreWriter,
    pub(super) outbox: Outbox,
    pub(super) position: Arc<Position>,
    messages: Sender<Message>,
}

impl JobContext {
    pub(super) fn new(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        position: Arc<Position>,
        messages: Sender<Message>,
    ) -> Self {
        Self { store, writer, outbox, position, messages }
    }

    /// The same for a job with an outbox of its own.
    pub(super) fn of_job(&self, outbox: Outbox) -> Self {
        let position = Arc::clone(&self.position);
        Self::new(self.store.clone(), self.writer.clone(), outbox, position, self.messages.clone())
    }

    /// Tells the scheduler that what is written about the current run changed.
    pub(super) fn runs_changed(&self) {
        // A scheduler that is busy hears of it with the next change.
        let _ = self.messages.try_send(Message::RunsChanged);
    }
}
